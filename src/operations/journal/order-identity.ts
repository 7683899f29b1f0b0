import { hash } from 'node:crypto';
import { realPathOf } from '../../files/target.ts';
import { rowsOf } from '../kinds.ts';
import { rowRequestOf, toRowRequestText } from '../row-request.ts';
import type { Intent } from './entries.ts';
import type { Begun } from './operation-index.ts';

/** What an order is known by: everything that decides what is bought, and where it goes. */
export type Ordered = Pick<Intent, 'asked' | 'body' | 'command' | 'list' | 'options' | 'origin' | 'output'> &
  Partial<Pick<Intent, 'row_request'>>;

/** Digests of an order, by which the index finds it. */
export type OrderDigests = Pick<Begun, 'like' | 'same' | 'output' | 'run'>;

/** The options that shape an output: with others, it is another one. */
const form = ['format', 'append', 'columns', 'csv_raw', 'positions', 'into', 'shard'];

/** An unfinished order is gone on with where all of this is the same. */
export async function toDigests(order: Ordered): Promise<OrderDigests> {
  const { command, options, origin, output } = order;
  const request = [command, origin, requestOf(order)];
  const path = output === null ? undefined : await realPathOf(output);
  const shape = form.map((name) => options[name] ?? null);
  return {
    like: digestOf(request),
    ...(path === undefined
      ? {}
      : { same: digestOf([...request, path, shape, options.run]), output: digestOf(path) }),
    ...(typeof options.run === 'string' ? { run: digestOf([...request, options.run]) } : {}),
  };
}

/** Pure: short; who finds something by it compares the whole. */
export function digestOf(value: unknown): string {
  return hash('sha256', JSON.stringify(value)).slice(0, 16);
}

/** Pure: what is asked for, as a text; the same for what is bought in the same way. */
function requestOf(order: Ordered): string {
  const { asked, body = '{}', command, list } = order;
  if (rowsOf(command) !== undefined) {
    const known = rowRequestOf(order);
    return known === undefined ? '' : toRowRequestText(known);
  }
  if (command === 'search') {
    // How many are wanted, and what is left out, may be another each day: what has arrived is what was searched for.
    const { entity_type, objective, enrich_fields = [] } = JSON.parse(asked ?? body);
    const request = [entity_type, objective, enrich_fields, list ?? entity_type, asked !== undefined];
    return JSON.stringify(request);
  }
  // The leads that are left out differ from day to day, and don't make it another order.
  const counts = command === 'task run' ? (list ?? null) : null;
  return JSON.stringify([asked ?? body, asked !== undefined, counts]);
}
