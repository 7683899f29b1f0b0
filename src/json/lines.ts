import type { JsonRanges, MemberRanges } from './scan.ts';
import type { JsonText } from './text.ts';

/** Records as the service wrote them: as text, or as bytes that nobody has had to read as text. */
export type Records = readonly JsonText[] | JsonLines;

const lineEnd = 0x0a;

/** Values of JSON in one block of bytes, each on a line of its own that is safe to show. */
export class JsonLines implements Iterable<JsonText> {
  /** What they stand in. */
  readonly block: Buffer;
  /** Where each line ends in it: the index of its line break. */
  readonly ends: readonly number[];
  /** Where they have the members that were asked for; undefined where that was not noted of all of them. */
  readonly members: MemberRanges | undefined;
  readonly #from: number;

  /** The first line begins at `from`, and each behind the one before it. */
  constructor(block: Buffer, ends: readonly number[], members?: MemberRanges, from = 0) {
    this.block = block;
    this.ends = ends;
    this.members = members;
    this.#from = from;
  }

  get length(): number {
    return this.ends.length;
  }

  /** All lines with their line breaks. */
  get bytes(): Buffer {
    return this.block.subarray(this.#from, this.length === 0 ? this.#from : (this.ends.at(-1) as number) + 1);
  }

  /** Where the line of this number begins. */
  startOf(index: number): number {
    return index === 0 ? this.#from : (this.ends[index - 1] as number) + 1;
  }

  *[Symbol.iterator](): Generator<JsonText, void> {
    for (const [index, end] of this.ends.entries()) {
      yield this.block.toString('utf8', this.startOf(index), end);
    }
  }
}

/**
 * The values of some pieces of bytes as lines: one write is several times as fast as many. Of a list that came in one piece its
 * own commas become the line breaks, so that nothing is copied: the piece is no JSON any more.
 */
export function toLines(pieces: readonly JsonRanges[]): JsonLines {
  const [only] = pieces;
  return only !== undefined && pieces.length === 1 && isClose(only) ? inPlace(only) : copied(pieces);
}

/** Whether there is nothing but a comma between each two values. */
function isClose({ starts, ends }: JsonRanges): boolean {
  for (let index = 1; index < ends.length; index++) {
    if (starts[index] !== (ends[index - 1] as number) + 1) return false;
  }
  return ends.length > 0;
}

function inPlace({ bytes, starts, ends, members }: JsonRanges): JsonLines {
  for (let index = 0; index < ends.length; index++) bytes[ends[index] as number] = lineEnd;
  return new JsonLines(bytes, ends, members, starts[0]);
}

function copied(pieces: readonly JsonRanges[]): JsonLines {
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
