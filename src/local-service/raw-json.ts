/**
 * JSON as it was written. Records are served with the text they came with, because JSON.parse would round
 * numbers above 2^53. Every function expects text that JSON.parse has accepted.
 */

/** The members of an object, in order, each value as it was written; a repeated name is there twice. */
export function rawMembers(text: string): [name: string, value: string][] {
  const members: [string, string][] = [];
  let at = afterSpace(text, 0) + 1;
  for (;;) {
    at = afterSpace(text, at);
    if (at >= text.length || text[at] === '}') return members;
    const nameEnd = endOfValue(text, at);
    const name = JSON.parse(text.slice(at, nameEnd)) as string;
    const start = afterSpace(text, afterSpace(text, nameEnd) + 1);
    at = endOfValue(text, start);
    members.push([name, text.slice(start, at)]);
    at = afterSpace(text, at);
    if (text[at] === ',') at += 1;
  }
}

export function rawObject(members: Iterable<readonly [name: string, value: string]>): string {
  return `{${[...members].map(([name, value]) => `${JSON.stringify(name)}:${value}`).join(',')}}`;
}

function endOfValue(text: string, start: number): number {
  let depth = 0;
  for (let at = start; at < text.length; at += 1) {
    const char = text[at];
    if (char === '"') {
      at += 1;
      while (text[at] !== '"') at += text[at] === '\\' ? 2 : 1;
      if (depth === 0) return at + 1;
    } else if (char === '{' || char === '[') depth += 1;
    else if (char === '}' || char === ']') {
      if (depth === 0) return at;
      depth -= 1;
      if (depth === 0) return at + 1;
    } else if (
      depth === 0 &&
      (char === ',' || char === ' ' || char === '\n' || char === '\r' || char === '\t')
    )
      return at;
  }
  return text.length;
}

function afterSpace(text: string, start: number): number {
  let at = start;
  while (at < text.length && ' \n\r\t'.includes(text[at] as string)) at += 1;
  return at;
}
