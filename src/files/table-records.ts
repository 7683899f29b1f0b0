import { UsageError } from '../errors.ts';
import { type JsonText, objectMembers, objectOf, stringOf } from '../json/text.ts';
import { isBlank, visibleText } from './blank.ts';
import type { CsvRow } from './csv.ts';
import { unguarded } from './csv-guard.ts';
import type { TableBegin } from './header.ts';
import type { FileRecord, ReadOptions, Records } from './reading.ts';

interface TableKind {
  /** Whether positions are rows of a sheet, not lines. */
  readonly isSheet?: boolean;
  /** Set for CSV, in which leadpipe writes apostrophes before formulas. */
  readonly delimiter?: string;
}

/**
 * The records of a table of texts. `head` has its first rows; `place` is the header, which may come after a title and notes. Throws UsageError for a
 * header that can't be read.
 */
export async function openTable(
  rows: AsyncIterable<CsvRow> | Iterable<CsvRow>,
  { head, place }: TableBegin,
  reading: ReadOptions,
  { isSheet = false, delimiter }: TableKind = {},
): Promise<Records> {
  const unit = isSheet ? 'row' : 'line';
  const { what, isRaw, headerRow = place?.line ?? 0 } = reading;
  // Other formats have no apostrophes before formulas.
  const own = delimiter === undefined ? unchanged : (cell: string) => unguarded(cell, delimiter);
  const texts = { name: own, cell: isRaw ? unchanged : own };
  const parsed = (async function* () {
    yield* rows;
  })();
  if (reading.headerRow === undefined && place?.isLines) return toLines(parsed, texts.cell, reading);
  if (headerRow === 0) {
    const width = Math.max(0, ...head.map(({ cells }) => cells.length));
    return toRecords(new Array<string>(width).fill(''), parsed, texts, what, isSheet);
  }
  let above = 0;
  for (let next = await parsed.next(); !next.done; next = await parsed.next()) {
    const { line, cells, flaw } = next.value;
    if (line < headerRow) {
      if (flaw !== undefined || !cells.every(isBlank)) above++;
      continue;
    }
    if (line > headerRow) break;
    if (flaw !== undefined)
      throw new UsageError(`the header of ${what} can't be read: ${unit} ${line} ${flaw}`);
    // No note if the user chose the header.
    const isExplicit = above === 0 || reading.headerRow !== undefined;
    const lines = above === 1 ? `1 ${unit} above it is` : `${above} ${unit}s above it are`;
    const names = cells.map(visibleText).filter((cell) => cell !== '');
    const note = isExplicit
      ? undefined
      : `The header of ${what} is ${unit} ${headerRow} (${names.join(', ').slice(0, 100)}): ${lines} not read.`;
    return { ...toRecords(cells, parsed, texts, what, isSheet), note };
  }
  throw new UsageError(`${what} has no header in ${unit} ${headerRow}: no row begins there`);
}

/** The cells of one column as plain lines. */
function toLines(parsed: AsyncIterable<CsvRow>, toText: ToText, { field, what }: ReadOptions): Records {
  async function* rows(): AsyncGenerator<FileRecord> {
    for await (const { cells, line, flaw } of parsed) {
      const [cell = '', ...others] = cells;
      if (flaw !== undefined) yield { line, record: undefined, flaw };
      else if (!others.every(isBlank))
        yield { line, record: undefined, flaw: `has ${cells.length} cells, but the rows above have one` };
      else if (!isBlank(cell))
        yield { line, record: objectOf([[field, JSON.stringify(toText(cell).trim())]]) };
    }
  }
  const note = `${what} is one column without a known name: all of it is read as lines, the first one too.`;
  return { format: 'text', columns: undefined, rows: rows(), note };
}

type ToText = (cell: string) => string;

const unchanged: ToText = (cell) => cell;

function toRecords(
  header: readonly string[],
  parsed: AsyncIterable<CsvRow>,
  texts: { readonly name: ToText; readonly cell: ToText },
  what: string,
  isRow: boolean,
): Records {
  const names = header.map((cell) => texts.name(cell.trim()));
  const columns = toDistinct(names.map((name, at) => name || `column ${at + 1}`));
  const shown = header.map(visibleText);
  let repeated = 0;
  let comments = 0;
  /** `# …`, alone or in a row that is too short. */
  const isComment = (cells: readonly string[]): boolean =>
    columns.length > 1 &&
    /^\s*#+(?:\s|$)/.test(cells[0] ?? '') &&
    (cells.length < columns.length || cells.slice(1).every(isBlank));
  async function* rows(): AsyncGenerator<FileRecord> {
    for await (const { cells, line, flaw } of parsed) {
      if (flaw !== undefined) yield { line, isRow, record: undefined, flaw };
      // Spreadsheets save an empty line as empty cells.
      else if (cells.every(isBlank)) continue;
      // The header comes again if several files were put together.
      else if (cells.length === header.length && cells.every((cell, at) => visibleText(cell) === shown[at])) {
        repeated++;
      } else if (isComment(cells)) comments++;
      else {
        const members = columns.map(
          (name, at) => [name, JSON.stringify(texts.cell(cells[at] ?? ''))] as const,
        );
        const tooMany = `has ${cells.length} cells, but the header has ${columns.length}`;
        const isTooLong = !cells.slice(columns.length).every(isBlank);
        yield { line, isRow, record: objectOf(members), ...(isTooLong ? { flaw: tooMany } : {}) };
      }
    }
  }
  const leftOut = (count: number, unit: string): string =>
    `${count === 1 ? `1 ${unit}, which was` : `${count} ${unit}s, which were`} left out.`;
  const noteAtEnd = (): string | undefined => {
    const notes = [
      ...(repeated === 0 ? [] : [`${what} repeats its header in ${leftOut(repeated, 'row')}`]),
      ...(comments === 0 ? [] : [`${what} has ${leftOut(comments, 'comment line')}`]),
    ];
    return notes.length === 0 ? undefined : notes.join('\n');
  };
  return { format: 'csv', columns, rawHeaders: header, rows: rows(), noteAtEnd };
}

/** Pure: makes column names unique: in an object, a second one would replace the first. */
function toDistinct(names: readonly string[]): readonly string[] {
  const taken = new Set<string>();
  const last = new Map<string, number>();
  for (const name of names) {
    let own = name;
    let times = last.get(name) ?? 1;
    while (taken.has(own)) own = `${name} (${++times})`;
    last.set(name, times);
    taken.add(own);
  }
  return [...taken];
}

/** Pure: removes the apostrophes before formulas from a record that was read raw. */
export function withoutGuards(record: JsonText, delimiter: string): JsonText {
  const members = [...objectMembers(record)];
  return objectOf(
    members.map(([name, text]) => [name, JSON.stringify(unguarded(stringOf(text) ?? '', delimiter))]),
  );
}
