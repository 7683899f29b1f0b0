const shown = /[^\s\p{Cc}\p{Default_Ignorable_Code_Point}]/u;

/** Pure: whether a text has only white space, control characters and invisible characters. */
export function isBlank(text: string): boolean {
  return !shown.test(text);
}

const unshown = /[\p{Cc}\p{Default_Ignorable_Code_Point}]/gu;

/** Pure: the text without control and invisible characters, trimmed. */
export function visibleText(text: string): string {
  return text.replace(unshown, '').trim();
}
