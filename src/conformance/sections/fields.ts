import type { Limit } from '../../contract/limits.ts';
import { type Send, section, unpaid } from '../expectations.ts';
import type { Row } from '../row.ts';
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

/** A text with a limit in bytes or in Unicode characters. */
export function textRows(
  name: string,
  send: Send,
  { field, unit, max, ...limit }: Limit,
  how: TextField,
): Row[] {
  const { wrong } = section(name, send);
  const sample = section(name, how.sendSample ?? send);
  const { prefix = '' } = how;
  const id = field.replaceAll('_', '-').replace('entity-context', 'context');
  const most = `${field} has at most ${max} ${unit === 'bytes' ? 'UTF-8 bytes' : 'Unicode characters'}`;
  const inUnit = Object.entries(letters).flatMap(([size, letter]) => {
    const each = unit === 'bytes' ? Number(size) : 1;
    const room = max - prefix.length;
    const whole = prefix + letter.repeat(Math.floor(room / each)) + 'x'.repeat(room % each);
    return [
      sample.right(`${id}-${max}-of-${size}-byte-letters`, most, { [field]: whole }),
      sample.wrong(`${id}-${max + 1}-of-${size}-byte-letters`, most, { [field]: `${whole}x` }),
    ];
  });
  const ascii = prefix === '' ? sentence : (length: number) => prefix.padEnd(length, 'x');
  const required = [
    wrong(`${id}-missing`, `${field} is required`, { [field]: undefined }),
    wrong(`${id}-null`, `${field} is a string`, { [field]: null }),
    wrong(`${id}-empty`, `${field} has at least 1 character`, { [field]: '' }),
  ];
  const trimmed = [
    wrong(`${id}-white-space`, `${field} has at least 1 character after trimming`, { [field]: ' \n\t ' }),
    sample.right(`${id}-trimmed`, `${field} is counted after trimming`, { [field]: ` \t${ascii(max)}\n ` }),
  ];
  return [
    ...(how.required ? required : []),
    wrong(`${id}-a-number`, `${field} is a string`, { [field]: 42 }),
    sample.right(`${id}-${max}`, most, { [field]: ascii(max) }),
    sample.wrong(`${id}-${max + 1}`, most, { [field]: ascii(max + 1) }),
    ...(limit.trimmed ? trimmed : []),
    ...inUnit,
  ];
}

/** A whole number; `sendMost` is the request for which the most costs the least. */
export function integerRows(name: string, send: Send, { field, min, max }: Limit, sendMost: Send): Row[] {
  const { row, wrong } = section(name, send);
  const most = section(name, sendMost);
  return [
    wrong(`${field}-${min - 1}`, `${field} is at least ${min}`, { [field]: min - 1 }),
    wrong(`${field}-negative`, `${field} is at least ${min}`, { [field]: -1 }),
    most.wrong(`${field}-${max + 1}`, `${field} is at most ${max}`, { [field]: max + 1 }),
    // It may cost thousands of credits: an account without any is told so, and not that it is invalid.
    row(`${field}-${max}`, `${field} is at most ${max}`, unpaid, {
      ...send({ [field]: max }),
      apiKey: 'no_credits',
    }),
    wrong(`${field}-a-string`, `${field} is an integer`, { [field]: '5' }),
    wrong(`${field}-a-fraction`, `${field} is an integer`, { [field]: 1.5 }),
    wrong(`${field}-null`, `${field} is an integer`, { [field]: null }),
    wrong(`${field}-a-truth-value`, `${field} is an integer`, { [field]: true }),
  ];
}

/** A list of texts that may be left out. */
export function listRows(name: string, send: Send, { field, max }: Limit): Row[] {
  const { wrong, right } = section(name, send);
  const list = (length: number): string[] => Array.from({ length }, (_, at) => `item ${at}`);
  const id = field.replaceAll('_', '-');
  return [
    right(`${id}-empty`, `${field} may be empty`, { [field]: [] }),
    right(`${id}-${max}`, `${field} has at most ${max} items`, { [field]: list(max) }),
    wrong(`${id}-${max + 1}`, `${field} has at most ${max} items`, { [field]: list(max + 1) }),
    wrong(`${id}-a-string`, `${field} is an array`, { [field]: 'item' }),
    wrong(`${id}-null`, `${field} is an array`, { [field]: null }),
    wrong(`${id}-numbers`, `${field} has only strings as items`, { [field]: [1] }),
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
  const { wrong, right } = section(name, send);
  const id = field.replaceAll('_', '-');
  return [
    wrong(`${id}-missing`, `${field} is required`, { [field]: undefined }),
    wrong(`${id}-unknown`, `${field} is one of the values that the interface lists`, { [field]: 'planet' }),
    wrong(`${id}-a-number`, `${field} is a string`, { [field]: 1 }),
    ...values.map((value) =>
      right(`${id}-${value}`, `${field} can be ${value}`, { [field]: value, ...changeFor(value) }),
    ),
  ];
}
