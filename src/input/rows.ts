import { UsageError } from '../errors.ts';
import { type JsonText, kindOf, objectOf } from '../json/text.ts';
import { isJson } from '../json/valid.ts';

export const inputFormats = ['csv', 'jsonl', 'text'] as const;
export type InputFormat = (typeof inputFormats)[number];

/** A row of an input: a record, or why there is none. */
export interface InputRow {
  /** From 1 on, without the header. */
  readonly number: number;
  /** The line that it begins on, from 1 on. */
  readonly line: number;
  /** An object of JSON; of CSV, texts by column. Undefined for a row that can't be read. */
  readonly record: JsonText | undefined;
  readonly flaw?: string;
}

export interface Input {
  readonly format: InputFormat;
  /** Of CSV, in their order. */
  readonly columns: readonly string[] | undefined;
  readonly rows: AsyncIterable<InputRow>;
}

interface InputOptions {
  /** Undefined: by its content. */
  readonly format: InputFormat | undefined;
  /** What a plain line is called. */
  readonly field: string;
  /** Columns that are looked for: a first line that has one of them is the header of CSV. */
  readonly wanted: readonly string[];
  /** What the input is called in messages. */
  readonly what: string;
}

const delimiters = [',', ';', '\t', '|'];
/** Characters: a quote that is never closed must not swallow a file of any size. */
const longestRow = 4 * 1024 * 1024;

/** Reads as much as tells what the input is. Throws UsageError for one that has an unusable header. */
export async function openInput(text: AsyncIterable<string>, options: InputOptions): Promise<Input> {
  const pieces = text[Symbol.asyncIterator]();
  let head = '';
  for (;;) {
    const firstLine = /^\s*([^\n\r]*)[\n\r]/.exec(head);
    if (firstLine?.[1] || head.length > longestRow) break;
    const { done, value } = await pieces.next();
    if (done) break;
    head += value;
  }
  if (head.trim() === '') return { format: options.format ?? 'text', columns: undefined, rows: noRows() };
  const whole = (async function* () {
    yield head;
    yield* { [Symbol.asyncIterator]: () => pieces };
  })();
  const firstLine = /^\s*([^\n\r]*)/.exec(head)?.[1] ?? '';
  if (firstLine.startsWith('[') && options.format === undefined) {
    throw new UsageError(
      `${options.what} is a JSON array, but a JSON object on each line is needed`,
      'To convert a file: jq -c ".[]" <file>',
    );
  }
  const format = options.format ?? formatOf(firstLine, options.wanted);
  if (format === 'csv') return await openCsv(whole, firstLine, options.what);
  const toRow = format === 'jsonl' ? toJsonRow : toTextRow(options.field);
  return { format, columns: undefined, rows: lineRows(whole, toRow) };
}

async function* noRows(): AsyncGenerator<InputRow> {}

function formatOf(firstLine: string, wanted: readonly string[]): InputFormat {
  if (firstLine.startsWith('{')) return 'jsonl';
  const cells = firstLine.split(delimiterOf(firstLine)).map(toName);
  return cells.some((cell) => wanted.includes(cell)) ? 'csv' : 'text';
}

/** The one that stands in it most often. */
function delimiterOf(firstLine: string): string {
  const counts = delimiters.map((one) => firstLine.split(one).length);
  return delimiters[counts.indexOf(Math.max(...counts))] as string;
}

function toName(cell: string): string {
  return cell.trim().replace(/^"(.*)"$/, '$1');
}

type ToRow = (line: string) => { readonly record: JsonText } | { readonly flaw: string };

const toJsonRow: ToRow = (line) => {
  if (line.length > longestRow)
    return { flaw: `has ${line.length} characters: at most ${longestRow} are allowed` };
  if (!isJson(line)) return { flaw: 'is not valid JSON' };
  return kindOf(line) === 'object' ? { record: line.trim() } : { flaw: 'is not a JSON object' };
};

const toTextRow =
  (field: string): ToRow =>
  (line) => ({ record: objectOf([[field, JSON.stringify(line.trim())]]) });

async function* lineRows(text: AsyncIterable<string>, toRow: ToRow): AsyncGenerator<InputRow> {
  let number = 0;
  let line = 0;
  for await (const found of linesOf(text)) {
    line++;
    if (found.trim() === '') continue;
    yield { number: ++number, line, record: undefined, ...toRow(found) };
  }
}

/** Lines end with \n or \r\n: U+2028 is a character as any other. */
async function* linesOf(text: AsyncIterable<string>): AsyncGenerator<string> {
  let pieces: string[] = [];
  for await (const piece of text) {
    const lines = piece.split('\n');
    const last = lines.pop() as string;
    for (const line of lines) {
      pieces.push(line);
      yield pieces.join('').replace(/\r$/, '');
      pieces = [];
    }
    pieces.push(last);
  }
  const rest = pieces.join('');
  if (rest !== '') yield rest;
}

async function openCsv(text: AsyncIterable<string>, firstLine: string, what: string): Promise<Input> {
  const [{ parse }, { Readable }] = await Promise.all([import('csv-parse'), import('node:stream')]);
  const skipped: { line: number; flaw: string }[] = [];
  const parser = parse({
    delimiter: delimiterOf(firstLine),
    info: true,
    relax_column_count: true,
    skip_empty_lines: true,
    max_record_size: longestRow,
    skip_records_with_error: true,
    on_skip: (error) => {
      const { lines = 0 } = (error ?? {}) as { lines?: number };
      skipped.push({ line: lines, flaw: `is not valid CSV: ${error?.message ?? 'unreadable'}` });
      return undefined;
    },
  });
  const source = Readable.from(text);
  source.on('error', (error) => parser.destroy(error));
  source.pipe(parser);
  const parsed = parser[Symbol.asyncIterator]() as AsyncIterator<Parsed>;
  const first = await parsed.next();
  const header = first.done ? [] : first.value.record.map((cell) => cell.trim());
  if (header.length === 0 || skipped.length > 0) throw new UsageError(`the header of ${what} can't be read`);
  const columns = header.map((name, at) => distinct(name || `column ${at + 1}`, header.slice(0, at)));
  let number = 0;
  async function* rows(): AsyncGenerator<InputRow> {
    let lineBefore = first.value.info.lines;
    for (let next = await parsed.next(); ; next = await parsed.next()) {
      const end = next.done ? Number.POSITIVE_INFINITY : next.value.info.lines;
      while (skipped[0] !== undefined && skipped[0].line <= end) {
        yield { number: ++number, record: undefined, ...(skipped.shift() as { line: number; flaw: string }) };
      }
      if (next.done) return;
      const { record } = next.value;
      const row = { number: ++number, line: lineBefore + 1 };
      lineBefore = end;
      if (record.length > columns.length) {
        const flaw = `has ${record.length} cells, but the header has ${columns.length}`;
        yield { ...row, record: undefined, flaw };
      } else {
        const cells = columns.map((name, at) => [name, JSON.stringify(record[at] ?? '')] as const);
        yield { ...row, record: objectOf(cells) };
      }
    }
  }
  return { format: 'csv', columns, rows: rows() };
}

interface Parsed {
  readonly record: readonly string[];
  readonly info: { readonly lines: number };
}

/** In an object, a second column of the same name would replace the first. */
function distinct(name: string, before: readonly string[]): string {
  const times = before.filter((one) => one === name).length;
  return times === 0 ? name : `${name} (${times + 1})`;
}
