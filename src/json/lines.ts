import type { JsonRanges, MemberRanges } from './scan.ts';
import type { JsonText } from './text.ts';

/** Records as the service wrote them: as text, or as bytes that nobody has had to read as text. */
export type Records = readonly JsonText[] | JsonLines;

const lineEnd = 0x0a;

/** Values of JSON in one block of bytes, each on a line of its own that is safe to show. */
export class JsonLines implements Iterable<JsonText> {
  readonly bytes: Buffer;
  /** Where each line ends: the index of its line break. */
  readonly ends: readonly number[];
  /** Where they have the members that were asked for; undefined where that was not noted of all of them. */
  readonly members: MemberRanges | undefined;

  constructor(bytes: Buffer, ends: readonly number[], members?: MemberRanges) {
    this.bytes = bytes;
    this.ends = ends;
    this.members = members;
  }

  get length(): number {
    return this.ends.length;
  }

  /** Where the line of this number begins. */
  startOf(index: number): number {
    return index === 0 ? 0 : (this.ends[index - 1] as number) + 1;
  }

  *[Symbol.iterator](): Generator<JsonText, void> {
    for (const [index, end] of this.ends.entries()) {
      yield this.bytes.toString('utf8', this.startOf(index), end);
    }
  }
}

/** The values of some pieces of bytes in a block: one write is several times as fast as many. */
export function toLines(pieces: readonly JsonRanges[]): JsonLines {
  let size = 0;
  for (const { starts, ends } of pieces) {
    for (let index = 0; index < ends.length; index++) {
      size += (ends[index] as number) - (starts[index] as number) + 1;
    }
  }
  const block = Buffer.allocUnsafe(size);
  const lineEnds: number[] = [];
  const places: number[] = [];
  let at = 0;
  for (const { bytes, starts, ends, members = [] } of pieces) {
    const perValue = members.length / ends.length;
    for (let index = 0; index < ends.length; ) {
      // Values with nothing but a comma between them are copied together, and the commas become line breaks.
      const first = starts[index] as number;
      const shift = at - first;
      const firstPlace = index * perValue;
      let end = ends[index++] as number;
      lineEnds.push(end + shift);
      while (starts[index] === end + 1) {
        end = ends[index++] as number;
        lineEnds.push(end + shift);
      }
      for (let place = firstPlace; place < index * perValue; place++) {
        const member = members[place] as number;
        places.push(member > 0 ? member + shift : member);
      }
      bytes.copy(block, at, first, end);
      at = end + shift + 1;
    }
  }
  for (const end of lineEnds) block[end] = lineEnd;
  const isNoted = pieces.every(({ members }) => members !== undefined);
  return new JsonLines(block, lineEnds, isNoted ? places : undefined);
}
