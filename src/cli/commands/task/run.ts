import type { Context } from '../../../context.ts';
import { entityTypes } from '../../../contract/types.ts';
import { LeadpipeError } from '../../../errors.ts';
import type { FolderLock } from '../../../files/folder-lock.ts';
import type { Buyer } from '../../../operations/buyer.ts';
import { type Earlier, findEarlier, mayReplay, toWanted } from '../../../operations/earlier.ts';
import { withOperation } from '../../../operations/journal/journal.ts';
import type { Order } from '../../../operations/purchase.ts';
import { runTask } from '../../../operations/task/buy.ts';
import { defineCommand } from '../../command.ts';
import { withConnection } from '../../connect.ts';
import { paidOutcomes } from '../../exit-codes.ts';
import { tellEarlier, timeOf, toRepeated } from '../../messages/earlier-runs.ts';
import { createNotes } from '../../messages/status-line.ts';
import {
  createEntityArguments,
  createEntityOptions,
  type ListOptions,
  leadColumns,
  leadShape,
  listOptions,
  toListTerms,
} from '../../options/entity-search.ts';
import { toFormat } from '../../options/options.ts';
import { printedAs, toBuyer, toOrder } from '../../records/orders.ts';
import { openOutput, withHeldOutput } from '../../records/record-output.ts';
import {
  checkFound,
  checkPositions,
  enableWebSearch,
  type FollowOptions,
  readingOptions,
  readTaskRequest,
  runReading,
  type TaskRequestOptions,
  toReadTerms,
  waitingOptions,
} from './options.ts';
import { goOnWithTask } from './resume.ts';

interface TaskRunOptions extends TaskRequestOptions, FollowOptions, ListOptions {}

export const createTaskRun = defineCommand({
  name: 'run',
  summary: 'create a task and write its leads until it ends',
  description: 'Creates a task, waits for it, and writes its leads as they become ready, until it ends.',
  arguments: createEntityArguments(entityTypes),
  options: [...createEntityOptions([enableWebSearch, ...listOptions]), ...waitingOptions, ...readingOptions],
  takes: ['records', 'paid', 'connection'],
  examples: [
    'leadpipe task run company "dental clinics in Austin" --local -o clinics.csv',
    'leadpipe task run xiaohongshu "skin care" --enable-web-search --local',
  ],
  output: [
    'one lead on each line (jsonl), as the service sent it, sorted by position:',
    ...leadShape,
    ...leadColumns,
  ],
  outcomes: [...paidOutcomes, 'partial'],
  async run(context, entityType: string, objective: string, options: TaskRunOptions) {
    const request = await readTaskRequest(context, entityType, objective, options);
    const { dryRun, num, positions } = options;
    await withConnection(context, options, async (connection) => {
      const { settings } = connection;
      const buyer = toBuyer(context, options, connection);
      if (!dryRun) checkPositions(options, toFormat(options, context.stdout.isTerminal, settings.format));
      const shaped = { positions, num };
      const order = {
        ...toOrder(context, options, connection, 'task run', request, shaped),
        list: toListTerms(options),
      };
      await withHeldOutput(context, options, async (lock) => {
        const earlier = await findEarlier(buyer, toWanted(buyer, order));
        if (earlier.is === 'go_on' && (await goOnInstead(context, options, buyer, earlier, lock))) return;
        if (earlier.is === 'new') tellEarlier(context, options, earlier);
        const printed = { ...printedAs('task run', request), settings, lock };
        const operation = runTask(
          buyer,
          withEarlierKey(context, options, order, earlier),
          () => openOutput(context, options, printed),
          toReadTerms(options, settings),
        );
        checkFound(await runReading(context, options, operation, { request, prices: settings }), options);
      });
    });
  },
});

/** A creation whose answer was lost is sent again with its key; it is followed as this run asks. */
function withEarlierKey(
  context: Context,
  options: TaskRunOptions,
  order: Order<'task run'>,
  earlier: Earlier,
): Order<'task run'> {
  if (earlier.is !== 'repeat') return order;
  const { again } = toRepeated(context, options, order, earlier);
  return { ...order, idempotencyKey: again?.entries[0].idempotency_key };
}

/** Goes on with what was left of the same run; false where the service does not know its task any more. */
async function goOnInstead(
  context: Context,
  options: TaskRunOptions,
  buyer: Buyer,
  { isOurs, operation }: Extract<Earlier, { is: 'go_on' }>,
  lock: FolderLock | undefined,
): Promise<boolean> {
  const { operationId, entries } = operation;
  const { say, warn } = createNotes(context, options);
  const isNamed = entries.some(({ type }) => type === 'created');
  const mayBuyAgain = !isNamed && !mayReplay(entries[0].time, context.clock.now());
  const free = mayBuyAgain ? '' : ' You are not charged again.';
  say(`Resuming ${operationId} (the same task, unfinished since ${timeOf(context, operation)}).${free}`);
  if (mayBuyAgain) {
    warn(
      'leadpipe never got the ID of this task, more than 24 hours ago. It sends the same request again; if the service no longer knows it, you pay for a new task',
    );
  }
  return await withOperation(context, operationId, async (journal, found) => {
    try {
      const going = { isOurs, lock, replayCreate: true };
      await goOnWithTask(buyer, context, options, journal, found, going);
      return true;
    } catch (error) {
      if (!(error instanceof LeadpipeError) || error.outcome !== 'not_found') throw error;
      warn(`${error.words}. A new task is created, and charged`);
      await journal.append({ type: 'terminal', outcome: 'not_found', state: null, ready_count: null });
      return false;
    }
  });
}
