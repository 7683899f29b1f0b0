/** A text as one word for a shell, for commands that a user can copy: quoted as every shell understands, if that will do. */
export function shellWord(text: string): string {
  if (/^[\w.,:/@-]+$/.test(text)) return text;
  return /^[^"$`\\!%]+$/.test(text) ? `"${text}"` : `'${text.replaceAll("'", `'\\''`)}'`;
}

/** Pure: enough of a key to tell it from another, and of no use without the rest. */
export function toMaskedKey(key: string): string {
  return key.length < 12 ? '…' : `…${key.slice(-4)}`;
}
