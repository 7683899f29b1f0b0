import { digestOf } from '../digest.ts';
import { targetOf } from '../files/target.ts';
import type { Indexed, Intent } from './journal/entries.ts';
import type { Kind } from './kinds/kind.ts';
import { isTask, kinds, rowsOf } from './kinds/kinds.ts';
import type { RowRequest } from './kinds/layouts.ts';

/** What identifies an order: everything that decides what is bought and where it goes. */
export type Ordered = Pick<
  Intent,
  'requested' | 'body' | 'command' | 'list' | 'options' | 'origin' | 'output'
> &
  Partial<Pick<Intent, 'row_request'>>;

export type OrderDigests = Awaited<ReturnType<typeof digestsOf>>;

/** The options that shape an output. With other values, it is another output. */
const form = ['format', 'append', 'columns', 'csv_raw', 'delimiter', 'positions', 'into', 'shard'];

/** An unfinished order is resumed if all of this is the same. */
export async function digestsOf(order: Ordered) {
  const { command, options, origin, output } = order;
  const request = [command, origin, requestOf(order)];
  const path = output === null ? undefined : await targetOf(output);
  const shape = form.map((name) => options[name] ?? null);
  return {
    /** The same for the same order from the same service. */
    like: digestOf(JSON.stringify(request)),
    /** Of the request, the output file and its form; undefined without a file. */
    same: path && digestOf(JSON.stringify([...request, path, shape, options.run])),
    output: path && digestOf(path),
    /** Of the name of a run, and of what is sent for its rows. */
    run: typeof options.run === 'string' ? digestOf(JSON.stringify([...request, options.run])) : undefined,
  };
}

/** Pure: the request as a text, which is the same for requests that buy the same. */
function requestOf(order: Ordered): string {
  const { requested, body = '{}', command, list, row_request = '{}' } = order;
  if (rowsOf(command) !== undefined) return toRowRequestText(JSON.parse(row_request));
  if (command === 'search') {
    // The number of leads and the exclusions may change each day: it is the same search.
    const { entity_type, objective, enrich_fields = [] } = JSON.parse(requested ?? body);
    const request = [entity_type, objective, enrich_fields, list ?? entity_type, requested !== undefined];
    return JSON.stringify(request);
  }
  // The leads that are excluded change from day to day, and don't make it another order.
  const counts = command === 'task run' ? (list ?? JSON.parse(body).entity_type) : null;
  return JSON.stringify([requested ?? body, requested !== undefined, counts]);
}

/** Pure: a canonical text: equal for row requests that send the same. */
export function toRowRequestText(request: RowRequest): string {
  const { sentOf }: Kind = kinds[request.kind];
  const sent = sentOf === undefined ? request : sentOf(request as never);
  return JSON.stringify(Object.fromEntries(Object.entries(sent).sort(([a], [b]) => (a < b ? -1 : 1))));
}

/** An intent before the journal has it. */
export type NewIntent = Omit<Intent, 'index' | 'number'>;

/** The intent with its data for the index: the journal only stores them, and does not know what is bought. */
export async function withDigests(intent: NewIntent): Promise<Intent> {
  const { command, idempotency_key: key, leads_search_id, options, reserved, worst_case } = intent;
  const exact = options.tool === true ? (intent.requested ?? intent.body) : options.input;
  // The worst case of a list is that of one row.
  const worst = reserved ?? (rowsOf(command) === undefined ? worst_case : undefined);
  const index: Indexed = {
    ...(await digestsOf(intent)),
    exact: typeof exact === 'string' ? digestOf(exact) : undefined,
    key: key === undefined ? undefined : digestOf(key),
    task: leads_search_id,
    worst,
    // Searches have an ID, too, but nothing looks for them by it.
    is_task: isTask(command) || undefined,
  };
  return { ...intent, index };
}
