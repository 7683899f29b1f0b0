/** A row of CSV; its cells are without their quotes. */
export interface CsvRow {
  /** The line that it begins on, from 1 on. */
  readonly line: number;
  readonly cells: readonly string[];
  /** Why the cells are not what was meant; said after `line 3`. */
  readonly flaw: string | undefined;
}

export interface CsvReader {
  /** The rows that end in this piece of the text. */
  take(piece: string): CsvRow[];
  /** What is left when there is no more. */
  end(): CsvRow[];
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

/**
 * Takes CSV apart (RFC 4180), piece after piece. Blank lines are no rows. A quote within a cell that does not begin with one is
 * text. A row that is not well formed, or has more characters than `longest`, comes out once and with its flaw, and the rows
 * behind it as they are: only a quote that is never closed takes all the rest with it.
 */
export function createCsvReader(delimiter: string, longest = Number.POSITIVE_INFINITY): CsvReader {
  const ends = new RegExp(`[${delimiter}\r\n]`, 'g');
  let place: 'start' | 'plain' | 'quoted' | 'closed' = 'start';
  let cells: string[] = [];
  let cell = '';
  let length = 0;
  let line = 1;
  let begins = 1;
  let quoteLine = 0;
  let flaw: string | undefined;
  /** A carriage return whose next character is not here yet. */
  let held = '';
  /** Whether lines end with a carriage return alone, as the first one does. */
  let isOldMac: boolean | undefined;
  let rows: CsvRow[] = [];

  function add(run: string): void {
    length += run.length;
    // What is too long is only counted.
    cell = length > longest ? '' : cell + run;
  }

  function endCell(): void {
    if (length <= longest) cells.push(cell);
    cell = '';
    length++;
    place = 'start';
  }

  function endRow(): void {
    const isBlank = place !== 'closed' && length === 0;
    if (length > longest) flaw = `has ${length} characters: at most ${longest} are allowed`;
    endCell();
    if (!isBlank) rows.push({ line: begins, cells, flaw });
    cells = [];
    length = 0;
    flaw = undefined;
    begins = line;
  }

  function read(text: string, isLast: boolean): void {
    for (let at = 0; at < text.length; ) {
      if (place === 'quoted') {
        const close = text.indexOf('"', at);
        const run = text.slice(at, close === -1 ? undefined : close);
        add(run);
        line += run.split(isOldMac ? '\r' : '\n').length - 1;
        if (close === -1) return;
        place = 'closed';
        at = close + 1;
        continue;
      }
      if (place !== 'plain' && text[at] === '"') {
        if (place === 'closed') add('"');
        else quoteLine = line;
        place = 'quoted';
        at++;
        continue;
      }
      ends.lastIndex = at;
      const found = ends.exec(text);
      const end = found?.index ?? text.length;
      if (end > at) {
        if (place === 'closed') flaw ??= unescaped(line === begins ? undefined : line);
        place = 'plain';
        add(text.slice(at, end));
      }
      at = end + 1;
      if (found === null) return;
      if (found[0] === delimiter) endCell();
      else if (found[0] === '\r' && at === text.length && !isLast) held = '\r';
      else {
        const isAlone = found[0] === '\r' && text[at] !== '\n';
        isOldMac ??= isAlone;
        if (isAlone && !isOldMac) {
          add('\r');
          continue;
        }
        if (found[0] === '\r' && !isAlone) at++;
        line++;
        endRow();
      }
    }
  }

  function taken(): CsvRow[] {
    const found = rows;
    rows = [];
    return found;
  }

  return {
    take(piece) {
      const text = held + piece;
      held = '';
      read(text, false);
      return taken();
    },
    end() {
      read(held, true);
      if (place === 'quoted') flaw = unclosed(quoteLine === begins ? undefined : quoteLine);
      if (place !== 'start' || length > 0) endRow();
      return taken();
    },
  };
}

function unescaped(line: number | undefined): string {
  const where = line === undefined ? '' : ` on line ${line}`;
  return `has text after a closing quote${where}: inside quotes, write a quote twice ("")`;
}

function unclosed(line: number | undefined): string {
  const where = line === undefined ? '' : ` (line ${line})`;
  return `has a quote that is never closed${where}: nothing after it can be read`;
}
