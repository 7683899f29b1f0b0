import { existsSync, readFileSync, writeFileSync } from 'node:fs';

export type Random = () => number;
export const among = <T>(random: Random, ...all: readonly T[]): T =>
  all[Math.floor(random() * all.length)] as T;

/** Something a user wants done, with the same command until it is. */
export interface Order {
  readonly name: string;
  readonly kind: 'list' | 'search' | 'task run';
  readonly args: readonly string[];
  readonly output: string | undefined;
  readonly isAppended: boolean;
  readonly format: 'jsonl' | 'csv';
  /** Of searches and tasks. */
  readonly limit: number;
  readonly maxCredits: number | undefined;
  readonly list: RowsOfList | undefined;
  readonly shard: { readonly index: number; readonly of: number } | undefined;
  /** What pays once: an order, or all shards of a run. */
  readonly unit: string;
  readonly concurrency: number;
  runs: number;
  /** How many answers can have been under way when a run ended. */
  mayBeLost: number;
  isEdited: boolean;
  /** Whether its command was ever run. */
  operation: string | undefined;
}

/** The rows of an input file, or of what is piped in. */
export class RowsOfList {
  rows: { readonly id: string; readonly text: string }[] = [];
  private made = 0;

  readonly name: string;
  readonly file: string | undefined;

  constructor(name: string, file: string | undefined, count: number) {
    this.name = name;
    this.file = file;
    for (let at = 0; at < count; at++) this.rows.push(this.newRow());
    this.save();
  }

  private newRow(): { readonly id: string; readonly text: string } {
    const number = ++this.made;
    return { id: `${this.name}.${number}`, text: `${this.name} person ${number}` };
  }

  get text(): string {
    return this.rows.map(({ id, text }) => `${JSON.stringify({ id, objective: text })}\n`).join('');
  }

  /** Corrects, adds, moves or removes some: never so many that nothing is left of what may have been sent. */
  edit(random: Random, mayMove: boolean): string {
    const at = Math.floor(random() * this.rows.length);
    const what = among(
      random,
      'corrects',
      'adds',
      ...(mayMove ? (['moves', 'removes', 'inserts'] as const) : []),
    );
    const row = this.rows[at];
    if (row === undefined || (what === 'removes' && this.rows.length < 4)) return 'leaves';
    if (what === 'corrects')
      this.rows[at] = { id: row.id, text: `${this.name} person ${++this.made} corrected` };
    if (what === 'adds') this.rows.push(this.newRow());
    if (what === 'inserts') this.rows.splice(at, 0, this.newRow());
    if (what === 'removes') this.rows.splice(at, 1);
    if (what === 'moves') {
      this.rows.splice(at, 1);
      this.rows.splice(Math.floor(random() * (this.rows.length + 1)), 0, row);
    }
    this.save();
    return what;
  }

  private save(): void {
    if (this.file !== undefined) writeFileSync(this.file, this.text);
  }
}

/** A row of an output, as far as it says what it is. */
export interface OutputRow {
  /** Of a row of a list: its ID and its text; of a lead: its name. */
  readonly name: string;
  readonly answer: string | undefined;
}

/** The rows of an output. Throws for one that is torn, and for a header that stands twice. */
export function toRows(text: string, format: 'jsonl' | 'csv'): OutputRow[] {
  if (text === '') return [];
  const end = format === 'csv' ? '\r\n' : '\n';
  if (!text.endsWith(end)) throw new Error(`the last row is torn: ${text.slice(-80)}`);
  const lines = text.split(end).slice(0, -1);
  if (format === 'jsonl') {
    return lines.map((line) => {
      const { id, name, objective, email } = JSON.parse(line);
      return { name: name ?? `${id} ${objective}`, answer: email?.content ?? (name as string | undefined) };
    });
  }
  const [header = '', ...rest] = lines;
  if (rest.includes(header)) throw new Error('the header stands twice');
  const isLeads = header.startsWith('name,');
  return rest.map((line) => {
    const cells = line.split(',');
    if (isLeads) return { name: cells[0] ?? '', answer: cells[0] };
    return { name: `${cells[0]} ${cells[1]}`, answer: cells[2] === '' ? undefined : cells[2] };
  });
}

export const read = (file: string): string => (existsSync(file) ? readFileSync(file, 'utf8') : '');

/** The rows of a list that are an order's. */
export function rowsOf({ list, shard }: Order): { readonly id: string; readonly text: string }[] {
  const rows = list?.rows ?? [];
  return shard === undefined ? rows : rows.filter((_, at) => (at + 1) % shard.of === shard.index);
}
