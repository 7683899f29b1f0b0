import type { Options } from 'csv-parse';
import { codeOf } from './error-code.ts';

/** A row of CSV. Its cells are without their quotes. */
export interface CsvRow {
  /** The line on which it begins, from 1. */
  readonly line: number;
  readonly cells: readonly string[];
  /** What is wrong with the row, to be shown after `line 3`. */
  readonly flaw: string | undefined;
}

const delimiters = [',', ';', '\t', '|'];

/** Pure: the delimiter of a header: the one that gives it a wanted cell, else the one that occurs most often. */
export function delimiterOf(header: string, isWanted: (cell: string) => boolean = () => false): string {
  const counts = delimiters.map((one) => header.split(one).length);
  const usual = delimiters[counts.indexOf(Math.max(...counts))] as string;
  const has = (one: string): boolean => headerCells(header, one).some(isWanted);
  return has(usual) ? usual : (delimiters.find(has) ?? usual);
}

/** Pure: the cells of a first line, as far as they can be told before it is parsed. */
export function headerCells(header: string, delimiter: string): string[] {
  return header.split(delimiter).map((cell) => cell.trim().replace(/^"(.*)"$/, '$1'));
}

/** The most characters of a row, in any input: no file may fill the memory. */
export const longestRow = 4 * 1024 * 1024;
/** The most characters that are collected for a row that never ends. */
const endless = 16 * longestRow;

/** Pure: the flaw of a row with so many characters. */
export function lengthFlaw(length: number): string | undefined {
  return length > longestRow ? `has ${length} characters: at most ${longestRow} are allowed` : undefined;
}

/** A quote inside a cell that does not begin with one is text. */
const lenient: Options = { bom: true, relax_column_count: true, relax_quotes: true, skip_empty_lines: true };

/**
 * The rows of CSV (RFC 4180), without blank lines. A quote that is never closed takes everything after it: this row is the last, and has a
 * flaw.
 */
export async function* readCsv(
  text: AsyncIterable<string> | Iterable<string>,
  delimiter: string,
): AsyncGenerator<CsvRow, void> {
  const { parse } = await import('csv-parse');
  /** They are collected as they are found, since the library loses those that it holds when it fails. */
  const rows: CsvRow[] = [];
  let ended = 0;
  /** The library counts CRLF in a cell as two lines. */
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
  const parser = parse({ ...lenient, delimiter, on_record });
  parser.on('error', () => {});
  /** Characters since the last row. */
  let pending = 0;
  let flaw: string | undefined;
  try {
    for await (const piece of text) {
      pending += piece.length;
      if (pending > endless) {
        flaw = `begins a row of over ${endless} characters`;
        break;
      }
      await settled((done) => parser.write(piece, done));
      if (rows.length > 0) pending = 0;
      yield* rows.splice(0);
    }
    if (flaw === undefined) await settled((done) => parser.end(done));
  } catch (error) {
    if (codeOf(error) !== 'CSV_QUOTE_NOT_CLOSED') throw error;
    flaw = 'has a quote that is never closed';
  } finally {
    parser.destroy();
  }
  yield* rows;
  if (flaw !== undefined) {
    yield { line: ended + 1, cells: [], flaw: `${flaw}: nothing after it can be read` };
  }
}

function settled(start: (done: (error?: Error | null) => void) => void): Promise<void> {
  return new Promise((resolve, reject) => {
    start((error) => (error ? reject(error) : resolve()));
  });
}
