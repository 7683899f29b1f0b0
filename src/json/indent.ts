import { type JsonText, toLine } from './text.ts';

/** The same JSON with a member or item per line, for people. Numbers and strings stay as they were written. */
export function indented(text: JsonText): string {
  let result = '';
  let depth = 0;
  const lineBreak = (): string => `\n${'  '.repeat(Math.min(depth, deepest))}`;
  for (const [token] of toLine(text).matchAll(tokens)) {
    if (token === '{' || token === '[') {
      depth++;
      result += token + lineBreak();
    } else if (token === '}' || token === ']') {
      depth--;
      result += lineBreak() + token;
    } else if (token === ',') {
      result += token + lineBreak();
    } else if (token === ':') {
      result += ': ';
    } else {
      result += /^[[{]/.test(token) ? `${token[0]}${token.at(-1)}` : token;
    }
  }
  return result;
}

/** Deeper levels begin where this one does: hostile nesting would be mostly spaces. */
const deepest = 40;
// An empty object or array is one token, so that it stays on one line.
const tokens = /"[^"\\]*(?:\\.[^"\\]*)*"|\{\s*\}|\[\s*\]|[{}[\],:]|[^\s"{}[\],:]+/g;
