import { isTask, rowsOf } from '../kinds.ts';
import type { Intent, JournalEntry } from './entries.ts';
import type { Begun, IndexLine } from './operation-index.ts';
import { digestOf, toDigests } from './order-identity.ts';

/** What the index says of an entry; undefined for what is in the journal alone. */
export async function toIndexLine(
  op: string,
  entry: JournalEntry,
  entries: readonly JournalEntry[],
): Promise<IndexLine | undefined> {
  const [begun = entry] = entries;
  switch (entry.type) {
    case 'intent':
      return { begun: await toBegun(op, entry) };
    case 'reserved':
      return { reserved: { op, time: entry.time, worst: entry.credits } };
    case 'spent':
      return { ended: { op, outcome: 'partial', worst: entry.credits } };
    case 'created':
      // Searches are named too, and are looked for by nothing of it.
      if (begun.type === 'intent' && !isTask(begun.command)) return undefined;
      return { created: { op, task: entry.leads_search_id } };
    case 'opened': {
      const isFirst = entries.find(({ type }) => type === 'opened') === entry;
      if (isFirst || begun.type !== 'intent' || begun.output === null) return undefined;
      const { output } = await toDigests(begun);
      return output === undefined ? undefined : { opened: { op, output } };
    }
    case 'terminal':
      return { ended: { op, outcome: entry.outcome, ...(await toSame(begun)), ...toSpent(entry) } };
    default:
      return undefined;
  }
}

/** Who looks for an order finds how it ended, too. */
async function toSame(begun: JournalEntry): Promise<{ same?: string }> {
  const { same } = begun.type === 'intent' ? await toDigests(begun) : {};
  return same === undefined ? {} : { same };
}

function toSpent({ charged, spent }: Extract<JournalEntry, { type: 'terminal' }>): { worst?: number } {
  if (charged === 'no') return { worst: 0 };
  return spent === undefined ? {} : { worst: spent };
}

async function toBegun(op: string, intent: Intent): Promise<Begun> {
  const { command, continues, idempotency_key, leads_search_id, options, origin, time } = intent;
  const worst = costsOf(intent);
  return {
    op,
    kind: command,
    time,
    origin,
    ...(await toDigests(intent)),
    ...(idempotency_key === undefined ? {} : { key: digestOf(idempotency_key) }),
    ...(leads_search_id === undefined ? {} : { task: leads_search_id }),
    ...(options.tool === true ? { tool: true } : {}),
    ...(continues === undefined ? {} : { continues }),
    ...(worst === 0 ? {} : { worst }),
  };
}

/** Pure: the credits that an entry says may be spent from now on; 0 where it says nothing of that, or the local service is meant. */
export function costsOf(entry: JournalEntry): number {
  if (entry.type === 'reserved') return entry.credits;
  if (entry.type !== 'intent' || entry.origin === 'local') return 0;
  // What is known of a list is what one row costs.
  return entry.reserved ?? (rowsOf(entry.command) === undefined ? (entry.worst_case ?? 0) : 0);
}
