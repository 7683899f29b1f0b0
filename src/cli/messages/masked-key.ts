/** Pure: enough of a key to tell it from another, and of no use without the rest. */
export function toMaskedKey(key: string): string {
  return key.length < 12 ? '…' : `…${key.slice(-4)}`;
}
