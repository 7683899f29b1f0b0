import { hash } from 'node:crypto';
import type { Outcome } from '../../errors.ts';
import { realPathOf } from '../../files/target.ts';
import { isTask, rowsOf } from '../kinds/kinds.ts';
import { rowRequestOf, toRowRequestText } from '../kinds/row-request.ts';
import type { Intent, JournalEntry } from './entries.ts';

type AllOfBegun = Awaited<ReturnType<typeof toBegun>>;

/** What is known of an operation without its journal. It is only used to find the operation: the journal decides. */
export type Begun = Partial<AllOfBegun> & Pick<AllOfBegun, 'is' | 'op' | 'kind' | 'time' | 'origin' | 'like'>;

/** A line of the index. The order of the lines is the order of the operations, even if the clock was wrong. */
export type IndexLine = Readonly<
  | Begun
  /** The service has named the task. */
  | { is: 'created'; op: string; task: string }
  /** It is resumed, into this file. */
  | { is: 'opened'; op: string; output: string }
  /** A list is resumed, and can cost more than was counted. */
  | { is: 'reserved'; op: string; time: string; worst: number }
  /** How it ended. From then on, this counts in place of what was reserved for it. */
  | { is: 'ended'; op: string; outcome: Outcome; same?: string | undefined; worst?: number | undefined }
>;

/** What identifies an order: everything that decides what is bought and where it goes. */
export type Ordered = Pick<Intent, 'asked' | 'body' | 'command' | 'list' | 'options' | 'origin' | 'output'> &
  Partial<Pick<Intent, 'row_request'>>;

export type OrderDigests = Awaited<ReturnType<typeof toDigests>>;

/** The options that shape an output. With other values, it is another output. */
const form = ['format', 'append', 'columns', 'csv_raw', 'positions', 'into', 'shard'];

/** An unfinished order is resumed if all of this is the same. */
export async function toDigests(order: Ordered) {
  const { command, options, origin, output } = order;
  const request = [command, origin, requestOf(order)];
  const path = output === null ? undefined : await realPathOf(output);
  const shape = form.map((name) => options[name] ?? null);
  return {
    /** The same for the same order from the same service. */
    like: digestOf(request),
    /** Of the request, the output file and its form; undefined without a file. */
    same: path && digestOf([...request, path, shape, options.run]),
    output: path && digestOf(path),
    /** Of the name of a run, and of what is sent for its rows. */
    run: typeof options.run === 'string' ? digestOf([...request, options.run]) : undefined,
  };
}

/** Pure: a short digest. What is found by it must be compared in full. */
export function digestOf(value: unknown): string {
  return hash('sha256', JSON.stringify(value)).slice(0, 16);
}

/** Pure: the request as a text, which is the same for requests that buy the same. */
function requestOf(order: Ordered): string {
  const { asked, body = '{}', command, list } = order;
  if (rowsOf(command) !== undefined) {
    return toRowRequestText(rowRequestOf(order));
  }
  if (command === 'search') {
    // The number of leads and the exclusions may change each day: it is the same search.
    const { entity_type, objective, enrich_fields = [] } = JSON.parse(asked ?? body);
    const request = [entity_type, objective, enrich_fields, list ?? entity_type, asked !== undefined];
    return JSON.stringify(request);
  }
  // The leads that are excluded change from day to day, and don't make it another order.
  const counts = command === 'task run' ? (list ?? null) : null;
  return JSON.stringify([asked ?? body, asked !== undefined, counts]);
}

async function toBegun(op: string, intent: Intent) {
  const { command, idempotency_key: key, leads_search_id, origin, time } = intent;
  const { reserved, worst_case } = intent;
  return {
    is: 'begun' as const,
    op,
    kind: command,
    time,
    origin,
    ...(await toDigests(intent)),
    key: key === undefined ? undefined : digestOf(key),
    task: leads_search_id ?? undefined,
    /** The most that it can cost, as far as that was known. */
    worst: costsOf(intent, intent) || undefined,
    /** Whether its cost is not known. */
    unpriced: (worst_case === null && reserved === undefined && origin !== 'local') || undefined,
  };
}

/** The line of the index for an entry; undefined where the index does not hold it. */
export async function toIndexLine(
  op: string,
  entry: JournalEntry,
  entries: readonly JournalEntry[],
): Promise<IndexLine | undefined> {
  const [intent = entry] = entries;
  if (intent.type !== 'intent') return undefined;
  switch (entry.type) {
    case 'intent':
      return await toBegun(op, entry);
    case 'reserved':
      return { is: 'reserved', op, time: entry.time, worst: entry.credits };
    case 'rest':
      return { is: 'reserved', op, time: entry.time, worst: costsOf(entry, intent) };
    case 'spent':
      return { is: 'ended', op, outcome: 'partial', worst: entry.credits };
    case 'created':
      // Searches have an ID, too, but nothing looks for them by it.
      return isTask(intent.command) ? { is: 'created', op, task: entry.leads_search_id } : undefined;
    case 'opened': {
      const isFirst = entries.find(({ type }) => type === 'opened') === entry;
      const { output } = await toDigests(intent);
      return isFirst || output === undefined ? undefined : { is: 'opened', op, output };
    }
    case 'terminal': {
      // Whoever looks for the order then also finds how it ended.
      const { same } = await toDigests(intent);
      const worst = entry.charged === 'no' ? 0 : entry.spent;
      return { is: 'ended', op, outcome: entry.outcome, same, worst };
    }
    default:
      return undefined;
  }
}

/** Pure: the credits that may be spent from this entry on; 0 where it does not say, or for the local service. */
export function costsOf(entry: JournalEntry, { origin }: Pick<Intent, 'origin'>): number {
  if (entry.type === 'reserved') return entry.credits;
  if (entry.type === 'rest') return origin === 'local' ? 0 : (entry.worst_case ?? 0);
  if (entry.type !== 'intent' || entry.origin === 'local') return 0;
  // The worst case of a list is that of one row.
  return entry.reserved ?? (rowsOf(entry.command) === undefined ? (entry.worst_case ?? 0) : 0);
}
