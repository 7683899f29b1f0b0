import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { memberLayout } from '../../src/columns/columns.ts';
import { unguarded } from '../../src/files/csv-guard.ts';
import { csvCell, csvHeader } from '../../src/output/csv.ts';
import { notRun, run } from './formula-cells.ts';
import { written } from './gathering-sink.ts';

const cell = (value: unknown, delimiter = ',') => csvCell(JSON.stringify(value), false, delimiter);

describe('cells that a spreadsheet would run', () => {
  // A line end or a tab before it begins a cell of its own for some readers.
  it.each(run)('%j', (text) => expect(cell(text).replace(/([\t\r\n])'/g, '$1')).toBe(`'${text}`));
  it.each(notRun)('and cells that no spreadsheet runs: %j', (text) => expect(cell(text)).toBe(text));

  it.each([
    ['NUL before', '\0=1', "'=1"],
    ['escape before', '\u001b=1', "'=1"],
    ['C1 before', '\u0085=1', "'=1"],
    ['bidi before', '\u202e=1', "'=1"],
    ['mark before', '\u200e+a', "'+a"],
    ['control inside a phone number', '+4930\u000012345678', '+493012345678'],
  ])('%s: dropped, then looked at', (_name, text, written) => expect(cell(text)).toBe(written));

  // A spreadsheet that splits there does not see that the whole is quoted: for it the quote is no beginning.
  it.each([
    ['a semicolon', "x;=cmd|' /C calc'!A0", "x;'=cmd|' /C calc'!A0"],
    ['a tab', 'x\t@SUM(A1)', "x\t'@SUM(A1)"],
    ['one of them, before a dash', 'x;- a', "x;'- a"],
    ['one of them, before arithmetic', 'x;-1;-1+2', "x;'-1;'-1+2"],
    [
      'one of them, before a number, phone numbers and a handle',
      'x;-1\ny; +49301; +49302\nz\t@ada',
      'x;-1\ny; +49301; +49302\nz\t@ada',
    ],
    ['a line end after one of them', 'x;\n- a\t\r\n=b', "x;\n- a\t\r\n'=b"],
    ['each of them', 'a;=1;=2;;=3', "a;'=1;'=2;;'=3"],
    ['white space behind it', 'x; \u00a0\u200b=1', "x; \u00a0\u200b'=1"],
    ['what they take for an empty quoted text', 'x;"=1', 'x;"\'=1'],
    ['one of another width', 'x;＝1', "x;'＝1"],
    ['a delimiter that is the first', '\t=1', "'\t'=1"],
    ['several, where the first would do', '=1;=2', "'=1;'=2"],
    ['apostrophes of its own', "'=1;''=2", "''=1;'''=2"],
    ['the end of a line', "a\n=cmd|' /C calc'!A0", "a\n'=cmd|' /C calc'!A0"],
    ['each end of a line', 'a\r=1\r\n@SUM(A1)\n\n =2', "a\r'=1\r\n'@SUM(A1)\n\n '=2"],
    ['the end of a line, and a tab', 'a\n\t=1\n- b\n\t- c', "a\n\t'=1\n- b\n\t'- c"],
    ['the end of a line, in other widths', 'a\n＝1\n＠x()', "a\n'＝1\n'＠x()"],
    ['the end of a line, before a list', 'a:\n- b\n+ c\n-d\n+e', 'a:\n- b\n+ c\n-d\n+e'],
    ['the end of a line, before handles', 'by\n@ada\n@bob and Eve', "by\n@ada\n'@bob and Eve"],
    ['the end of a line, with apostrophes of its own', "a\n'=1\n'@b", "a\n''=1\n'@b"],
    ['nothing that runs', 'a; b;c\td\ne = f; 1-2;"q"', 'a; b;c\td\ne = f; 1-2;"q"'],
    ['a pipe, which nobody splits at unasked', 'CEO | @ada', 'CEO | @ada'],
  ])('behind %s', (_name, text, written) => expect(cell(text)).toBe(written));

  it.each([
    ['a comma', 'a,=1', "a,'=1"],
    ['a comma, before what is in many texts', 'a, -1 or\t-2, by @ada, @bob', "a, -1 or\t'-2, by @ada, @bob"],
    ['a comma, and an empty quoted text', 'a,"=1"', 'a,"\'=1"'],
  ])('behind %s, in a file with another delimiter', (_name, text, written) => {
    for (const delimiter of [';', '\t', '|']) expect(cell(text, delimiter)).toBe(written);
    expect(cell(text)).toBe(text.replace('\t-', "\t'-"));
  });

  it.each([
    ['{"a":"x;=1"}', '{"a":"x;\\u003d1"}'],
    ['["; ＝1",";-2",";b"]', '["; \\uff1d1",";\\u002d2",";b"]'],
    ['[\t-1,\n-2]', '[ -1,-2]'],
    ['{"a;":-1,"=b":"=c"}', '{"a;":-1,"=b":"=c"}'],
    ['{"a":";\\"=1"}', '{"a":";\\"=1"}'],
  ])('in %s, which stays the same JSON', (json, written) => {
    expect(csvCell(json, false)).toBe(written);
    expect(JSON.parse(written)).toEqual(JSON.parse(json));
    expect(csvCell(json, true)).toBe(json.replaceAll('\n', ''));
  });

  it('headers too', () => {
    const columns = [{ header: '=x' }, { header: 'column 2', rawHeader: " '=y " }];
    expect(csvHeader(columns, false)).toEqual(["'=x", 'column 2']);
    expect(csvHeader(columns, true)).toEqual(['=x', " '=y "]);
  });
});

describe('cells that are left as they are', () => {
  it.each([
    ['a phone number', '"+4930123456789"', '+4930123456789'],
    ['a negative number', '-1.10', '-1.10'],
    ['a long number', '12345678901234567890', '12345678901234567890'],
    ['an exponent', '1E5', '1E5'],
    ['true', 'true', 'true'],
    ['false', 'false', 'false'],
    ['null', 'null', ''],
    ['an empty string', '""', ''],
    ['text', '"a = b"', 'a = b'],
    ['lines', '"a\\r\\nb\\tc"', 'a\r\nb\tc'],
    ['an array', '[1.10, "=1"]', '[1.10, "=1"]'],
    ['an object', '{"a":\n 12345678901234567890}', '{"a": 12345678901234567890}'],
    ['a list', '"* item"', '* item'],
    ['half a pair', '"\\ud800x"', '\ufffdx'],
  ])('%s', (_name, json, text) => expect(csvCell(json, false)).toBe(text));

  it.each(['=1+1', '\u202ex', '\u0000', '\u009b', '\t=1'])('%j when raw', (text) => {
    expect(csvCell(JSON.stringify(text), true)).toBe(text);
  });
});

const evil = fc.string({
  unit: fc.oneof(
    fc.constantFrom(...'=+-@| \t;\n\r",\0\ufeff\u200b１1a().'.split('')),
    fc.string({ unit: 'binary', maxLength: 1 }),
  ),
  maxLength: 12,
});

/** A strict model of a spreadsheet: it skips invisible characters, and runs any text that begins like a formula and is not a plain value. */
function isRun(text: string): boolean {
  const shown = text.replace(/^[\s\p{C}\p{M}\p{Default_Ignorable_Code_Point}]+/u, '').trimEnd();
  if (!/^[=+\-@＝＋－＠﹢﹣﹦﹫−]/.test(shown)) return false;
  if (/^@[^\s=+|!"'(),;:/*^&<>]+$/u.test(shown)) return false;
  // Nothing to calculate with, or no sign between two numbers.
  const operands = shown.split(/[+\-−＋－﹢﹣]/);
  return operands.some((one) => /[^\p{Nd}\s.,;'’%‰\p{Sc}e()/x]/iu.test(one)) || isArithmetic(shown);
}

/** Signs, then a number, a sign and a number, where no two numbers are adjacent. */
function isArithmetic(text: string): boolean {
  if (/\p{Nd}[\s.,'’]*[\s();]+[\s.,'’]*\+?\p{Nd}/u.test(text)) return false;
  return /^[=@]/.test(text) || /\p{Nd}.*[+\-−＋－﹢﹣/].*\p{Nd}/su.test(text.replace(/E[+-]?\d+$/i, ''));
}

it('no string of any kind begins a formula', () => {
  fc.assert(
    fc.property(evil, (text) => {
      const written = cell(text);
      expect(isRun(written), written).toBe(false);
      expect(written).not.toMatch(/[\0-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202a-\u202e]/);
      // Nothing else is changed: only where something would be run, here or where a reader splits.
      const clean = text
        .replace(/[\0-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g, '')
        .toWellFormed();
      if (written !== clean) expect(unguarded(written, ',')).toBe(clean);
      if (!/[=+\-@＝＋－＠﹢﹣﹦﹫−]/.test(clean)) expect(written).toBe(clean);
    }),
    { numRuns: 2000 },
  );
});

it('what is written is read back as it was', () => {
  const text = fc.string({
    unit: fc.constantFrom(...'aé1=+-@| \t;,\n\r",\'\u200b\u0301１＝'),
    maxLength: 12,
  });
  fc.assert(
    fc.property(text, fc.constantFrom(',', ';'), (one, delimiter) => {
      expect(unguarded(cell(one, delimiter), delimiter)).toBe(one);
    }),
    { numRuns: 5000 },
  );
  expect(unguarded("it's 'so'; 'x", ',')).toBe("it's 'so'; 'x");
});

/**
 * As a spreadsheet reads it: a quote counts where a field begins, and what comes after its end belongs to it too. The field of a line further
 * down, and one behind a comma that is no `delimiter`, begins with a line end.
 */
function fieldsOf(text: string, delimiters: string, knowsQuotes: boolean, delimiter: string): string[] {
  const fields = [''];
  let quoted = false;
  let begins = true;
  for (let at = 0; at < text.length; at++) {
    const character = text.charAt(at);
    const isQuote = knowsQuotes && character === '"';
    if (quoted && isQuote && text[at + 1] !== '"') quoted = false;
    else if (begins && isQuote) quoted = true;
    else if (!quoted && delimiters.includes(character))
      fields.push(character === ',' && delimiter !== ',' ? '\n' : '');
    else if (!quoted && '\r\n'.includes(character)) fields.push('\n');
    else fields[fields.length - 1] += character;
    if (quoted && isQuote && !begins && text[at + 1] === '"') at++;
    begins = !quoted && `${delimiters}\r\n`.includes(character);
  }
  return fields;
}

it.each<[delimiters: string, knowsQuotes: boolean, delimiter?: string]>([
  [';', true],
  [';', false],
  ['\t', true],
  ['\t', false],
  [',', true],
  [',;\t', true],
  [',', true, ';'],
  [',;\t', true, '\t'],
])(
  'nor where a reader splits at %j, and knows quotes: %s, in a file with %j',
  async (delimiters, knowsQuotes, delimiter = ',') => {
    const own = new RegExp(`[${delimiter}"]`);
    const layout = memberLayout(['a', 'b', 'c']);
    const value = fc.oneof(evil, fc.array(evil, { maxLength: 3 }));
    await fc.assert(
      fc.asyncProperty(value, value, value, async (a, b, c) => {
        const { text } = await written('csv', { layout, shape: 'list', delimiter }, [
          JSON.stringify({ a, b, c }),
        ]);
        const [, ...lines] = text.split('\r\n');
        for (const field of fieldsOf(lines.join('\r\n'), delimiters, knowsQuotes, delimiter)) {
          // A line of a list, or a number.
          if (/^\n[\s\p{C}\p{M}\p{Default_Ignorable_Code_Point}]*[+\-＋－﹢﹣﹫−]/u.test(field)) continue;
          // What belongs to the next cell is no continuation of a number.
          expect(isRun(field.split(own, 1)[0] ?? ''), field).toBe(false);
        }
      }),
      { numRuns: 500 },
    );
  },
);

it.each(['\u200d', '\u{e0041}', ';', ';x', ';+1', '\n='])(
  'five million of %j are looked through once',
  (unit) => {
    const json = JSON.stringify(`${unit.repeat(5_000_000 / unit.length)};=1`);
    expect(csvCell(json, false).endsWith("'=1")).toBe(true);
  },
);
