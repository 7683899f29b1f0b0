import type { Connection } from '../connection/connection.ts';
import type { Context } from '../context.ts';
import type { EntitySearchRequest } from '../contract/types.ts';
import { LeadpipeError } from '../errors.ts';
import { isLocked } from '../files/folder-lock.ts';
import { readAnswer } from '../operations/journal/answers.ts';
import { isBegun, isComplete } from '../operations/journal/chain.ts';
import {
  folderOf,
  type JournalEntry,
  lastWritten,
  type StoredOperation,
} from '../operations/journal/journal.ts';
import { countStoredLeads } from '../operations/journal/leads.ts';
import { createEarlier } from './earlier.ts';
import type { Plan, Settled, Wanted } from './plan.ts';
import { chainOf } from './stored.ts';

/** For how long a call that is made again gives the stored answer. */
const storedMs = 10 * 60_000;

const anew: Plan = { is: 'new' };

/**
 * Asks what a request is the same as, by what is on the disk: this process may be another one than that of the earlier call.
 * `body` is what is sent. Throws LocalIoError, ConfigurationError.
 */
export type Look = (connection: Connection, wanted: Wanted, body: string) => Promise<Plan>;

/** The one way from here to the purchases of earlier calls. */
export function createLook(context: Pick<Context, 'directories' | 'clock'>): Look {
  const earlier = createEarlier(context);
  return async (connection, { kind, onlyNew }, body) =>
    await toPlan(context, await earlier.find(connection, kind, body, onlyNew));
}

async function toPlan(
  context: Pick<Context, 'directories' | 'clock'>,
  first: StoredOperation | undefined,
): Promise<Plan> {
  if (first === undefined) return anew;
  const { state } = context.directories;
  const chain = await chainOf(state, first);
  const last = chain.at(-1) ?? first;
  if (isLocked(folderOf(state, last.operationId))) return { is: 'join' };
  if (!isBegun(first)) return anew;
  const age = context.clock.now().getTime() - (await lastWritten(state, last.operationId)).getTime();
  const isFresh = age < storedMs;
  const { command } = first.entries[0];
  if (command === 'search') return await planSearch(state, chain, first, last, isFresh);
  if (command === 'task create') return planTask(first, isFresh);
  const answer = await readAnswer(folderOf(state, first.operationId));
  if (answer === undefined) return planUnanswered(first, first);
  if (terminalOf(first) !== undefined && !isFresh) return anew;
  return { is: 'stored', settled: { ...toStored(first), answer } };
}

async function planSearch(
  state: string,
  chain: readonly StoredOperation[],
  first: StoredOperation,
  last: StoredOperation,
  isFresh: boolean,
): Promise<Plan> {
  if (isComplete(last)) return isFresh ? storedSearch(first, last) : anew;
  let arrived = 0;
  let own = 0;
  for (const { operationId } of chain) {
    const { delivered, excluded } = await countStoredLeads(folderOf(state, operationId));
    own = delivered + excluded;
    arrived += own;
  }
  if (own === 0 && terminalOf(last) === undefined) return planUnanswered(first, last);
  const { limit = 0 } = JSON.parse(first.entries[0].body ?? '{}') as EntitySearchRequest;
  if (arrived < limit) return { is: 'rest', first, last, limit: limit - arrived };
  return isFresh ? storedSearch(first, last) : anew;
}

function storedSearch(first: StoredOperation, last: StoredOperation): Plan {
  const stopReason = terminalOf(last)?.stop_reason ?? undefined;
  return { is: 'stored', settled: { ...toStored(last), operationId: first.operationId, stopReason } };
}

function planTask(operation: StoredOperation, isFresh: boolean): Plan {
  const created = operation.entries.find(({ type }) => type === 'created');
  if (created === undefined) return planUnanswered(operation, operation);
  if (terminalOf(operation) !== undefined && !isFresh) return anew;
  return { is: 'stored', settled: toStored(operation) };
}

/** Nothing came: what surely cost nothing is bought anew, and what may have been charged never. */
function planUnanswered(first: StoredOperation, last: StoredOperation): Plan {
  const { idempotency_key: idempotencyKey } = last.entries[0];
  if (terminalOf(last) !== undefined || idempotencyKey === undefined) return anew;
  const failed = last.entries.findLast((entry) => entry.type === 'failed');
  if (failed?.gone) return { is: 'lost', error: toLost(failed, last.operationId, idempotencyKey) };
  return { is: 'repeat', first, last, idempotencyKey };
}

/** The error that it ended with, once more. */
function toLost(
  { outcome, message, error_type, request_id, charged }: Extract<JournalEntry, { type: 'failed' }>,
  operationId: string,
  idempotencyKey: string,
): LeadpipeError {
  return new LeadpipeError(outcome, message, {
    charged: charged ?? 'maybe',
    retryable: false,
    operationId,
    idempotencyKey,
    ...(error_type === undefined ? {} : { type: error_type }),
    ...(request_id === null ? {} : { requestId: request_id }),
    facts: { is: 'key_used' },
  });
}

function toStored({ operationId, entries }: StoredOperation): Settled {
  let requestId: string | undefined;
  let leadsSearchId: string | undefined;
  for (const entry of entries) {
    if (entry.type === 'created' || entry.type === 'batch')
      leadsSearchId = entry.leads_search_id ?? leadsSearchId;
    if ('request_id' in entry) requestId = entry.request_id ?? requestId;
  }
  const { idempotency_key: idempotencyKey } = entries[0];
  const free = { complete: true, charged: 'no', stored: true, warnings: [] } as const;
  return { ...free, operationId, idempotencyKey, requestId, leadsSearchId };
}

function terminalOf({ entries }: StoredOperation): Extract<JournalEntry, { type: 'terminal' }> | undefined {
  return entries.findLast((entry) => entry.type === 'terminal');
}
