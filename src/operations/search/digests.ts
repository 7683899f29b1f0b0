import type { JsonRanges } from '../../json/scan.ts';

/**
 * A number of 53 bits for each value, the same for the same bytes. It says which leads came before, in one process, and is
 * kept nowhere: whoever makes two leads of one digest hides one of his own. Those of node:crypto take several times as long
 * for texts as short as these.
 */
export function digestsOf({ bytes, starts, ends }: JsonRanges): number[] {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  return ends.map((end, index) => digestOf(view, starts[index] as number, end));
}

/** Two runs of MurmurHash3's mixing side by side, each with constants of its own. */
function digestOf(view: DataView, start: number, end: number): number {
  let high = end - start;
  let low = ~high;
  for (let at = start; at < end; at += 4) {
    const word = at + 4 <= end ? view.getInt32(at, true) : lastWord(view, at, end);
    const one = Math.imul(word, 0xcc9e2d51);
    high ^= Math.imul((one << 15) | (one >>> 17), 0x1b873593);
    high = (Math.imul((high << 13) | (high >>> 19), 5) + 0xe6546b64) | 0;
    const other = Math.imul(word, 0x239b961b);
    low ^= Math.imul((other << 16) | (other >>> 16), 0xab0e9789);
    low = (Math.imul((low << 17) | (low >>> 15), 5) + 0x561ccd1b) | 0;
  }
  return (finished(high) & 0x1fffff) * 2 ** 32 + (finished(low) >>> 0);
}

/** What is left, which is less than a word. */
function lastWord(view: DataView, start: number, end: number): number {
  let word = 0;
  for (let at = start; at < end; at++) word = (word << 8) | view.getUint8(at);
  return word;
}

function finished(hash: number): number {
  let mixed = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2ae35);
  return mixed ^ (mixed >>> 16);
}
