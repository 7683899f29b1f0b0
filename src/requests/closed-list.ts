/** Input can be megabytes of rubbish, so a message only quotes its beginning. */
export function clip(text: string): string {
  return text.length > 40 ? `${text.slice(0, 40)}…` : text;
}

/** The names for a message: as many whole names as fit into `max` characters, then the number of the others. */
export function listed(names: readonly string[], max = 300): string {
  let shown = 1;
  for (let length = names[0]?.length ?? 0; shown < names.length; shown++) {
    length += 2 + (names[shown]?.length ?? 0);
    if (length > max) break;
  }
  const more = names.length - shown;
  const text = names.slice(0, shown).map((name) => (name.length > max ? clip(name) : name));
  return `${text.join(', ')}${more > 0 ? ` and ${more} more` : ''}`;
}

/**
 * The best match: the name with the same words, else one that begins with the value, else one with few typing errors, else one whose synonym
 * has few typing errors. Undefined if several match.
 */
export function nearest(
  given: string,
  allowed: readonly string[],
  words: Readonly<Record<string, string>> = {},
): string | undefined {
  // Programs may pass any type.
  const value = clip(String(given));
  const candidates = [
    withSameWords(value, allowed, words),
    value.length < 2 ? [] : allowed.filter((one) => one.startsWith(value)),
    mistyped(value, allowed),
    mistyped(value, Object.keys(words)).flatMap((word) => withSameWords(word, allowed, words)),
  ];
  const near = candidates.find((found) => found.length > 0) ?? [];
  return near.length === 1 ? near[0] : undefined;
}

/** The names that contain all words of the value, in singular or plural. */
function withSameWords(
  value: string,
  allowed: readonly string[],
  words: Readonly<Record<string, string>>,
): string[] {
  const given = wordsOf(value).flatMap((word) =>
    wordsOf(Object.hasOwn(words, word) ? (words[word] as string) : word),
  );
  if (given.length === 0) return [];
  return allowed.filter((one) => given.every((word) => wordsOf(one).includes(word)));
}

/** The names with the lowest number of wrong keystrokes, if at most every third is wrong. */
function mistyped(value: string, allowed: readonly string[]): string[] {
  const edits = new Map(allowed.map((one) => [one, editsBetween(value.toLowerCase(), one)]));
  const minEdits = Math.min(...edits.values());
  return allowed.filter(
    (one) => edits.get(one) === minEdits && minEdits <= Math.max(value.length, one.length) / 3,
  );
}

/** The number of letters to add, remove, replace or swap with the next one (optimal string alignment distance). */
function editsBetween(a: string, b: string): number {
  let beforeLast: number[] = [];
  let last = Array.from({ length: b.length + 1 }, (_, at) => at);
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const replaced = (last[j - 1] as number) + (a[i - 1] === b[j - 1] ? 0 : 1);
      let min = Math.min(replaced, (last[j] as number) + 1, (row[j - 1] as number) + 1);
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]) {
        min = Math.min(min, (beforeLast[j - 2] as number) + 1);
      }
      row.push(min);
    }
    [beforeLast, last] = [last, row];
  }
  return last[b.length] as number;
}

/** Pure: the words of a name, in lower case and the singular: `emailAddresses`, `email-addresses`. */
export function wordsOf(name: string): string[] {
  const words = name
    .replace(/(\p{Ll})(?=\p{Lu})/gu, '$1 ')
    .toLowerCase()
    .split(/[^\p{L}\p{N}]+/u);
  return words.filter((word) => word !== '').map((word) => word.replace(/ies$/, 'y').replace(/s$/, ''));
}
