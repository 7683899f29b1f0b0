import { isExact } from '../json/number.ts';
import { endOfString, endOfValue, type JsonText } from '../json/text.ts';
import { toTerminalLines } from '../output/clean.ts';

const plain = /^[\x20-\x5b\x5d-\x7e]*$/;
const token = /["\d[\]{}-]|[\t\n\r ]+/g;
/** Values deeper than this come as a text: a client that is written with less care would overflow its stack. */
const deepest = 100;

/** Pure: the value of JSON as an agent can take it. */
export function toAgentValue(text: JsonText): unknown {
  return JSON.parse(toAgentJson(text));
}

/**
 * Pure: JSON as an agent can take it, on one line: every text and name cleaned as for a terminal, and a number that JSON.parse
 * would round (IDs are larger than 2^53) as a text. Lines stay lines: they are what an answer in prose is made of.
 */
export function toAgentJson(text: JsonText): JsonText {
  const parts: string[] = [];
  let depth = 0;
  let at = 0;
  const next = new RegExp(token);
  for (let found = next.exec(text); found !== null; found = next.exec(text)) {
    const { index, 0: mark } = found;
    let end = index + mark.length;
    let made = '';
    if (mark === '"') {
      end = endOfString(text, index);
      made = toCleanString(text.slice(index, end));
    } else if (mark === '{' || mark === '[') {
      made = mark;
      if (++depth > deepest) {
        depth--;
        end = endOfValue(text, index);
        made = toCleanString(JSON.stringify(text.slice(index, end)));
      }
    } else if (mark === '}' || mark === ']') {
      depth--;
      made = mark;
    } else if (mark.trim() !== '') {
      end = endOfValue(text, index);
      made = text.slice(index, end);
      if (!isExact(made)) made = JSON.stringify(made);
    }
    parts.push(text.slice(at, index), made);
    at = end;
    next.lastIndex = end;
  }
  return parts.join('') + text.slice(at);
}

function toCleanString(literal: JsonText): JsonText {
  if (plain.test(literal)) return literal;
  return JSON.stringify([...toTerminalLines(JSON.parse(literal) as string)].join('\n'));
}
