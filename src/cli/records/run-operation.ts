import type { Context } from '../../context.ts';
import { type OperationEvent, type Running, runToEnd, type Stage } from '../../operations/events.ts';
import { RequestError } from '../../transport/errors.ts';
import { toWaitReason } from '../connect.ts';
import { createNotes, toCounted, withStatus } from '../messages/status-line.ts';
import type { ConnectionOptions } from '../options/options.ts';
import { printPreview } from './preview.ts';

interface Shown {
  /** What to show while the user waits for one answer. */
  readonly asking?: string;
  /** How many leads were asked for. */
  readonly most?: number | undefined;
  /** What the command does with an event, in addition. */
  readonly on?: ((event: OperationEvent) => void) | undefined;
}

/** Runs an operation, and shows its progress on stderr. Throws as the operation does. */
export async function runOperation<T>(
  context: Context,
  options: ConnectionOptions,
  operation: Running<T>,
  { asking = '', most, on }: Shown = {},
): Promise<T> {
  const { warn } = createNotes(context, options);
  const labels: Readonly<Record<Stage, string>> = {
    asking,
    searching: 'searching',
    creating: 'creating the task',
    waiting: 'waiting',
    fetching: 'fetching',
  };
  let stage: Stage | undefined;
  let label = '';
  let leads = 0;
  const show = (event: OperationEvent): void => {
    if (event.is === 'stage') {
      stage = event.stage;
      label = labels[stage];
    } else if (event.is === 'delivered') leads += event.records;
    else if (event.is === 'task_seen') label = `task ${event.state}, ${event.readyCount} ready`;
    else if (event.is === 'stumbled') {
      const { fault } = event;
      const line = `trying again: ${fault instanceof RequestError ? toWaitReason(fault) : fault.message}`;
      // On a terminal, the status line shows it.
      if (context.stderr.isTerminal) label = line;
      else warn(line);
    } else if (event.is === 'warning') warn(event.line);
    else if (event.is === 'preview') printPreview(context, options, event);
    // Nobody waits for what follows.
    else if (event.is === 'ended') context.run.statusLine?.hush();
    on?.(event);
  };
  const text = (seconds: number): string | undefined =>
    stage && toCounted({ unit: 'lead', most }, leads, label, seconds);
  return await withStatus(context, options, text, (update) =>
    runToEnd(operation, (event) => {
      show(event);
      update();
    }),
  );
}
