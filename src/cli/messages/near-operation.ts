/** Pure: the operation that was probably meant by one that there is not; undefined where none is near. */
export function nearOperation(given: string, known: readonly string[]): string | undefined {
  const near = known.filter((one) => isMistyped(one, given));
  return near.sort((a, b) => likeness(b, given) - likeness(a, given))[0];
}

/** Whether all but a few characters are the same; IDs of one day have their first half in common anyway. */
function isMistyped(known: string, given: string): boolean {
  const longer = Math.max(known.length, given.length);
  return likeness(known, given) >= longer - 3 || (given.length >= 6 && known.endsWith(given));
}

/** Characters in common at both ends. */
function likeness(a: string, b: string): number {
  let front = 0;
  while (front < a.length && a[front] === b[front]) front++;
  let back = 0;
  while (back < a.length - front && a.at(-1 - back) === b.at(-1 - back)) back++;
  return front + back;
}
