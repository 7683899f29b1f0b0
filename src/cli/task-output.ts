import type { Connection } from '../connection/connection.ts';
import type { Context } from '../context.ts';
import { LeadpipeError } from '../errors.ts';
import type { Journal } from '../operations/journal/journal.ts';
import type { Layout, LayoutOf } from '../output/columns.ts';
import type { Format } from '../output/writer.ts';
import type { ConnectionOptions, RecordOptions } from './options.ts';
import { type Printed, type RecordOutput, withOutput } from './record-output.ts';
import type { TaskReadOptions } from './task-options.ts';

/** Pure: what the journal has to know beyond the usual, so that the output can be gone on with as it was begun. */
export function toTaskIntentOptions(
  { output, positions, num }: RecordOptions & TaskReadOptions,
  format: Format,
): Record<string, unknown> {
  // What a profile or an extension decided may be decided otherwise later; standard output may be another one.
  const inFile = output !== undefined && output !== '-';
  return { ...(inFile ? { format } : {}), positions, num };
}

/** As `withOutput`. An output that can't be opened ends the operation, of which nothing has been sent. */
export async function withFirstOutput(
  context: Context,
  options: ConnectionOptions & RecordOptions,
  layout: Layout | LayoutOf,
  { settings }: Connection,
  journal: Journal,
  work: (output: RecordOutput) => Promise<void>,
): Promise<void> {
  const kind = { shape: 'list', layout, settings } as const;
  await withOutputOr(context, options, kind, work, async (error) => {
    await journal
      .append({
        type: 'terminal',
        outcome: error instanceof LeadpipeError ? error.outcome : 'bug',
        state: null,
        ready_count: null,
        charged: 'no',
        leads: 0,
      })
      // The output is what the user named, and is told about.
      .catch(() => undefined);
    return error;
  });
}

/** As `withOutput`; `unopened` turns what is thrown before `work` begins into the error to throw. */
export async function withOutputOr(
  context: Context,
  options: ConnectionOptions & RecordOptions,
  kind: Printed,
  work: (output: RecordOutput) => Promise<void>,
  unopened: (error: unknown) => Promise<unknown>,
): Promise<void> {
  let opened = false;
  try {
    await withOutput(context, options, kind, (output) => {
      opened = true;
      return work(output);
    });
  } catch (error) {
    throw opened ? error : await unopened(error);
  }
}
