/** A text as one word for a POSIX shell, for commands that a user can copy. */
export function shellWord(text: string): string {
  return /^[\w.,:/@-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}

/** Pure: enough of a key to tell it from another, and of no use without the rest. */
export function toMaskedKey(key: string): string {
  return key.length < 12 ? '…' : `…${key.slice(-4)}`;
}
