/** A row of CSV. Its cells are without their quotes. */
export interface CsvRow {
  /** The line on which it begins, from 1. */
  readonly line: number;
  readonly cells: readonly string[];
  /** The error in the row, to be shown after `line 3`. */
  readonly flaw: string | undefined;
}

/** A row of a text of CSV. */
export interface ReadRow extends CsvRow {
  /** Offset of the end of its line in the text. A byte order mark does not count. */
  readonly end: number;
  /** Whether it has a quote that is never closed. */
  readonly isOpen: boolean;
}

/** The characters that can separate cells. The first is the default. */
export const delimiters: readonly string[] = [',', ';', '\t', '|'];

/** Maximum characters of a row, in any input, to limit memory. */
export const maxRowLength = 4 * 1024 * 1024;
/** Maximum characters buffered for a row that never ends. */
const endless = 16 * maxRowLength;

/** Pure: the flaw of a row with this many characters. */
export function lengthFlaw(length: number): string | undefined {
  return length > maxRowLength ? `has ${length} characters: at most ${maxRowLength} are allowed` : undefined;
}

/**
 * The rows of CSV, without blank lines. A row ends at any line end outside quotes: LF, CRLF, CR, or CR CR LF (from programs that translate the LF of
 * a CRLF once more). A quoted cell ends at a quote before a delimiter or a line end. If the quote is elsewhere or missing, the row has a flaw, and
 * reading continues at the next line.
 */
export async function* readCsv(
  text: AsyncIterable<string> | Iterable<string>,
  delimiter: string,
): AsyncGenerator<ReadRow, void> {
  const cellEnd = new RegExp(`[\\${delimiter}\r\n]`, 'g');
  const source = createSource(text);
  let start = 0;
  for (let line = 1; ; ) {
    const firstEnd = source.find(lineEnd, 0) ?? (await source.findMore(lineEnd, 0));
    if (firstEnd === undefined) {
      const flaw = `begins a row of over ${endless} characters: nothing after it can be read`;
      yield { line, cells: [], flaw, end: start, isOpen: false };
      return;
    }
    const firstLine = source.text(0, firstEnd);
    let cells: string[] | undefined;
    let length = firstEnd;
    let lines = 1;
    let isOpen = false;
    if (!firstLine.includes('"')) cells = firstLine.split(delimiter);
    else {
      const found = await quotedRow(source, delimiter, cellEnd);
      if (typeof found === 'object') {
        ({ cells, end: length } = found);
        lines += countLineEnds(source.text(0, length));
      } else isOpen = found === 'open';
    }
    const end = start + length;
    if (cells === undefined) yield { line, cells: [], flaw: unclosed, end, isOpen };
    else if (cells.length > 1 || cells[0] !== '' || length > 0) {
      const characters = length <= maxRowLength ? 0 : cells.reduce((sum, cell) => sum + cell.length, 0);
      yield { line, cells, flaw: lengthFlaw(characters), end, isOpen };
    }
    if (source.char(length) === undefined) return;
    const next = length + (await lineEndLength(source, length));
    line += lines;
    start += next;
    source.skip(next);
  }
}

const unclosed = 'has a cell that begins with a quote but does not end with one';

const lineEnd = /[\r\n]/g;
const quote = /"/g;

/** Pure: how many lines of a text end. */
function countLineEnds(text: string): number {
  return text.match(/\r{0,2}\n|\r/g)?.length ?? 0;
}

/** Length of the line end here, in characters. */
async function lineEndLength(source: Source, at: number): Promise<number> {
  if (source.char(at) === '\n') return 1;
  const next = source.char(at + 1) ?? (await source.charMore(at + 1));
  if (next === '\n') return 2;
  if (next !== '\r') return 1;
  return (source.char(at + 2) ?? (await source.charMore(at + 2))) === '\n' ? 3 : 1;
}

/** The cells of a row with quotes and its end; 'open' if a quote is never closed, 'flawed' if it is not closed at the end of its cell. */
async function quotedRow(source: Source, delimiter: string, cellEnd: RegExp) {
  const cells: string[] = [];
  for (let start = 0; ; ) {
    let end: number | undefined;
    if ((source.char(start) ?? (await source.charMore(start))) === '"') {
      const close = await closingQuote(source, start + 1);
      if (close === undefined) return 'open';
      end = close + 1;
      const next = source.char(end) ?? (await source.charMore(end));
      if (next !== undefined && next !== delimiter && next !== '\n' && next !== '\r') return 'flawed';
      cells.push(source.text(start + 1, close).replaceAll('""', '"'));
    } else {
      end = source.find(cellEnd, start) ?? (await source.findMore(cellEnd, start));
      if (end === undefined) return 'flawed';
      cells.push(source.text(start, end));
    }
    if (source.char(end) !== delimiter) return { cells, end };
    start = end + 1;
  }
}

/** The next quote that is not doubled. */
async function closingQuote(source: Source, from: number): Promise<number | undefined> {
  for (let at = from; ; ) {
    const found = source.find(quote, at) ?? (await source.findMore(quote, at));
    if (found === undefined || source.char(found) === undefined) return undefined;
    if ((source.char(found + 1) ?? (await source.charMore(found + 1))) !== '"') return found;
    at = found + 2;
  }
}

type Source = ReturnType<typeof createSource>;

/** Text that arrives in pieces. All positions count from the start of the current row; earlier text is dropped. */
function createSource(pieces: AsyncIterable<string> | Iterable<string>) {
  const iterator = (async function* () {
    yield* pieces;
  })();
  let held = '';
  let row = 0;
  let isOver = false;
  let isFirst = true;

  const find = (what: RegExp, from: number): number | undefined => {
    what.lastIndex = row + from;
    const found = what.exec(held)?.index;
    if (found !== undefined) return found - row;
    return isOver ? held.length - row : undefined;
  };
  /** Reads pieces until one matches, or the buffer limit is reached. */
  const readUntilMatch = async (what: RegExp): Promise<void> => {
    const parts = [held.slice(row)];
    let length = held.length - row;
    let isFound = false;
    do {
      const { done, value = '' } = await iterator.next();
      isOver = done === true;
      const part = isFirst && value.startsWith('\ufeff') ? value.slice(1) : value;
      isFirst &&= value === '';
      parts.push(part);
      length += part.length;
      what.lastIndex = 0;
      isFound = isOver || what.test(part);
    } while (!isFound && length <= endless);
    held = parts.join('');
    row = 0;
  };
  return {
    /** The position of the next match, or the end of the text; undefined if more must be read. */
    find,
    /** As above, after reading more; undefined if there is no match within the buffer limit. */
    async findMore(what: RegExp, from: number): Promise<number | undefined> {
      const seen = Math.max(from, held.length - row);
      await readUntilMatch(what);
      return find(what, seen);
    },
    char: (at: number): string | undefined => held[row + at],
    /** Undefined at the end of the text. */
    async charMore(at: number): Promise<string | undefined> {
      while (!isOver && row + at >= held.length) await readUntilMatch(/[\s\S]/g);
      return held[row + at];
    },
    text: (from: number, to: number): string => held.slice(row + from, row + to),
    skip(length: number): void {
      row += length;
    },
  };
}
