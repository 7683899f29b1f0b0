const shown = /[^\s\p{Cc}\p{Default_Ignorable_Code_Point}]/u;

/** Pure: whether a text shows nothing: it has white space, control characters and characters without a shape, and no others. */
export function isBlank(text: string): boolean {
  return !shown.test(text);
}

const unshown = /[\p{Cc}\p{Default_Ignorable_Code_Point}]/gu;

/** Pure: what a text shows. */
export function shownOf(text: string): string {
  return text.replace(unshown, '').trim();
}
