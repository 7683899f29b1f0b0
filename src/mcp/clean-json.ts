import { endOfString, type JsonText } from '../json/text.ts';
import { toTerminalLines } from '../output/clean.ts';

/** Nothing to clean, and nothing that is escaped. */
const plain = /^[\x20-\x5b\x5d-\x7e]*$/;
const betweenTokens = /[\t\n\r]+/g;

/**
 * Pure: the same JSON on one line, with every text and every name in it cleaned as for a terminal. Lines stay lines: they
 * are what an answer in prose is made of. Numbers stay as they are written.
 */
export function toCleanJson(text: JsonText): JsonText {
  if (plain.test(text)) return text;
  const parts: string[] = [];
  let at = 0;
  for (let quote = text.indexOf('"'); quote !== -1; quote = text.indexOf('"', at)) {
    const end = endOfString(text, quote);
    parts.push(text.slice(at, quote).replace(betweenTokens, ' '), toCleanString(text.slice(quote, end)));
    at = end;
  }
  parts.push(text.slice(at).replace(betweenTokens, ' '));
  return parts.join('');
}

function toCleanString(literal: JsonText): JsonText {
  if (plain.test(literal)) return literal;
  const text = JSON.parse(literal) as string;
  return JSON.stringify([...toTerminalLines(text)].join('\n'));
}
