import { expect, it } from 'vitest';
import { fillLines, foldFacts, wrapMessage } from '../../src/output/wrap.ts';

it.each([
  ["a word with an apostrophe after leadpipe: leadpipe can't read it", 12, "can't"],
  [
    'a command with a text: leadpipe search company "seed-stage fintech" --limit 3, and more',
    56,
    'leadpipe search company "seed-stage fintech" --limit 3,',
  ],
  [
    'a command that fits on no line: leadpipe config set price.contact.email <credits>',
    40,
    'leadpipe config set price.contact.email',
  ],
  [
    "a variable: LEADPIPE_API_KEY=x leadpipe balance; it doesn't cost",
    36,
    'LEADPIPE_API_KEY=x leadpipe balance;',
  ],
  ['an option with its number: use --limit 100 for more', 11, '--limit 100'],
  ['`a b c` in backticks, here', 10, '`a b c`'],
  ['sent for row 1: Société Générale, Köln, Straße “Ł”', 20, 'Köln, Straße “Ł”'],
  ['operation op_0123456789abcdef', 20, 'op_0123456789abcdef'],
])('%s, in %i columns, is broken between words alone', (text, width, whole) => {
  const lines = wrapMessage(text, width);
  expect(lines.join(' ')).toBe(text);
  expect(lines.some((line) => line.includes(whole))).toBe(true);
  for (const line of lines) expect(line.length <= width).toBe(true);
});

it('facts stay in one piece, and no width is one line', () => {
  const facts = 'search ls_1 · request req_22 · operation op_333';
  expect(foldFacts(facts, 30)).toEqual(['search ls_1 · request req_22', 'operation op_333']);
  expect(foldFacts(facts, undefined)).toEqual([facts]);
  expect(fillLines(['a', 'b'], 0)).toEqual(['a b']);
});
