import { toStatusRecord } from '../answers.ts';
import { defaults } from '../config/defaults.ts';
import type { Connection } from '../connection/connection.ts';
import type { Context } from '../context.ts';
import { limits } from '../contract/limits.ts';
import { terminalTaskStates } from '../contract/types.ts';
import { LeadpipeError } from '../errors.ts';
import type { JsonText } from '../json/text.ts';
import { readHistory, readHistoryRecord } from '../operations/journal/history.ts';
import { listOperations, readOperation } from '../operations/journal/journal.ts';
import { isTask } from '../operations/kinds.ts';
import type { Spending } from '../operations/spending.ts';
import { readPage } from '../operations/task/follow.ts';
import { checkText } from '../requests/within-limits.ts';
import type { Arguments } from './arguments.ts';
import { chainOf } from './earlier.ts';
import type { Connect } from './purchases.ts';
import { readRecords } from './stored.ts';

/** The members of a result, as JSON. */
export type Members = readonly (readonly [name: string, value: JsonText])[];

/** What the free tools need. */
export interface FreeCall {
  readonly context: Context;
  readonly connect: Connect;
  readonly spending: Spending | undefined;
  readonly signal: AbortSignal;
}

/** The tools that cost nothing, by name. */
export const freeTools: Readonly<Record<string, (call: FreeCall, given: Arguments) => Promise<Members>>> = {
  balance: ({ connect, spending, signal }) =>
    connect(async ({ client }) => {
      const { text } = await client.balance(signal);
      if (spending === undefined) return [['balance', text]];
      const { limit, spent, reserved } = spending;
      return [
        ['balance', text],
        ['session', JSON.stringify({ max_credits: limit, spent_at_most: spent, under_way: reserved })],
      ];
    }),

  task_status: ({ connect, signal }, { leads_search_id }) =>
    connect(async ({ client }) => {
      const id = toTaskId(leads_search_id);
      const { text, value } = await client.status(id, signal);
      const { status: state, ready_count } = value.status;
      return [
        ['task', toStatusRecord(id, text)],
        ['complete', String(isEnded(state))],
        ...(ready_count > 0 ? [['next', '0'] as const] : []),
      ];
    }),

  task_fetch: ({ connect, context, signal }, { leads_search_id, position, show }) =>
    connect(async ({ client, settings }) => {
      const from = position as number;
      const task = {
        leadsSearchId: toTaskId(leads_search_id),
        from,
        num: show as number,
        poll: pollOf(settings),
      };
      const waiting = { clock: context.clock, random: () => context.random(), signal };
      const { entities, value } = await readPage(client, waiting, task);
      const next = from + entities.length;
      const { status = 'running', ready_count } = value;
      return [
        ['leads', `[${entities.join(',')}]`],
        ['count', String(ready_count)],
        ...(next < ready_count || !isEnded(status) ? [['next', String(next)] as const] : []),
        ['status', JSON.stringify(status)],
        ['complete', String(isEnded(status) && next >= ready_count)],
      ];
    }),

  async history_list({ context }, { position, show }) {
    const from = position as number;
    const end = from + (show as number);
    const some: object[] = [];
    let at = 0;
    for await (const { record } of readHistory(context.directories.state, { newestFirst: true })) {
      if (at >= from && at < end) some.push(record);
      if (++at > end) break;
    }
    return [['purchases', JSON.stringify(some)], ...toNext(from + some.length, at)];
  },

  async history_show({ context, signal }, { operation_id, position, show }) {
    const { state } = context.directories;
    const id = operation_id as string;
    const known = await listOperations(state);
    const operation = known.includes(id) ? await readOperation(state, id) : undefined;
    if (operation === undefined) {
      throw notFound(
        `there is no operation ${id.slice(0, 100)} on this machine`,
        'operation_not_found',
        'See history_list.',
      );
    }
    const chain = await chainOf(state, operation);
    const last = await readHistoryRecord(state, chain.at(-1) ?? operation);
    const from = position as number;
    const stored = await readRecords(state, chain, from, show as number, signal);
    if (stored === undefined) throw toNothingKept(id, operation.entries[0].command, last.leads_search_id);
    return [
      ['records', `[${stored.records.join(',')}]`],
      ['count', String(stored.count)],
      ...toNext(from + stored.records.length, stored.count),
      ['complete', String(last.state === 'complete' && stored.damaged === 0)],
      ['operation_id', JSON.stringify(id)],
    ];
  },
};

/** Where to read on, where there is more. */
export function toNext(next: number, count: number): Members {
  return next < count ? [['next', String(next)]] : [];
}

function toTaskId(given: unknown): string {
  return checkText(limits.leadsSearchId, 'leads_search_id', (given as string).trim());
}

function isEnded(status: string): boolean {
  return terminalTaskStates.some((one) => one === status);
}

function pollOf(settings: Connection['settings']) {
  return {
    firstMs: 1000 * (settings['poll.interval'] ?? defaults['poll.interval']),
    maxMs: 1000 * (settings['poll.max'] ?? defaults['poll.max']),
  };
}

function toNothingKept(id: string, command: string, leadsSearchId: string | null): LeadpipeError {
  if (isTask(command) && leadsSearchId !== null) {
    return notFound(
      `the leads of ${id} are at the service, not here`,
      'not_kept',
      `To read them, for free: task_fetch ${leadsSearchId}`,
    );
  }
  return notFound(
    `nothing is stored for ${id}: it found nothing, or it is too old`,
    'not_kept',
    'See history_list.',
  );
}

function notFound(message: string, type: string, hint: string): LeadpipeError {
  return new LeadpipeError('not_found', message, { type, hint, charged: 'no', retryable: false });
}
