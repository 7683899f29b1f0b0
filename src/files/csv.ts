import type { Options } from 'csv-parse';
import { codeOf } from './error-code.ts';

/** A row of CSV; its cells are without their quotes. */
export interface CsvRow {
  /** The line that it begins on, from 1 on. */
  readonly line: number;
  readonly cells: readonly string[];
  /** Why the cells are not what was meant; said after `line 3`. */
  readonly flaw: string | undefined;
}

const delimiters = [',', ';', '\t', '|'];

/**
 * Pure: the delimiter of a header: the one that has a cell that is looked for between two of them, else the one that stands
 * in it most often.
 */
export function delimiterOf(header: string, isWanted: (cell: string) => boolean = () => false): string {
  const counts = delimiters.map((one) => header.split(one).length);
  const usual = delimiters[counts.indexOf(Math.max(...counts))] as string;
  const has = (one: string): boolean => headerCells(header, one).some(isWanted);
  return has(usual) ? usual : (delimiters.find(has) ?? usual);
}

/** Pure: the cells of a first line, as far as they can be told before it is read as CSV. */
export function headerCells(header: string, delimiter: string): string[] {
  return header.split(delimiter).map((cell) => cell.trim().replace(/^"(.*)"$/, '$1'));
}

/** Characters of a row of any input: a file of any size must not fill the memory. */
export const longestRow = 4 * 1024 * 1024;
/** One that never ends must not be gathered for ever. */
const endless = 16 * longestRow;

/** Pure: what is wrong with a row of so many characters. */
export function lengthFlaw(length: number): string | undefined {
  return length > longestRow ? `has ${length} characters: at most ${longestRow} are allowed` : undefined;
}

/** A quote within a cell that does not begin with one is text. */
const lenient: Options = { bom: true, relax_column_count: true, relax_quotes: true, skip_empty_lines: true };

/**
 * The rows of CSV (RFC 4180). Blank lines are no rows. A quote that is never closed takes all the rest with it: that row comes out
 * with its flaw, and is the last.
 */
export async function* readCsv(
  text: AsyncIterable<string> | Iterable<string>,
  delimiter: string,
): AsyncGenerator<CsvRow, void> {
  const { parse } = await import('csv-parse');
  const { options, rows, last } = gather(delimiter);
  const parser = parse(options);
  parser.on('error', () => {});
  /** Characters that came since the last row. */
  let pending = 0;
  try {
    for await (const piece of text) {
      pending += piece.length;
      if (pending > endless) throw new EndlessRow();
      await settled((done) => parser.write(piece, done));
      if (rows.length > 0) pending = 0;
      yield* rows.splice(0);
    }
    await settled((done) => parser.end(done));
    yield* rows.splice(0);
  } catch (error) {
    yield* [...rows.splice(0), last(error)];
  } finally {
    parser.destroy();
  }
}

class EndlessRow extends Error {}

/** Options that gather the rows as they are found: what the library has in store when it fails is lost. */
function gather(delimiter: string) {
  const rows: CsvRow[] = [];
  let ended = 0;
  /** In a cell, the library counts the two characters of a line's end as two lines. */
  let doubled = 0;
  const on_record: Options['on_record'] = (cells: string[], { lines }) => {
    const count = (what: RegExp): number =>
      cells.reduce((sum, cell) => sum + (cell.match(what)?.length ?? 0), 0);
    doubled += count(/\r\n/g);
    ended = lines - doubled;
    const length = cells.reduce((sum, cell) => sum + cell.length, 0);
    rows.push({ line: ended - count(/\r\n|[\r\n]/g), cells, flaw: lengthFlaw(length) });
    return undefined;
  };
  return {
    options: { ...lenient, delimiter, on_record },
    rows,
    /** The row that an error ends. Throws what is no error of the text. */
    last(error: unknown): CsvRow {
      const isEndless = error instanceof EndlessRow;
      if (!isEndless && codeOf(error) !== 'CSV_QUOTE_NOT_CLOSED') throw error;
      const flaw = isEndless
        ? `begins a row of over ${endless} characters`
        : 'has a quote that is never closed';
      return { line: ended + 1, cells: [], flaw: `${flaw}: nothing after it can be read` };
    },
  };
}

function settled(start: (done: (error?: Error | null) => void) => void): Promise<void> {
  return new Promise((resolve, reject) => {
    start((error) => (error ? reject(error) : resolve()));
  });
}
