import type { Limit } from '../../../src/contract/limits.ts';
import { type Expectation, type Row, table, unpaid } from '../row.ts';
import type { Request } from '../service.ts';
import { nameOf, type PostEndpoint, post } from './samples.ts';

/** The rows of a field, by its rule. `change` is how the rest of the body differs from the usual one. */

/** Rows by `<rest of the name>: <rest of the rule>`, with the value that each sends. */
function rowsOf(endpoint: PostEndpoint, field: string, change: object = {}, more: Partial<Request> = {}) {
  const id = field.replaceAll('_', '-').replace('entity-context', 'context');
  return (expect: Expectation, values: Readonly<Record<string, unknown>>): Row[] => {
    const rows = Object.entries(values).map(([key, value]) => [
      key.replace(': ', `: ${field} `),
      post(endpoint, { ...change, [field]: value }, more),
    ]);
    return table(`${nameOf(endpoint)}/${id}-`, expect, Object.fromEntries(rows));
  };
}

/** Characters of one to four bytes. The last one has two UTF-16 units. */
const letters = {
  '': 'x',
  '-of-2-byte-letters': 'é',
  '-of-3-byte-letters': '漢',
  '-of-4-byte-letters': '🙂',
};

/** A text with a limit in bytes or in Unicode characters. Each sample begins with `beginning`. */
export function textRows(
  endpoint: PostEndpoint,
  { field, unit, max, min, trimmed }: Limit,
  beginning = 'software companies in Berlin ',
  change: object = {},
): Row[] {
  const rows = rowsOf(endpoint, field, change);
  const most = `has at most ${max} ${unit === 'bytes' ? 'UTF-8 bytes' : 'Unicode characters'}`;
  const room = max - beginning.length;
  const samples = Object.entries(letters).map(([of, letter]) => {
    const each = unit === 'bytes' ? Buffer.byteLength(letter) : 1;
    return [of, beginning + letter.repeat(Math.floor(room / each)) + 'x'.repeat(room % each)] as const;
  });
  return [
    ...rows(422, {
      // For a field that is not required, absence and null are not tried.
      ...(min > 0 && {
        'missing: is required': undefined,
        'null: is a string': null,
        'empty: has at least 1 character': '',
      }),
      'a-number: is a string': 42,
      ...(trimmed && { 'white-space: has at least 1 character after trimming': ' \n\t ' }),
      ...Object.fromEntries(samples.map(([of, text]) => [`${max + 1}${of}: ${most}`, `${text}x`])),
    }),
    ...rows(200, {
      ...Object.fromEntries(samples.map(([of, text]) => [`${max}${of}: ${most}`, text])),
      ...(trimmed && { 'trimmed: is counted after trimming': ` \t${samples[0]?.[1]}\n ` }),
    }),
  ];
}

/** A whole number. With `change`, the highest value costs least. */
export function integerRows(endpoint: PostEndpoint, { field, min, max }: Limit, change: object): Row[] {
  const least = `is at least ${min}`;
  const rows = rowsOf(endpoint, field, change);
  return [
    ...rows(422, {
      [`${min - 1}: ${least}`]: min - 1,
      [`negative: ${least}`]: -1,
      [`${max + 1}: is at most ${max}`]: max + 1,
      'a-string: is an integer': '5',
      'a-fraction: is an integer': 1.5,
      'null: is an integer': null,
      'a-truth-value: is an integer': true,
    }),
    // It may cost thousands of credits, so an account without any must be told so, and not that the value is invalid.
    ...rowsOf(endpoint, field, {}, { apiKey: 'no_credits' })(unpaid, { [`${max}: is at most ${max}`]: max }),
  ];
}

/** A list of texts that may be left out. */
export function listRows(endpoint: PostEndpoint, { field, max }: Limit): Row[] {
  const rows = rowsOf(endpoint, field);
  const list = (length: number): string[] => Array.from({ length }, (_, at) => `item ${at}`);
  const most = `has at most ${max} items`;
  return [
    ...rows(200, { 'empty: may be empty': [], [`${max}: ${most}`]: list(max) }),
    ...rows(422, {
      [`${max + 1}: ${most}`]: list(max + 1),
      'a-string: is an array': 'item',
      'null: is an array': null,
      'numbers: has only strings as items': [1],
    }),
  ];
}

/** One of the values that the interface lists, with the change that each of them needs. */
export function choiceRows<Value extends string>(
  endpoint: PostEndpoint,
  field: string,
  values: readonly Value[] = [],
  changeFor: (value: Value) => object = () => ({}),
): Row[] {
  return [
    ...rowsOf(endpoint, field)(422, {
      'missing: is required': undefined,
      'unknown: is one of the values that the interface lists': 'planet',
      'a-number: is a string': 1,
    }),
    ...values.flatMap((value) =>
      rowsOf(endpoint, field, changeFor(value))(200, { [`${value}: can be ${value}`]: value }),
    ),
  ];
}
