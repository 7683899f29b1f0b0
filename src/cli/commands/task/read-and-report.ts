import { entityLayout, foundLayout } from '../../../columns/entity-layout.ts';
import type { Layout, LayoutOf } from '../../../columns/layout.ts';
import type { Context } from '../../../context.ts';
import { leadLimitOf } from '../../../contract/limits.ts';
import { type CreateTaskRequest, hasEnded } from '../../../contract/types.ts';
import type { Buyer } from '../../../operations/buyer.ts';
import type { FollowedTask } from '../../../operations/kinds/task.ts';
import type { Order } from '../../../operations/order.ts';
import { close, toNoNewLeadsNote, toNothingFoundError, toSaveHint } from '../../messages/closing-line.ts';
import { toTaskCommand } from '../../messages/hints.ts';
import type { ReadOptions } from '../../options/task-options.ts';
import { type Resumes, runAndShow, type Shown } from '../../run-and-show.ts';

type TaskOrder =
  | Order<'task run', CreateTaskRequest>
  | Order<'task wait', { readonly leads_search_id: string }>;

/** Creates a task if it is bought here, reads it to its end, and reports the result. Throws as `run`. */
export async function readAndReport(
  context: Context,
  options: ReadOptions,
  buyer: Buyer,
  order: TaskOrder,
  resumes?: Resumes,
): Promise<FollowedTask | undefined> {
  const request = order.kind === 'task run' ? (order.body as CreateTaskRequest) : undefined;
  const shown: Shown = {
    limit: request && leadLimitOf(request),
    printed: {
      shape: 'list',
      layout:
        request === undefined
          ? taskLayout(options)
          : entityLayout(request.enrich_fields, request.entity_type),
    },
    resumes,
  };
  const reading = (await runAndShow(context, options, buyer, order as Order<'task run'>, shown)) as
    | FollowedTask
    | undefined;
  if (reading === undefined) return undefined;
  reportReading(context, options, reading, request);
  return reading;
}

/** The columns of a task that someone else may have created. A file that rows are added to has its header already. */
export function taskLayout({ append }: ReadOptions): Layout | LayoutOf {
  return append ? entityLayout() : foundLayout;
}

/** Prints the closing line of a task, with the cost if it was bought here. */
export function reportReading(
  context: Context,
  options: ReadOptions,
  reading: FollowedTask,
  request: CreateTaskRequest | undefined,
): void {
  const { leads, excluded, leadsSearchId, list, summary } = reading;
  const { position, readyCount, state, stopReason } = summary;
  const { append: _, ...route } = options;
  const again = toTaskCommand(
    { leadsSearchId, resumeBy: 'fetch', pts: 0, operationId: undefined },
    { options: route },
  );
  const isOver = hasEnded(state);
  const isPast = leads + excluded === 0 && readyCount > 0 && position >= readyCount;
  close(context, options, {
    leads,
    excluded,
    also: isPast ? `${readyCount} are ready, and position ${position} is past them` : undefined,
    state,
    stopReason,
    limit: request && leadLimitOf(request),
    ...(request && { isPaid: true, charged: leads + excluded > 0 ? 'yes' : 'no' }),
    ids: { ...reading, of: 'task', idempotencyKey: reading.bought },
    why: isOver && list ? toNoNewLeadsNote(leads, list) : undefined,
    next: isPast
      ? `To read all of them, for free: ${again}`
      : isOver
        ? toSaveHint(context, options, leads, again)
        : undefined,
  });
}

/** With `--exit-status`, throws if a task delivered no leads. */
export function checkHasLeads(reading: FollowedTask | undefined, options: ReadOptions): void {
  if (reading?.leads === 0 && options.exitStatus) throw toNothingFoundError(reading, options);
}
