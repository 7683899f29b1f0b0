import type { Charged } from '../../errors.ts';
import { exitCodes } from '../exit-codes.ts';

const textOrNull = { type: ['string', 'null'] };
const charges: readonly Charged[] = ['no', 'maybe', 'yes'];

/** What `--json-errors` prints under `error`, as messages/report.ts makes it. */
const members = {
  type: { type: 'string' },
  status: { type: ['integer', 'null'], description: 'HTTP status' },
  message: { type: 'string', description: 'what happened' },
  exit: { enum: Object.values(exitCodes).map(({ code }) => code) },
  request_id: textOrNull,
  operation_id: textOrNull,
  idempotency_key: textOrNull,
  charged: { enum: [...charges, null] },
  retryable: { type: 'boolean', description: 'safe to run again' },
  hint: { ...textOrNull, description: 'what to do' },
};

/** Pure: the JSON Schema of what `--json-errors` prints, in lines of at most 78 characters. */
export function errorSchemaLines(): string[] {
  const names = Object.keys(members).map((name) => JSON.stringify(name));
  const rows = Object.entries(members).map(([name, schema]) => `"${name}": ${JSON.stringify(schema)}`);
  return [
    '{',
    ' "$schema": "https://json-schema.org/draft/2020-12/schema",',
    ' "type": "object", "required": ["error"],',
    ' "properties": {"error": {',
    '  "type": "object",',
    `  "required": [${names.slice(0, 5).join(', ')},`,
    `   ${names.slice(5).join(', ')}],`,
    '  "properties": {',
    ...rows.map((row, at) => `   ${row}${at < rows.length - 1 ? ',' : ''}`),
    '  }}}',
    '}',
  ];
}
