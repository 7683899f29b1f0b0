import { isUtf8 } from 'node:buffer';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { toLines } from '../../src/json/lines.ts';
import { type JsonRanges, type MemberRanges, scanObject, unclear } from '../../src/json/scan.ts';
import {
  arrayItems,
  endOfString,
  endOfValue,
  objectMembers,
  skipSpace,
  toLine,
} from '../../src/json/text.ts';

/** `npm run soak` looks at many more. */
const numRuns = Number(process.env.SCAN_DOCUMENTS ?? 10_000);
const seed = Number(process.env.FUZZ_SEED ?? 1);

function textsOf({ bytes, starts, ends }: JsonRanges): string[] {
  return ends.map((end, index) => bytes.toString('utf8', starts[index], end));
}

const wanted = ['name', 'a'];

/** What was noted of values: the members that were asked for, or undefined where they are not clear. */
function notedOf(bytes: Buffer, places: MemberRanges = []): (string[] | undefined)[] {
  const values: (string[] | undefined)[] = [];
  for (let at = 0; at < places.length; at += 2 * wanted.length) {
    const textAt = (place: number): string => bytes.toString('utf8', places[place], places[place + 1]);
    values.push(places[at] === unclear ? undefined : wanted.map((_, index) => textAt(at + 2 * index)));
  }
  return values;
}

/** The same as the slow way finds it in a value. */
function wantedOf(item: string): string[] | undefined {
  const names = namesAsWritten(item);
  const isTwice = wanted.some((one) => names.filter((written) => written === `"${one}"`).length > 1);
  if (isTwice || names.some((one) => one.includes('\\'))) return undefined;
  const members = objectMembers(item);
  return wanted.map((one) => members.get(one) ?? '');
}

function namesAsWritten(item: string): string[] {
  const names: string[] = [];
  if (!item.startsWith('{')) return names;
  for (let at = skipSpace(item, 1); item[at] === '"'; at = skipSpace(item, skipSpace(item, at) + 1)) {
    const end = endOfString(item, at);
    names.push(item.slice(at, end));
    at = endOfValue(item, skipSpace(item, skipSpace(item, end) + 1));
  }
  return names;
}

/** What is proven has to be what a full parser and the slow way find; returns whether it was. */
function expectProvenRight(bytes: Buffer): boolean {
  const scanned = scanObject(
    bytes,
    'list',
    wanted.map((one) => Buffer.from(one)),
  );
  if (scanned === undefined) return false;
  const text = bytes.toString();
  expect(isUtf8(bytes)).toBe(true);
  expect(() => JSON.parse(text)).not.toThrow();
  // It can be shown as it is.
  expect(toLine(text)).toBe(text);
  const members = objectMembers(text);
  const list = members.get('list') ?? '';
  expect(scanned.items !== undefined).toBe(list.startsWith('['));
  if (scanned.items !== undefined) {
    const items = arrayItems(list);
    expect(textsOf(scanned.items)).toEqual(items);
    const noted = items.map(wantedOf);
    expect(notedOf(bytes, scanned.items.members)).toEqual(noted);
    const lines = toLines([scanned.items, scanned.items]);
    expect([...lines]).toEqual([...items, ...items]);
    expect(notedOf(lines.block, lines.members)).toEqual([...noted, ...noted]);
    expect(lines.bytes.toString()).toBe([...items, ...items].map((item) => `${item}\n`).join(''));
    members.delete('list');
    const one = toLines([scanned.items]);
    expect([...one]).toEqual(items);
    expect(notedOf(one.block, one.members)).toEqual(noted);
    expect(one.bytes.toString()).toBe(items.map((item) => `${item}\n`).join(''));
  }
  expect([...scanned.members]).toEqual([...members]);
  return true;
}

const safe = [
  '{}',
  '{"list":[{"name":"x","a":1},{ "a" : {"name":2} , "name" : [{"a":3}] },["name","a"],"name",{"b":{"a":1}}]}',
  '{"list":[{"name":1,"name":2},{"a":1,"b":2,"a":3},{"n\\u0061me":1},{"\\"":1,"name":2},{"name":1,"\\n":2}]}',
  '{"a":{"name":1},"list":[{"b":"\\"","name":1}],"name":{"a":1}}',
  '{"list":[]}',
  '{"list":[{"a":1},{"b":[2,{}]}],"x":null}',
  '{ "list" : [ 1 ,\t"x" ] }',
];
const strings = [
  'é',
  '日本',
  '😀',
  '“quoted”',
  '\u00a0',
  '\u2010',
  '\u2027',
  '\u202f',
  '\u2065',
  '\u206a',
  '\\" \\\\ \\/ \\n \\u00e9 \\ud800',
];
const numbers = ['0', '-0', '10', '1.5', '-1.50e-10', '1E5', '2e+05', '12345678901234567890'];
it.each([
  ...safe,
  ...strings.map(
    (text) => `{"list":["${text}"],"${text.startsWith('\\') ? 'x' : text}":"${text}${text}abcd"}`,
  ),
  ...numbers.map((text) => `{"list":[${text},true],"a":${text}}`),
  `{"list":[${'['.repeat(100)}${']'.repeat(100)}]}`,
])('%s is proven', (text) => expect(expectProvenRight(Buffer.from(text))).toBe(true));

const unsafe = [
  '\u007f',
  '\u0080',
  '\u009f',
  '\u061c',
  '\u200e',
  '\u200f',
  '\u2028',
  '\u202e',
  '\u2066',
  '\u2069',
];
it.each([
  ...[
    '',
    ' {}',
    '{} ',
    '[]',
    '{"a":1,"a":2}',
    '{"\\u0061":1}',
    '{\n}',
    '{"a":[1,\r2]}',
    '{"a":1}{}',
    '\ufeff{}',
  ],
  ...[
    '{"list":[1,]}',
    '{"list":[,1]}',
    '{"list":[1 2]}',
    '{"a":tru}',
    '{"a":truex}',
    '{"a":nul',
    '{"a"',
    '{"a":"',
  ],
  ...['01', '+1', '1.', '.5', '1e', '1e+', '--1', '-', '0x1', '1_0', 'NaN'].map(
    (text) => `{"list":[${text}]}`,
  ),
  ...['\\x', '\\u12g4', '\\u12', '\t', '\u0000', '\u001f', '\\'].map((text) => `{"list":["${text}"]}`),
  ...[...unsafe, '\ufeff'].flatMap((text) => [`{"list":["abcd${text}"]}`, `{"list":["${text}abcd"]}`]),
  `{"list":[${'['.repeat(200)}${']'.repeat(200)}]}`,
])('%j is left to the slow way', (text) => expect(expectProvenRight(Buffer.from(text))).toBe(false));

it.each([[0x80], [0xc0, 0x80], [0xc3], [0xed, 0xa0, 0x80], [0xf4, 0x90, 0x80, 0x80], [0xff]])(
  'bytes that are not UTF-8 are left to the slow way: %d',
  (...odd) => {
    const bytes = Buffer.concat([Buffer.from('{"list":["'), Buffer.from(odd), Buffer.from('"]}')]);
    expect(expectProvenRight(bytes)).toBe(false);
  },
);

const piece = fc.constantFrom(
  ...'{}[]",:\\ \t\n-01.eE',
  ...[
    'true',
    'null',
    '"a"',
    '"list":',
    '"list":[',
    '"b":',
    '{"a":1}',
    '\\u00e9',
    '\\n',
    'é',
    '\u2028',
    '\u200e',
  ],
  ...['日', '\u0001', '\u007f', '1e5', 'abcdefgh', '"abcdefgh"', '},{'],
);
/** Tokens in any order, most of them nearly a document. */
const soup = fc
  .tuple(
    fc.constantFrom('{"list":[', '{', '{"a":', ''),
    fc.array(piece, { maxLength: 12 }),
    fc.constantFrom(']}', '}', ''),
  )
  .map(([before, middle, after]) => Buffer.from(before + middle.join('') + after));

const name = fc.oneof(
  fc.constantFrom('list', 'a', 'name', ''),
  fc.string({ unit: 'grapheme', maxLength: 6 }),
);
const text = fc.oneof(
  fc.string({ unit: 'grapheme', maxLength: 30 }),
  fc.string({ unit: 'binary', maxLength: 12 }),
  fc.stringMatching(/^[ -~]{0,60}$/),
);
const value = fc.letrec<{ any: unknown }>((tie) => ({
  any: fc.oneof(
    { depthSize: 'small' },
    fc.oneof(text, fc.double({ noNaN: true }), fc.integer(), fc.boolean(), fc.constant(null)),
    fc.array(tie('any'), { maxLength: 4 }),
    fc.dictionary(name, tie('any'), { maxKeys: 4 }),
  ),
})).any;
const space = fc.constantFrom(undefined, undefined, 1, '\t');
const document = fc
  .tuple(fc.dictionary(name, value, { maxKeys: 4 }), fc.option(fc.array(value, { maxLength: 5 })), space)
  .map(([members, list, indent]) =>
    Buffer.from(JSON.stringify(list === null ? members : { ...members, list }, null, indent)),
  );
/** A byte changed, added or lost, or the end cut off. */
const damaged = fc
  .tuple(document, fc.nat(), fc.nat(255), fc.constantFrom('change', 'add', 'lose', 'cut', 'twice'))
  .map(([whole, place, byte, how]) => {
    const at = place % (whole.length + 1);
    const [before, after] = [whole.subarray(0, at), whole.subarray(at)];
    const odd = Buffer.of(byte);
    if (how === 'cut') return before;
    if (how === 'twice') return Buffer.concat([before, after.subarray(0, byte), after]);
    return Buffer.concat([before, ...(how === 'lose' ? [] : [odd]), after.subarray(how === 'add' ? 0 : 1)]);
  });

it(
  `${numRuns} documents, whole, damaged and made of tokens, are read as a full parser reads them`,
  () => {
    let proven = 0;
    fc.assert(
      fc.property(fc.oneof(document, damaged, soup), (bytes) => {
        if (expectProvenRight(bytes)) proven++;
      }),
      { numRuns, seed },
    );
    expect(proven).toBeGreaterThan(numRuns / 10);
  },
  60_000 + numRuns,
);

it(
  'what is whole, on one line and harmless is proven, and not left to the slow way',
  () => {
    fc.assert(
      fc.property(document, (bytes) => {
        const parsed = JSON.parse(bytes.toString());
        const isPlain =
          toLine(bytes.toString()) === bytes.toString() &&
          !Object.keys(parsed).some((key) => JSON.stringify(key).includes('\\'));
        expect(expectProvenRight(bytes)).toBe(isPlain);
      }),
      { numRuns: numRuns / 10, seed },
    );
  },
  60_000 + numRuns,
);
