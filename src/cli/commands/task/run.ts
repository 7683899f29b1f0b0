import type { Context } from '../../../context.ts';
import { entityTypes } from '../../../contract/types.ts';
import { LeadpipeError } from '../../../errors.ts';
import type { HeldLock } from '../../../files/folder-lock.ts';
import type { Buyer } from '../../../operations/buyer.ts';
import { type Earlier, mayReplay } from '../../../operations/earlier.ts';
import { withOperation } from '../../../operations/journal/journal.ts';
import { runTask } from '../../../operations/task/buy.ts';
import { defineCommand } from '../../command.ts';
import { paidOutcomes } from '../../exit-codes.ts';
import { timeOf } from '../../messages/earlier-runs.ts';
import { createNotes } from '../../messages/status-line.ts';
import {
  createEntityArguments,
  createEntityOptions,
  enableWebSearch,
  type ListOptions,
  leadColumns,
  leadShape,
  listOptions,
  readTaskRequest,
  type TaskRequestOptions,
  toListTerms,
} from '../../options/entity-search.ts';
import { type Purchase, type PurchaseOptions, withPurchase } from '../../records/orders.ts';
import { checkFound, runReading } from './read-and-report.ts';
import { type FollowOptions, readingOptions, toReadTerms, waitingOptions } from './reading-options.ts';
import { goOnWithTask } from './resume.ts';

interface RunOptions extends PurchaseOptions, FollowOptions, TaskRequestOptions, ListOptions {}

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
  run: runTaskRun,
});

async function runTaskRun(
  context: Context,
  entityType: string,
  objective: string,
  options: RunOptions,
): Promise<void> {
  const request = await readTaskRequest(context, entityType, objective, options);
  const { num, positions } = options;
  const terms = { list: toListTerms(options), more: { positions, num } };
  const buying = async ({ buyer, order, open, earlier, lock }: Purchase<'task run'>) => {
    const { settings } = buyer.connection;
    if (earlier.is === 'go_on' && (await goOnInstead(context, options, buyer, earlier, lock))) return;
    // A creation whose answer was lost is sent again with its key, and followed in the way that this run asks for.
    const idempotencyKey = order.again?.intent.idempotency_key ?? order.idempotencyKey;
    const anew = { ...order, idempotencyKey, again: undefined };
    const operation = runTask(buyer, anew, open, toReadTerms(options, settings));
    checkFound(await runReading(context, options, operation, { request, prices: settings }), options);
  };
  await withPurchase(context, options, 'task run', request, buying, terms);
}

/** Resumes what was left of the same run. False where the service no longer knows its task. */
async function goOnInstead(
  context: Context,
  options: RunOptions,
  buyer: Buyer,
  { isOurs, operation }: Extract<Earlier, { is: 'go_on' }>,
  lock: HeldLock,
): Promise<boolean> {
  const { operationId, intent, progress } = operation;
  const { say, warn } = createNotes(context, options);
  const mayBuyAgain = !progress.isNamed && !mayReplay(intent.time, context.clock.now());
  const free = mayBuyAgain ? '' : ' You are not charged again.';
  say(`Resuming ${operationId} (the same task, unfinished since ${timeOf(context, operation)}).${free}`);
  if (mayBuyAgain) {
    warn(
      'leadpipe never got the ID of this task, more than 24 hours ago. It sends the same request again; if the service no longer knows it, you pay for a new task',
    );
  }
  return await withOperation(context, operationId, async (journal, found) => {
    try {
      await goOnWithTask(context, { ...options, replayCreate: true }, buyer, journal, found, isOurs, lock);
      return true;
    } catch (error) {
      if (!(error instanceof LeadpipeError) || error.outcome !== 'not_found') throw error;
      warn(`${error.words}. A new task is created, and charged`);
      await journal.append({ type: 'terminal', outcome: 'not_found', state: null, ready_count: null });
      return false;
    }
  });
}
