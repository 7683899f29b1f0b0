import { existsSync, readFileSync, writeFileSync } from 'node:fs';

export type Random = () => number;
export const among = <T>(random: Random, ...all: readonly T[]): T =>
  all[Math.floor(random() * all.length)] as T;

/** Lists: the words of the command, and the field of a row that is sent. */
export const listKinds = {
  contact: { words: ['contact', 'email'], field: 'objective' },
  research: { words: ['research'], field: 'query' },
  enrich: { words: ['enrich', '--field', 'city'], field: 'entity_context' },
  extract: { words: ['extract', 'x_followers'], field: 'target' },
} as const;
export type ListKind = keyof typeof listKinds;

/** A job of a user, run with the same command until it is done. */
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
  /** Maximum number of answers that were pending when a run ended. */
  mayBeLost: number;
  isEdited: boolean;
  /** A run has said that its leads may be delivered again, since the disk did not take them. */
  mayRepeat: boolean;
  /** Whether its command was ever run. */
  operation: string | undefined;
  /** How often a search with --only-new is run again after it is done. */
  again: number;
  /** What was delivered when it was done before. */
  readonly delivered: Set<string>;
  /** How many purchases there were when it was last done. */
  since: number;
}

export const has = ({ args }: Order, option: string): boolean => args.includes(option);

/** The rows of an input file, or of what is piped in. */
export class RowsOfList {
  rows: { readonly id: string; readonly text: string }[] = [];
  private made = 0;

  readonly name: string;
  readonly file: string | undefined;
  readonly kind: ListKind;

  constructor(name: string, file: string | undefined, kind: ListKind, count: number) {
    this.name = name;
    this.file = file;
    this.kind = kind;
    for (let at = 0; at < count; at++) this.rows.push(this.newRow());
    this.save();
  }

  private newRow(): { readonly id: string; readonly text: string } {
    const number = ++this.made;
    return { id: `${this.name}.${number}`, text: `${this.name} person ${number}` };
  }

  get text(): string {
    const { field } = listKinds[this.kind];
    return this.rows.map(({ id, text }) => `${JSON.stringify({ id, [field]: text })}\n`).join('');
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

  /** One row more at the end, or the first one less. */
  change(what: 'adds' | 'removes'): void {
    if (what === 'adds') this.rows.push(this.newRow());
    else if (this.rows.length > 2) this.rows.shift();
    this.save();
  }

  private save(): void {
    if (this.file !== undefined) writeFileSync(this.file, this.text);
  }
}

/** A row of an output, as far as it says what it is. */
export interface OutputRow {
  /** Of a row of a list: its ID and its text; of an item: its target; of a lead: its name. */
  readonly name: string;
  readonly answer: string | undefined;
}

/** The rows of an output. Throws for one that is torn, and for a repeated header. */
export function toRows(text: string, format: 'jsonl' | 'csv'): OutputRow[] {
  if (text === '') return [];
  const end = format === 'csv' ? '\r\n' : '\n';
  if (!text.endsWith(end)) throw new Error(`the last row is torn: ${text.slice(-80)}`);
  const lines = text.split(end).slice(0, -1);
  if (format === 'jsonl') {
    return lines.map((line) => {
      const { type, id, name, target, objective, query, entity_context, ...row } = JSON.parse(line);
      if (type !== undefined) return { name: target, answer: id };
      const { email, research, enrich } = row;
      return {
        name: name ?? `${id} ${objective ?? query ?? entity_context}`,
        answer: email?.content ?? research?.Result ?? enrich?.city ?? name,
      };
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

/** The name of the output row for a row of the input. */
export function nameOf(
  { list }: Order,
  { id, text }: { readonly id: string; readonly text: string },
): string {
  return list?.kind === 'extract' ? text : `${id} ${text}`;
}

/** The rows of a list that are an order's. */
export function rowsOf({ list, shard }: Order): { readonly id: string; readonly text: string }[] {
  const rows = list?.rows ?? [];
  return shard === undefined ? rows : rows.filter((_, at) => (at + 1) % shard.of === shard.index);
}
