import { digestOf } from '../digest.ts';
import { type Facts, LocalIoError, outputChanged } from '../errors.ts';
import { completeAddition } from '../files/addition.ts';
import { realPathOf } from '../files/target.ts';
import { entry } from './journal/entries.ts';
import type { IndexContext, Reader } from './journal/operation-index.ts';
import { type Operation, readOperation, withOperation } from './operation.ts';
import { digestsOf } from './order-digests.ts';

/**
 * If the last run of this file was killed while it added rows, adds the rest, so that each row is there once. Where this machine's records
 * can't be read, nothing is known of such a run. The caller holds the lock of the file. Throws LocalIoError.
 */
export async function completeAdditionTo(
  context: IndexContext,
  { journals, openIndex }: Reader,
  output: string,
): Promise<void> {
  const digest = digestOf(await realPathOf(output));
  const index = await openIndex().catch(() => undefined);
  for (const line of index?.find('output', digest) ?? []) {
    // A journal that can't be read is reported elsewhere.
    const operation = await readOperation(journals, line.op).catch(() => undefined);
    if (operation === undefined) continue;
    const { adding } = operation.progress;
    if (adding === undefined) return;
    return await withOperation(context, operation.operationId, async (journal) => {
      const complete =
        adding.note === undefined
          ? completeAddition
          : (await import('../files/database-rows.ts')).completeDatabaseAddition;
      const isDone = (await complete(output, adding, journal)) === 'done';
      if (isDone) await journal.append(entry.placed());
    });
  }
}

/** The last operation that opened this operation's output after it: the output holds that one's rows now. Undefined where there is none. */
export async function replacedBy(
  { journals, openIndex }: Reader,
  { intent, operationId }: Operation,
): Promise<string | undefined> {
  const { output = '' } = await digestsOf(intent);
  for (const line of (await openIndex()).find('output', output)) {
    const { op } = line;
    // A journal that can't be read may belong to an operation that opened it.
    const hasOpened =
      line.is === 'opened' ||
      (await readOperation(journals, op).then(
        (one) => one?.progress.hasOpened === true,
        () => true,
      ));
    if (hasOpened) return op === operationId ? undefined : op;
  }
  return undefined;
}

/**
 * Whether the .part holds rows of this operation. Throws LocalIoError, with `elsewhere`, where a later operation has written the output
 * again: its rows would be lost.
 */
export async function isPartOf(reader: Reader, operation: Operation, elsewhere: Facts): Promise<boolean> {
  const { options, output } = operation.terms;
  const later = await replacedBy(reader, operation);
  // A run that adds rows leaves the existing ones in place.
  if (later === undefined || options.append === true) return later === undefined;
  const words = `${output} has rows of a later operation, ${later}`;
  throw new LocalIoError(words, { type: outputChanged, charged: 'no', facts: elsewhere });
}
