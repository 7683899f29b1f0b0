import { toStatusRecord } from '../answers.ts';
import type { Page } from '../client.ts';
import { toPollTimes } from '../config/defaults.ts';
import { limits } from '../contract/limits.ts';
import { hasEnded } from '../contract/types.ts';
import { LeadpipeError } from '../errors.ts';
import type { JsonText } from '../json/text.ts';
import { isTask } from '../operations/kinds/kinds.ts';
import { readPage, toUnread } from '../operations/kinds/task-follow.ts';
import { readKnown } from '../operations/known-operations.ts';
import type { Operation } from '../operations/operation.ts';
import { readHistory, readHistoryRecord } from '../operations/report/history.ts';
import { isStored, readStored, sliceOf } from '../operations/stored-records.ts';
import { checkText } from '../requests/within-limits.ts';
import { toAgentValue } from './agent-json.ts';

import { boolean, type FreeRow, integer, list, listed, object, show, string } from './tool.ts';

const free = { readOnlyHint: true, openWorldHint: true } as const;
const here = { readOnlyHint: true, openWorldHint: false } as const;
const position = {
  type: 'integer',
  minimum: 0,
  default: 0,
  description: 'records to skip: `next` of the last result',
} as const;
const output = {
  type: 'string',
  description: 'write all to this new file: leads.csv, .jsonl, .xlsx',
} as const;

export const freeTools: readonly FreeRow[] = [
  {
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
    run: ({ read, options, signal }) =>
      read(async (client) => {
        const balance = toAgentValue((await client.balance(signal)).text);
        if (options.spending === undefined) return { balance };
        const { limit, spent, reserved } = options.spending;
        return { balance, session: { max_credits: limit, spent_at_most: spent, reserved } };
      }),
  },
  {
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
        const { status, ready_count } = value.status;
        return {
          task: toAgentValue(toStatusRecord(id, text)),
          complete: hasEnded(status),
          next: ready_count > 0 ? 0 : undefined,
        };
      }),
  },
  {
    name: 'task_fetch',
    title: 'Read the leads of a task',
    description:
      'Leads of a task that are ready. Free. Complete when the task has ended and all leads are read.',
    annotations: free,
    takes: { leads_search_id: string, position, show: { ...show, minimum: 1 }, output },
    required: ['leads_search_id'],
    gives: { leads: list, ...listed, output: string, status: string, complete: boolean },
    always: ['leads', 'count', 'status', 'complete'],
    run: ({ read, context, signal, options }, { leads_search_id, position, show, output }) =>
      read(async (client, connection) => {
        const leadsSearchId = toTaskId(leads_search_id);
        const waiting = { clock: context.clock, random: context.random, signal };
        const poll = toPollTimes(connection.settings);
        let next: number = position;
        let last: Page['value'] | undefined;
        const readNext = async (num: number): Promise<readonly JsonText[]> => {
          const page = await readPage(client, waiting, { leadsSearchId, num, poll }, next);
          last = page.value;
          next += page.entities.length;
          return page.entities;
        };
        const readAll = async function* () {
          let some: readonly JsonText[];
          do {
            some = await readNext(limits.fetchNum.max);
            yield some;
          } while (some.length > 0 && next < (last?.ready_count ?? 0));
        };
        const file = output === undefined ? undefined : await options.save(output, undefined, readAll());
        const leads = output === undefined ? await readNext(show) : [];
        const { status = 'running', ready_count = 0, limit }: Partial<Page['value']> = last ?? {};
        const isWhole = hasEnded(status) && next >= ready_count;
        const summary = { ...toUnread(next), readyCount: ready_count, state: status };
        const { settleCreation } = await import('../operations/kinds/task-reading.ts');
        // An error here must not hide the leads.
        await settleCreation({ connection, context }, { leadsSearchId, summary }).catch(() => undefined);
        return {
          output: file,
          leads: leads.map(toAgentValue),
          count: ready_count,
          next: isWhole ? undefined : next,
          limit,
          status,
          complete: isWhole,
        };
      }),
  },
  {
    name: 'history_list',
    title: 'List purchases',
    description: 'What was bought on this machine, newest first: state, cost, operation_id. Free.',
    annotations: here,
    takes: { position, show },
    gives: { purchases: list, next: integer },
    always: ['purchases'],
    async run({ context }, { position, show }) {
      const purchases: object[] = [];
      let at = 0;
      for await (const { record } of readHistory(context)) {
        if (at === position + show) return { purchases, next: at };
        if (at++ >= position) purchases.push(record);
      }
      return { purchases };
    },
  },
  {
    name: 'history_show',
    title: 'Read a purchase',
    description: 'Records of a purchase. Free.',
    annotations: here,
    takes: { operation_id: string, position, show, output },
    required: ['operation_id'],
    gives: { records: list, ...listed, output: string, complete: boolean },
    always: ['records', 'count', 'complete'],
    async run({ context, signal, options }, { operation_id, position, show, output }) {
      const operation = await readKnown(context, operation_id);
      const record = await readHistoryRecord(operation);
      let damaged = 0;
      const all = readStored(operation, signal, () => damaged++);
      const [from, max] = output === undefined ? [position, show] : [0, 0];
      if (!(await isStored(operation))) throw toNothingStoredError(operation, record.leads_search_id);
      const { records, count } = await sliceOf(all, from, max);
      const next = from + records.length;
      const saved = () => options.save(output, operation.intent, readStored(operation, signal));
      return {
        output: output === undefined ? undefined : await saved(),
        records: records.map(toAgentValue),
        count,
        next: output === undefined && next < count ? next : undefined,
        complete: record.state === 'complete' && damaged === 0,
        operation_id,
      };
    },
  },
];

function toTaskId(given: string): string {
  return checkText(limits.leadsSearchId, 'leads_search_id', given.trim());
}

function toNothingStoredError({ operationId, intent }: Operation, leadsSearchId: string | null) {
  const isElsewhere = isTask(intent.command) && leadsSearchId !== null;
  const [words, hint] = isElsewhere
    ? [
        `the leads of ${operationId} are at the service, not here`,
        `To read them, for free: task_fetch ${leadsSearchId}`,
      ]
    : [
        `nothing is stored for ${operationId}: the purchase found nothing, or is too old`,
        'See history_list.',
      ];
  return new LeadpipeError('not_found', words, { type: 'not_kept', hint });
}
