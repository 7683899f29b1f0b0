import { objectOf } from '../json/text.ts';
import { isBlank } from './blank.ts';
import { lengthFlaw, maxRowLength } from './csv.ts';
import type { FileRecord, ReadOptions, Records } from './reading.ts';

/** A line that is not blank. */
export interface TextLine {
  readonly line: number;
  /** Empty if it is longer than a row may be. */
  readonly text: string;
  readonly length: number;
}

/**
 * Lines end with \n, \r\n or \r; U+2028 is an ordinary character. Only the length of a line that is too long is kept, to limit memory.
 */
export async function* linesOf(text: AsyncIterable<string>): AsyncGenerator<TextLine, void> {
  let line = 1;
  let pieces: string[] = [];
  let length = 0;
  for await (const piece of withWholeLineEnds(text)) {
    for (const [at, part] of piece.split(/\r{0,2}\n|\r/).entries()) {
      if (at > 0) {
        const found = pieces.join('');
        if (length > maxRowLength || !isBlank(found)) yield { line, text: found, length };
        line++;
        pieces = [];
        length = 0;
      }
      length += part.length;
      if (length <= maxRowLength) pieces.push(part);
      else pieces = [];
    }
  }
}

/** The same text, never split inside a line end, and with one added at the end. */
async function* withWholeLineEnds(text: AsyncIterable<string>): AsyncGenerator<string> {
  let held = '';
  for await (const piece of text) {
    const whole = held + piece;
    const end = /\r{1,2}$/.exec(whole)?.index ?? whole.length;
    held = whole.slice(end);
    yield whole.slice(0, end);
  }
  yield `${held}\n`;
}

/** A record of the text of a line, or why there is none. */
export type ToRow = (text: string) => Omit<FileRecord, 'line'>;

export const unreadable = (flaw: string) => ({ record: undefined, flaw });

/** A record for each line that is not blank. */
export async function* lineRows(text: AsyncIterable<string>, toRow: ToRow): AsyncGenerator<FileRecord> {
  for await (const { line, text: found, length } of linesOf(text)) {
    const flaw = lengthFlaw(length);
    yield { line, ...(flaw === undefined ? toRow(found) : unreadable(flaw)) };
  }
}

/** Plain lines: each is the text of the field. */
export function openLines(text: AsyncIterable<string>, { field }: ReadOptions): Records {
  const toRow: ToRow = (line) => ({ record: objectOf([[field, JSON.stringify(line.trim())]]) });
  return { format: 'text', columns: undefined, rows: lineRows(text, toRow) };
}
