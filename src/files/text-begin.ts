import { maxRowLength } from './csv.ts';

/** Characters examined to find the format, and the header of a table. */
export const enough = 1 << 16;

export type TextStart = ReturnType<typeof createTextStart>;

/** The start of a text that arrives in pieces. Reads only what is needed to recognise the format. */
export function createTextStart(text: AsyncIterator<string>) {
  let head = '';
  let isOver = false;
  const readMore = async (): Promise<void> => {
    const { done, value = '' } = await text.next();
    isOver = done === true;
    head += value;
  };
  return {
    get head(): string {
      return head;
    },
    get isOver(): boolean {
      return isOver;
    },
    get isEmpty(): boolean {
      return head.trim() === '';
    },
    /** The first line with something in it. */
    get firstLine(): string {
      return /^\s*([^\n\r]*)/.exec(head)?.[1] ?? '';
    },
    /** The complete lines: the last one may still go on. */
    get whole(): string {
      return isOver ? head : head.slice(0, 1 + Math.max(head.lastIndexOf('\n'), head.lastIndexOf('\r')));
    },
    readMore,
    /** Reads until this many lines that are not empty have ended. */
    async readLines(count: number): Promise<void> {
      while (!isOver && !hasLines(head, count) && head.length <= maxRowLength) await readMore();
    },
    /** The whole text, to be read once. */
    pieces: (): AsyncGenerator<string> => behind([head], text),
  };
}

/** Pure: whether a text has this many complete lines that are not empty. */
function hasLines(text: string, count: number): boolean {
  const line = /\s*\S[^\n\r]*[\n\r]/y;
  line.lastIndex = 0;
  for (let at = 0; at < count; at++) if (!line.test(text)) return false;
  return true;
}

export async function* behind<T>(first: readonly T[], rest: AsyncIterator<T>): AsyncGenerator<T> {
  yield* first;
  yield* { [Symbol.asyncIterator]: () => rest };
}

/** Pure: how many lines end before a part of a text. */
export function linesBefore(text: string, part: string): number {
  return linesIn(text.slice(0, text.indexOf(part)));
}

/** Pure: how many lines end in a text. */
export function linesIn(text: string): number {
  return text.match(/\r\n|[\r\n]/g)?.length ?? 0;
}
