/** A text as one word for a shell, for commands that users copy. It is quoted in a way that every shell understands, if possible. */
export function shellWord(text: string): string {
  if (/^[\w.,:/@-]+$/.test(text)) return text;
  return /^[^"$`\\!%]+$/.test(text) ? `"${text}"` : `'${text.replaceAll("'", `'\\''`)}'`;
}
