import type { Limit } from '../../contract/limits.ts';
import { accepted, type Expectation, invalid, type Row, table, unpaid } from '../row.ts';
import { names, type PostEndpoint, post, sentence } from '../samples.ts';
import type { Request } from '../service.ts';

/** The rows of a field, by what the document says of it. */

/** Characters of two, three and four bytes; the last one is of two UTF-16 units. */
const letters = { 2: 'é', 3: '漢', 4: '🙂' } as const;

/** Rows of a field by `<rest of the name>: <rest of the rule>`, with the value that each sends; `more` stands beside it. */
function rowsOf(endpoint: PostEndpoint, field: string, more: Partial<Request> = {}) {
  const id = field.replaceAll('_', '-').replace('entity-context', 'context');
  return (expect: Expectation, values: Readonly<Record<string, unknown>>, change: object = {}): Row[] => {
    const rows = Object.entries(values).map(([key, value]) => [
      key.replace(': ', `: ${field} `),
      post(endpoint, { ...change, [field]: value }, more),
    ]);
    return table(`${names[endpoint]}/${id}-`, expect, Object.fromEntries(rows));
  };
}

/**
 * A text with a limit in bytes or in Unicode characters. Of what it does not need, absence and null are not tried. `prefix` is what
 * each sample begins with, and `change` the body in which it makes sense, where that is not the usual one.
 */
export function textRows(
  endpoint: PostEndpoint,
  { field, unit, max, min, trimmed }: Limit,
  { prefix = '', change = {} } = {},
): Row[] {
  const rows = rowsOf(endpoint, field);
  const most = `has at most ${max} ${unit === 'bytes' ? 'UTF-8 bytes' : 'Unicode characters'}`;
  const ascii = (length: number) => (prefix === '' ? sentence(length) : prefix.padEnd(length, 'x'));
  const room = max - prefix.length;
  const samples = Object.entries(letters).map(([size, letter]) => {
    const each = unit === 'bytes' ? Number(size) : 1;
    const text = prefix + letter.repeat(Math.floor(room / each)) + 'x'.repeat(room % each);
    return [`-of-${size}-byte-letters: ${most}`, text] as const;
  });
  return [
    ...rows(invalid, {
      ...(min > 0 && {
        'missing: is required': undefined,
        'null: is a string': null,
        'empty: has at least 1 character': '',
      }),
      ...(trimmed && { 'white-space: has at least 1 character after trimming': ' \n\t ' }),
      'a-number: is a string': 42,
    }),
    ...rows(
      accepted,
      {
        [`${max}: ${most}`]: ascii(max),
        ...Object.fromEntries(samples.map(([key, text]) => [max + key, text])),
        ...(trimmed && { 'trimmed: is counted after trimming': ` \t${ascii(max)}\n ` }),
      },
      change,
    ),
    ...rows(
      invalid,
      {
        [`${max + 1}: ${most}`]: ascii(max + 1),
        ...Object.fromEntries(samples.map(([key, text]) => [max + 1 + key, `${text}x`])),
      },
      change,
    ),
  ];
}

/** A whole number; `cheap` is the change by which the most costs the least. */
export function integerRows(endpoint: PostEndpoint, { field, min, max }: Limit, cheap: object): Row[] {
  const rows = rowsOf(endpoint, field);
  const least = `is at least ${min}`;
  return [
    ...rows(invalid, {
      [`${min - 1}: ${least}`]: min - 1,
      [`negative: ${least}`]: -1,
      'a-string: is an integer': '5',
      'a-fraction: is an integer': 1.5,
      'null: is an integer': null,
      'a-truth-value: is an integer': true,
    }),
    ...rows(invalid, { [`${max + 1}: is at most ${max}`]: max + 1 }, cheap),
    // It may cost thousands of credits: an account without any is told so, and not that it is invalid.
    ...rowsOf(endpoint, field, { apiKey: 'no_credits' })(unpaid, { [`${max}: is at most ${max}`]: max }),
  ];
}

/** A list of texts that may be left out. */
export function listRows(endpoint: PostEndpoint, { field, max }: Limit): Row[] {
  const rows = rowsOf(endpoint, field);
  const list = (length: number): string[] => Array.from({ length }, (_, at) => `item ${at}`);
  const most = `has at most ${max} items`;
  return [
    ...rows(accepted, { 'empty: may be empty': [], [`${max}: ${most}`]: list(max) }),
    ...rows(invalid, {
      [`${max + 1}: ${most}`]: list(max + 1),
      'a-string: is an array': 'item',
      'null: is an array': null,
      'numbers: has only strings as items': [1],
    }),
  ];
}

/** One of the values that the document lists, with the change that each of them takes. */
export function choiceRows(
  endpoint: PostEndpoint,
  field: string,
  values: Readonly<Record<string, object>>,
): Row[] {
  const rows = rowsOf(endpoint, field);
  return [
    ...rows(invalid, {
      'missing: is required': undefined,
      'unknown: is one of the values that the interface lists': 'planet',
      'a-number: is a string': 1,
    }),
    ...Object.entries(values).flatMap(([value, change]) =>
      rows(accepted, { [`${value}: can be ${value}`]: value }, change),
    ),
  ];
}
