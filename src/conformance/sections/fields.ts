import type { Limit } from '../../contract/limits.ts';
import { accepted, changed, invalid, type Send, unpaid } from '../expectations.ts';
import type { Expectation, Request, Row } from '../row.ts';
import { sentence } from '../samples.ts';

/** The rows of a field, by what the document says of it. */

/** Characters of two, three and four bytes; the last one is of two UTF-16 units. */
const letters = { 2: 'é', 3: '漢', 4: '🙂' } as const;

interface TextField {
  /** Of what it does not need, absence and null are not tried. */
  readonly required: boolean;
  /** What each sample begins with. */
  readonly prefix?: string;
  /** The request in which the samples make sense, where it is not the usual one. */
  readonly sendSample?: Send;
}

/** Rows of a field by `<rest of the name>: <rest of the rule>`, with the value that each sends. */
function rowsOf(section: string, field: string) {
  const id = field.replaceAll('_', '-').replace('entity-context', 'context');
  return (expect: Expectation, send: Send, values: Readonly<Record<string, unknown>>): Row[] =>
    Object.entries(values).flatMap(([key, value]) => {
      const [name = ''] = key.split(': ', 1);
      const rule = `${field} ${key.slice(name.length + 2)}`;
      return changed(section, send, expect, { [`${id}-${name}: ${rule}`]: { [field]: value } });
    });
}

/** A text with a limit in bytes or in Unicode characters. */
export function textRows(
  name: string,
  send: Send,
  { field, unit, max, ...limit }: Limit,
  how: TextField,
): Row[] {
  const rows = rowsOf(name, field);
  const { prefix = '', sendSample = send } = how;
  const most = `has at most ${max} ${unit === 'bytes' ? 'UTF-8 bytes' : 'Unicode characters'}`;
  const ascii = prefix === '' ? sentence : (length: number) => prefix.padEnd(length, 'x');
  const required = {
    'missing: is required': undefined,
    'null: is a string': null,
    'empty: has at least 1 character': '',
  };
  const trimmed = [
    ...rows(invalid, send, { 'white-space: has at least 1 character after trimming': ' \n\t ' }),
    ...rows(accepted(), sendSample, { 'trimmed: is counted after trimming': ` \t${ascii(max)}\n ` }),
  ];
  return [
    ...rows(invalid, send, { ...(how.required ? required : {}), 'a-number: is a string': 42 }),
    ...rows(accepted(), sendSample, { [`${max}: ${most}`]: ascii(max) }),
    ...rows(invalid, sendSample, { [`${max + 1}: ${most}`]: ascii(max + 1) }),
    ...(limit.trimmed ? trimmed : []),
    ...Object.entries(letters).flatMap(([size, letter]) => {
      const each = unit === 'bytes' ? Number(size) : 1;
      const room = max - prefix.length;
      const whole = prefix + letter.repeat(Math.floor(room / each)) + 'x'.repeat(room % each);
      return [
        ...rows(accepted(), sendSample, { [`${max}-of-${size}-byte-letters: ${most}`]: whole }),
        ...rows(invalid, sendSample, { [`${max + 1}-of-${size}-byte-letters: ${most}`]: `${whole}x` }),
      ];
    }),
  ];
}

/** A whole number; `sendMost` is the request for which the most costs the least. */
export function integerRows(name: string, send: Send, { field, min, max }: Limit, sendMost: Send): Row[] {
  const rows = rowsOf(name, field);
  const least = `is at least ${min}`;
  // It may cost thousands of credits: an account without any is told so, and not that it is invalid.
  const sendPoor = (change: object): Request => ({ ...send(change), apiKey: 'no_credits' });
  return [
    ...rows(invalid, send, { [`${min - 1}: ${least}`]: min - 1, [`negative: ${least}`]: -1 }),
    ...rows(invalid, sendMost, { [`${max + 1}: is at most ${max}`]: max + 1 }),
    ...rows(unpaid, sendPoor, { [`${max}: is at most ${max}`]: max }),
    ...rows(invalid, send, {
      'a-string: is an integer': '5',
      'a-fraction: is an integer': 1.5,
      'null: is an integer': null,
      'a-truth-value: is an integer': true,
    }),
  ];
}

/** A list of texts that may be left out. */
export function listRows(name: string, send: Send, { field, max }: Limit): Row[] {
  const rows = rowsOf(name, field);
  const list = (length: number): string[] => Array.from({ length }, (_, at) => `item ${at}`);
  const most = `has at most ${max} items`;
  return [
    ...rows(accepted(), send, { 'empty: may be empty': [], [`${max}: ${most}`]: list(max) }),
    ...rows(invalid, send, {
      [`${max + 1}: ${most}`]: list(max + 1),
      'a-string: is an array': 'item',
      'null: is an array': null,
      'numbers: has only strings as items': [1],
    }),
  ];
}

/** One of the values that the document lists; `changeFor` is what each of them takes. */
export function choiceRows(
  name: string,
  send: Send,
  field: string,
  values: readonly string[],
  changeFor: (value: string) => object = () => ({}),
): Row[] {
  const rows = rowsOf(name, field);
  return [
    ...rows(invalid, send, {
      'missing: is required': undefined,
      'unknown: is one of the values that the interface lists': 'planet',
      'a-number: is a string': 1,
    }),
    ...values.flatMap((value) =>
      rows(accepted(), (change) => send({ ...change, ...changeFor(value) }), {
        [`${value}: can be ${value}`]: value,
      }),
    ),
  ];
}
