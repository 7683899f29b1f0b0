import { toStatusRecord } from '../answers.ts';
import type { Page } from '../client.ts';
import { defaults } from '../config/defaults.ts';
import type { Connection } from '../connection/connection.ts';
import { limits } from '../contract/limits.ts';
import { terminalTaskStates } from '../contract/types.ts';
import { LeadpipeError } from '../errors.ts';
import type { JsonText } from '../json/text.ts';
import { readHistory, readHistoryRecord } from '../operations/journal/history.ts';
import { listOperations } from '../operations/journal/stored.ts';
import { isTask } from '../operations/kinds.ts';
import { readPage } from '../operations/task/follow.ts';
import { checkText } from '../requests/within-limits.ts';
import { findStored, readSome } from './stored.ts';
import { boolean, integer, list, listed, object, show, string, type Tool, toNext, toTool } from './tool.ts';

const free = { readOnlyHint: true, openWorldHint: true } as const;
const here = { readOnlyHint: true, openWorldHint: false } as const;
const position = {
  type: 'integer',
  minimum: 0,
  default: 0,
  description: 'records before it: `next` of the last result',
} as const;
const output = {
  type: 'string',
  description: 'write all to this new file: leads.csv, .jsonl, .xlsx',
} as const;

export const freeTools: readonly Tool[] = [
  toTool({
    name: 'balance',
    title: 'Credits left',
    description: 'Credits available now. Free.',
    annotations: free,
    takes: {},
    gives: {
      balance: object,
      session: { type: 'object', description: 'what the session may still spend' },
    },
    always: ['balance'],
    run: ({ read, spending, signal }) =>
      read(async (client) => {
        const { text } = await client.balance(signal);
        if (spending === undefined) return [['balance', text]];
        const { limit, spent, reserved } = spending;
        return [
          ['balance', text],
          ['session', JSON.stringify({ max_credits: limit, spent_at_most: spent, under_way: reserved })],
        ];
      }),
  }),
  toTool({
    name: 'task_status',
    title: 'Look at a task',
    description: 'The state of a task: status, ready_count. Free.',
    annotations: free,
    takes: { leads_search_id: string },
    required: ['leads_search_id'],
    gives: { task: object, complete: boolean },
    always: ['task', 'complete'],
    run: ({ read, signal }, { leads_search_id }) =>
      read(async (client) => {
        const id = toTaskId(leads_search_id);
        const { text, value } = await client.status(id, signal);
        const { status: state, ready_count } = value.status;
        return [
          ['task', toStatusRecord(id, text)],
          ['complete', String(isEnded(state))],
          ...(ready_count > 0 ? [['next', '0'] as const] : []),
        ];
      }),
  }),
  toTool({
    name: 'task_fetch',
    title: 'Read the leads of a task',
    description:
      'Leads of a task that are ready. Free. Complete when the task has ended and nothing follows.',
    annotations: free,
    takes: { leads_search_id: string, position, show: { ...show, minimum: 1 }, output },
    required: ['leads_search_id'],
    gives: { leads: list, ...listed, output: string, status: string, complete: boolean },
    always: ['leads', 'count', 'status', 'complete'],
    run: ({ read, context, signal, save }, { leads_search_id, position, show, output }) =>
      read(async (client, settings) => {
        const leadsSearchId = toTaskId(leads_search_id);
        const waiting = { clock: context.clock, random: () => context.random(), signal };
        let next = position as number;
        let last: Page | undefined;
        const readNext = async (num: number): Promise<readonly JsonText[]> => {
          last = await readPage(client, waiting, { leadsSearchId, num, poll: pollOf(settings) }, next);
          next += last.entities.length;
          return last.entities;
        };
        const readAll = async function* () {
          do yield await readNext(limits.fetchNum.max);
          while (last !== undefined && last.entities.length > 0 && next < last.value.ready_count);
        };
        const isToFile = output !== undefined;
        const leads = isToFile ? [] : await readNext(show as number);
        const file = isToFile && (await save(output as string, undefined, readAll()));
        const { value } = last as unknown as Page;
        const { status = 'running', ready_count } = value;
        const { limit } = value;
        return [
          ...(file ? [['output', JSON.stringify(file)] as const] : []),
          ['leads', `[${leads.join(',')}]`],
          ['count', String(ready_count)],
          ...(next < ready_count || !isEnded(status) ? [['next', String(next)] as const] : []),
          ...(limit === undefined ? [] : [['limit', String(limit)] as const]),
          ['status', JSON.stringify(status)],
          ['complete', String(isEnded(status) && next >= ready_count)],
        ];
      }),
  }),
  toTool({
    name: 'history_list',
    title: 'List purchases',
    description: 'What was bought on this machine, newest first: state, cost, operation_id. Free.',
    annotations: here,
    takes: { position, show },
    gives: { purchases: list, next: integer },
    always: ['purchases'],
    async run({ context }, { position, show }) {
      const from = position as number;
      const end = from + (show as number);
      const some: object[] = [];
      let at = 0;
      for await (const { record } of readHistory(context, { newestFirst: true })) {
        if (at >= from && at < end) some.push(record);
        if (++at > end) break;
      }
      return [['purchases', JSON.stringify(some)], ...toNext(from + some.length, at)];
    },
  }),
  toTool({
    name: 'history_show',
    title: 'Read a purchase',
    description: 'Records that a purchase brought. Free.',
    annotations: here,
    takes: { operation_id: string, position, show, output },
    required: ['operation_id'],
    gives: { records: list, ...listed, output: string, complete: boolean },
    always: ['records', 'count', 'complete'],
    async run({ context, signal, save }, { operation_id, position, show, output }) {
      const { state } = context.directories;
      const id = operation_id as string;
      const stored = (await listOperations(state)).includes(id) ? await findStored(state, id) : undefined;
      if (stored === undefined) {
        throw notFound(
          `there is no operation ${id.slice(0, 100)} on this machine`,
          'operation_not_found',
          'See history_list.',
        );
      }
      const last = await readHistoryRecord(state, stored.last);
      const [intent] = stored.first.entries;
      const isToFile = output !== undefined;
      const from = isToFile ? 0 : (position as number);
      const some = await readSome(stored, from, isToFile ? 0 : (show as number), signal);
      if (some === undefined) throw toNothingKept(id, intent.command, last.leads_search_id);
      const { records, count, damaged } = some;
      const file = isToFile && (await save(output as string, intent, stored.read(signal)));
      return [
        ...(file ? [['output', JSON.stringify(file)] as const] : []),
        ['records', `[${records.join(',')}]`],
        ['count', String(count)],
        ...(file ? [] : toNext(from + records.length, count)),
        ['complete', String(last.state === 'complete' && damaged === 0)],
        ['operation_id', JSON.stringify(id)],
      ];
    },
  }),
];

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
