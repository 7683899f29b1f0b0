/** A text as one word for a POSIX shell, for commands that a user can copy. */
export function shellWord(text: string): string {
  return /^[\w.,:/@-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}
