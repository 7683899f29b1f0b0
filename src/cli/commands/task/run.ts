import { Command } from 'commander';
import type { Context } from '../../../context.ts';
import type { FolderLock } from '../../../files/folder-lock.ts';
import { withOutputLock } from '../../../files/output-lock.ts';
import { toDamageLine } from '../../../operations/journal/journal.ts';
import type { Order, Shop } from '../../../operations/purchase.ts';
import { findEarlierRun } from '../../../operations/task/earlier.ts';
import { runTask } from '../../../operations/task/run.ts';
import { withConnection } from '../../connect.ts';
import { paidOutcomes } from '../../exit-codes.ts';
import { addHelp, type CommandHelp } from '../../help.ts';
import { toNothingFound } from '../../messages/closing-line.ts';
import { createNotes } from '../../messages/notes.ts';
import { addListOptions, type ListOptions, toListTerms } from '../../options/entity-search.ts';
import { openOutput, toOrder, toShop } from '../../records/orders.ts';
import { completePending } from '../../records/pending-addition.ts';
import { printedAs } from '../../records/printed-as.ts';
import { fileOf, toFormat } from '../../records/record-output.ts';
import {
  addFollowOptions,
  checkPositions,
  createTaskListener,
  type FollowOptions,
  toReadTerms,
} from './options.ts';
import {
  addTaskCallOptions,
  addTaskSearchOptions,
  readTaskRequest,
  type TaskRequestOptions,
} from './request.ts';
import { goOnInstead } from './resume.ts';
import { withUnansweredKey } from './unanswered.ts';

interface TaskRunOptions extends TaskRequestOptions, FollowOptions, ListOptions {}

const help: CommandHelp = {
  examples: [
    'leadpipe task run company "dental clinics in Austin" --local -o clinics.csv',
    'leadpipe task run xiaohongshu "skin care" --enable-web-search --local',
  ],
  output: [
    'one lead on each line (jsonl), as the service sent it, sorted by position:',
    '{"name":"…","links":{"website":"…"},"description":"…",',
    ' "score":{"score":"…","reason":"…"}}',
    'csv: name,description,score,score_reason,website,linkedin_url,links, then',
    '     <field>,<field>_reference for each of --enrich-fields',
  ],
  outcomes: [...paidOutcomes, 'partial'],
};

export function createTaskRunCommand(context: Context): Command {
  const command = new Command('run')
    .summary('create a task and write its leads until it ends')
    .description('Creates a task, waits for it, and writes its leads as they become ready, until it ends.');
  addFollowOptions(addListOptions(addTaskSearchOptions(command)));
  return addHelp(addTaskCallOptions(command), help).action(
    (entityType: string, objective: string, given: TaskRunOptions) =>
      runTaskRun(context, entityType, objective, given),
  );
}

async function runTaskRun(
  context: Context,
  entityType: string,
  objective: string,
  options: TaskRunOptions,
): Promise<void> {
  const request = await readTaskRequest(context, entityType, objective, options);
  const { dryRun, num, positions } = options;
  await withConnection(context, options, async (connection) => {
    const shop = toShop(context, options, connection);
    if (!dryRun)
      checkPositions(options, toFormat(options, context.stdout.isTerminal, connection.settings.format));
    const shaped = { positions, num };
    const order = {
      ...toOrder(context, options, connection, 'task run', request, shaped),
      list: toListTerms(options),
    };
    const file = dryRun ? undefined : fileOf(options);
    if (file === undefined)
      return await create(context, options, shop, await withUnansweredKey(context, options, shop, order));
    await withOutputLock(context, file, (lock) => runInto(context, options, shop, order, file, lock));
  });
}

/** The same run into the same file goes on with what was left of it. */
async function runInto(
  context: Context,
  options: TaskRunOptions,
  shop: Shop,
  order: Order<'task run'>,
  file: string,
  lock: FolderLock | undefined,
): Promise<void> {
  const notes = createNotes(context, options);
  const { isSameFile } = await import('../../../files/target.ts');
  const earlier = await findEarlierRun(shop, order, {
    isSame: (other) => isSameFile(file, other),
    damaged: (error) => notes.warn(toDamageLine(error)),
  });
  const shaped = order.terms.options;
  if (earlier !== undefined && (await goOnInstead(shop, context, options, earlier, shaped, lock))) return;
  if (options.append && lock !== undefined) await completePending(context, file);
  const { settings } = shop.connection;
  const open = openOutput(context, options, { ...printedAs('task run', order.body), settings, lock });
  await create(context, options, shop, { ...order, open });
}

async function create(
  context: Context,
  options: TaskRunOptions,
  shop: Shop,
  order: Order<'task run'>,
): Promise<void> {
  const bought = { request: order.body, prices: shop.connection.settings };
  const listener = createTaskListener(context, options, bought);
  const reading = await runTask(shop, order, toReadTerms(options, shop.connection.settings), listener);
  if (reading?.leads === 0 && options.exitStatus)
    throw toNothingFound(reading, options, reading.excluded > 0 ? 'no new leads were found' : undefined);
}
