/** Reading the vocabulary tables, and turning templates into sentences. */

export function list(text: string, separator = ','): readonly string[] {
  return text
    .split(separator)
    .map((part) => part.trim())
    .filter((part) => part !== '');
}

/** One row a line, cells divided by `|`; an absent cell reads as ''. */
export function table(text: string): readonly ((column: number) => string)[] {
  return list(text, '\n').map((line) => {
    const cells = line.split('|').map((cell) => cell.trim());
    return (column: number) => cells[column] ?? '';
  });
}

/** So many leads that are to be there, whatever else is. What is empty may be any. */
export interface Cluster {
  readonly city: string;
  readonly industry: string;
  /** The stage of companies, or what is in the titles of people. */
  readonly detail: string;
  readonly count: number;
}

export function readClusters(text: string): readonly Cluster[] {
  return table(text).map((cell) => ({
    city: cell(0),
    industry: cell(1),
    detail: cell(2),
    count: Number(cell(3)),
  }));
}

export function lookUp<Value>(map: ReadonlyMap<string, Value>, key: string): Value {
  const value = map.get(key);
  if (value === undefined) throw new Error(`the demonstration vocabulary has no "${key}"`);
  return value;
}

export function capitalised(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

/** A template, taken apart: `before` is the text up to `slot`; `article` says that `a(n)` stood at its end. */
interface Piece {
  readonly before: string;
  readonly article: 'A' | 'a' | '';
  readonly slot: string;
}

const piecesOf = new Map<string, { readonly pieces: readonly Piece[]; readonly end: string }>();

function takenApart(template: string): { readonly pieces: readonly Piece[]; readonly end: string } {
  const known = piecesOf.get(template);
  if (known !== undefined) return known;
  const parts = template.split(/\{(\w+)\}/);
  const pieces: Piece[] = [];
  for (let index = 0; index + 2 < parts.length; index += 2) {
    const [before = '', slot = ''] = [parts[index], parts[index + 1]];
    const article = /\b([Aa])\(n\) $/.exec(before);
    pieces.push(
      article === null
        ? { before, article: '', slot }
        : { before: before.slice(0, article.index), article: article[1] === 'A' ? 'A' : 'a', slot },
    );
  }
  const apart = { pieces, end: parts.at(-1) ?? '' };
  piecesOf.set(template, apart);
  return apart;
}

const spokenVowelFirst = /^(?:[aeio]|u(?!ni|s|k)|8|11\b|18\b|HR\b|SME)/i;

/** `{slot}` is replaced, `{Slot}` is replaced and capitalised, `a(n) {slot}` gets the article that fits. */
export function fill(template: string, values: Readonly<Record<string, string | number>>): string {
  const { pieces, end } = takenApart(template);
  const text: string[] = [];
  for (const { before, article, slot } of pieces) {
    const exact = values[slot];
    const value = exact ?? values[slot.charAt(0).toLowerCase() + slot.slice(1)];
    if (value === undefined) throw new Error(`no value for {${slot}} in "${template}"`);
    text.push(before);
    if (article !== '') text.push(spokenVowelFirst.test(String(value)) ? `${article}n ` : `${article} `);
    text.push(exact === undefined ? capitalised(String(value)) : String(value));
  }
  text.push(end);
  // Joined, not added up: the engine keeps sums as trees, which cost more to hold than to build.
  return text.join('');
}

/** `board game/board games`: as it stands before another noun, and alone. Without a `/` both are the same. */
export function twoForms(text: string): readonly [attributive: string, alone: string] {
  const [attributive = '', alone = attributive] = text.split('/');
  return [attributive, alone];
}

const undecomposed: Readonly<Record<string, string>> = { ß: 'ss', ø: 'o', ł: 'l', æ: 'ae', ı: 'i', đ: 'd' };

function withoutMarks(lower: string): string {
  return lower
    .replace(/[ßøłæıđ]/g, (letter) => undecomposed[letter] ?? '')
    .normalize('NFD')
    .replace(/[\u0300-\u036f'’]/g, '');
}

/** Letters and digits of ASCII, divided by `divider`; scripts other than Latin vanish. */
export function slug(text: string, divider = '-'): string {
  const lower = text.toLowerCase();
  const plain = /^[a-z0-9 -]*$/.test(lower) ? lower : withoutMarks(lower);
  return plain
    .replace(/[^a-z0-9]+/g, ' ')
    .trim()
    .replaceAll(' ', divider);
}

/** 940, 12.4k, 128k, 1.2 million. */
export function rounded(count: number): string {
  if (count < 1000) return String(count);
  if (count < 20_000) return `${Math.round(count / 100) / 10}k`;
  if (count < 1_000_000) return `${Math.round(count / 1000)}k`;
  return `${(count / 1_000_000).toFixed(1)} million`;
}

/** Hands out each name once; `make` is asked again while it gives a name that is taken. */
export class UniqueNames {
  readonly #taken = new Set<string>();

  take(make: (attempt: number) => string): string {
    for (let attempt = 0; attempt < 200; attempt++) {
      const name = make(attempt);
      if (this.#taken.has(name)) continue;
      this.#taken.add(name);
      return name;
    }
    throw new Error('the demonstration vocabulary has run out of names');
  }
}
