import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { toTerminalLines, toTerminalText, withoutControls } from '../../src/output/clean.ts';

describe('text for a terminal', () => {
  it.each([
    ['plain', 'plain'],
    ['two\nlines', 'two lines'],
    ['a \r\n\t b', 'a b'],
    ['a\u0085b\u2028c\u2029d', 'a b c d'],
    ['\u001b[31mred\u001b[0m', '[31mred[0m'],
    ['\u009b31mred', '31mred'],
    ['\u001b]0;title\u0007after', ']0;titleafter'],
    ['\u001b]8;;https://evil.example\u001b\\link\u001b]8;;\u001b\\', ']8;;https://evil.example\\link]8;;\\'],
    ['\u001bP1$r\u001b\\DCS', 'P1$r\\DCS'],
    ['\u001b_APC\u001b\\', '_APC\\'],
    ['\u0090DCS\u009c', 'DCS'],
    ['over\bwrite', 'overwrite'],
    ['bell\u0007', 'bell'],
    ['nul\0', 'nul'],
    ['del\u007f', 'del'],
    ['\u202egpj.exe', 'gpj.exe'],
    ['\u2066a\u2069\u061cb\u200ec\u200fd', 'abcd'],
    ['zero\u200bwidth\u2060\ufeff', 'zerowidth'],
    ['soft\u00adhyphen', 'softhyphen'],
    ['tag\u{e0041}\u{e007f}', 'tag'],
    ['filler\u3164\u115f', 'filler'],
    ['note\ufff9a\ufffbb', 'noteab'],
    ['req\u200dabc', 'reqabc'],
    ['req\ufe0fabc', 'reqabc'],
    ['req\ufe0f\ufe0e\u{e0100}abc', 'reqabc'],
    ['❤\ufe0f\ufe0f', '❤\ufe0f'],
    ['a\u200cb', 'ab'],
    ['half \ud800 pair', 'half \ufffd pair'],
    ['\udc00', '\ufffd'],
    ['👩‍👩‍👧‍👦 ❤️ 1️⃣ 🇩🇪', '👩‍👩‍👧‍👦 ❤️ 1️⃣ 🇩🇪'],
    ['می‌خواهم', 'می‌خواهم'],
    ['é e\u0301 漢字 한국어', 'é e\u0301 漢字 한국어'],
  ])('%j is shown as %j', (text, shown) => expect(toTerminalText(text)).toBe(shown));

  it.each([
    ['\u001b[31ma\u009bb\u007f\0\b', '[31mab'],
    ['\u061ca\u200eb\u200f\u202ac\u202e\u2066d\u2069', 'abcd'],
    ['two\r\nlines\tand 👩‍👩‍👧', 'two\r\nlines\tand 👩‍👩‍👧'],
  ])('%j is %j in a file', (text, kept) => expect(withoutControls(text)).toBe(kept));

  it('has nothing left that a terminal obeys, and cleaning it again changes nothing', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 80 }), (text) => {
        const shown = toTerminalText(text);
        expect(shown).not.toMatch(
          /[\0-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff]/,
        );
        expect(shown.isWellFormed()).toBe(true);
        expect(toTerminalText(shown)).toBe(shown);
      }),
      { numRuns: 1000 },
    );
  });

  it.each([
    ['spaces', ' '],
    ['tabs', '\t'],
    ['joiners', '\u200d'],
    ['selectors', '\ufe0f'],
    ['line breaks', '\r\n'],
    ['half pairs', '\ud800'],
  ])('a million %s between letters take no time to speak of', (_name, unit) => {
    expect(toTerminalText(`é${unit.repeat(1_000_000)}é`)).toMatch(/^é.*é$/u);
  });

  it.each(['\u200d', '\ufe0f', '\u{e0100}', '\u{e0041}', '\ud800'])(
    'twenty million of %j need no stack as deep',
    (unit) => {
      expect(toTerminalText(`a${unit.repeat(20_000_000 / unit.length)}`).length).toBeGreaterThan(0);
    },
  );

  it('keeps lines where they are wanted', () => {
    expect([...toTerminalLines('a \r\n\u001b[2Jb\n\nc\td')]).toEqual(['a', '[2Jb', '', 'c d']);
  });
});
