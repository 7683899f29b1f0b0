import { rm } from 'node:fs/promises';
import { digestOf } from '../digest.ts';
import type { Addition } from '../files/addition.ts';
import { statOrNothing, targetOf } from '../files/target.ts';
import type { Records } from '../json/text.ts';
import type { Delivery, OpenDelivery } from './delivery.ts';
import { entry, type JournalEntry } from './journal/entries.ts';
import { openReceived, readReceived, throwDamaged } from './journal/received.ts';
import { kindOf } from './kinds/kinds.ts';
import type { Plan, Run } from './run-state.ts';

export type Output = ReturnType<typeof createOutput>;

/** Minimum interval between `printed` entries, in milliseconds: a stream can bring a hundred batches in a second. */
const printedMs = 1000;

/**
 * The output of a run, which is printed from what is stored: opened, given what earlier runs have received, written, put into its place. `note` writes into
 * the journal what survives this process.
 */
export function createOutput(
  run: Pick<Run, 'append' | 'buyer' | 'folder' | 'journal' | 'operation' | 'operationId' | 'order'> & {
    received: Run['received'];
  },
  open: OpenDelivery,
  note: (entry: JournalEntry) => void,
) {
  const { buyer, operation, order } = run;
  const { clock, directories } = buyer.context;
  let delivery: Delivery | undefined;
  let printed = operation?.progress.printed ?? 0;
  let [notedAt, noted] = [Number.NEGATIVE_INFINITY, printed];
  let placed: string | undefined;

  const opened = (): Delivery => {
    if (delivery === undefined) throw new Error('the output is not open');
    return delivery;
  };

  async function announce(file: string): Promise<void> {
    if (run.operationId === undefined) return;
    note(entry.part(file));
  }

  async function deliver(records: Records): Promise<void> {
    const to = opened();
    if (records.length > 0) await to.write(records);
    if (!to.isPipe) return;
    printed += records.length;
    const now = clock.monotonic();
    if (now - notedAt >= printedMs) notePrinted(now);
  }

  /** If this can't be written, some records may be printed twice, which does no harm. */
  function notePrinted(now = 0): void {
    if (run.operationId === undefined || printed === noted) return;
    try {
      note(entry.printed(printed));
      [notedAt, noted] = [now, printed];
    } catch {
      notedAt = Number.POSITIVE_INFINITY;
    }
  }

  /** Prints the stored records; standard output gets only those that it lacks. Returns the state of their file. */
  async function printReceived(
    folder: string,
    { stored = Number.POSITIVE_INFINITY, toPrinted }: Pick<Plan<unknown>, 'stored' | 'toPrinted'>,
  ) {
    let left = opened().isPipe ? printed : 0;
    let from = 0;
    const reading = readReceived(folder, throwDamaged, stored);
    for (;;) {
      const step = await reading.next();
      if (step.done) return step.value;
      const all = toPrinted?.(step.value, from) ?? step.value.flatMap((one) => (one.isNew ? [one.text] : []));
      from += step.value.length;
      const rest = all.slice(left);
      left = Math.max(0, left - all.length);
      if (rest.length > 0) await deliver(rest);
    }
  }

  /** The real path of the file, if the operation has added its rows to it; otherwise undefined. */
  async function addedBefore(): Promise<string | undefined> {
    const { options, output } = order.terms;
    if (options.append !== true || output === null || operation === undefined) return undefined;
    const target = await targetOf(output);
    const last = operation.additions.findLast((addition) => addition.output === target);
    return last !== undefined && (await isIn(last, directories.state)) ? target : undefined;
  }

  async function putInPlace(isPartial: boolean | undefined): Promise<string | undefined> {
    const added = await addedBefore();
    if (added === undefined) {
      return await opened().finish(isPartial, async (addition) => {
        if (addition === undefined) run.journal.confirm();
        else await run.append(entry.adding(addition));
      });
    }
    await removeFiles([await opened().cut()]);
    return added;
  }

  return {
    opened,
    deliver,
    isAddedBefore: async () => (await addedBefore()) !== undefined,
    async open(): Promise<void> {
      delivery = await open(run.operationId, announce);
    },
    /** Prints the records of earlier runs, and opens their file for more. */
    async printStored(planned: Plan<unknown>): Promise<void> {
      const { folder, journal } = run;
      const keeps = kindOf(order.kind)?.keeps;
      if (folder === undefined || (keeps !== 'leads' && keeps !== 'answer')) return;
      const known = operation && keeps === 'leads' ? await printReceived(folder, planned) : undefined;
      run.received = await openReceived(folder, journal, known);
      // This run's own file has all of that now.
      if (known !== undefined && !opened().isPipe) await removeFiles(operation?.files ?? []);
    },
    async place(isPartial?: boolean): Promise<void> {
      const target = await putInPlace(isPartial);
      placed = target && digestOf(target);
      await removeFiles(operation?.files ?? []);
    },
    async keep(): Promise<string | undefined> {
      const kept = await opened().cut();
      const sizes = await Promise.all([kept, ...(operation?.files ?? [])].map(sizeOf));
      const [own = 0, ...others] = sizes;
      await removeFiles(operation?.files.filter((_, at) => (others[at] ?? 0) <= own) ?? []);
      return kept;
    },
    /** The entry for the output that was put in place, once. */
    takeEntries(): JournalEntry[] {
      const taken = placed === undefined ? [] : [entry.placed(placed)];
      placed = undefined;
      return taken;
    },
    async close(): Promise<void> {
      if (delivery?.isPipe) notePrinted();
      await delivery?.cut();
    },
  };
}

/** Whether these rows are in their file. */
async function isIn(addition: Addition, stateDir: string): Promise<boolean> {
  const { isAdded } = await import('../files/addition.ts');
  if (await isAdded(addition)) return true;
  if (addition.note === undefined) return false;
  const { folderOfDatabases, hasNote } = await import('../files/database-rows.ts');
  return await hasNote(addition.output, addition.note, folderOfDatabases(stateDir));
}

/** Bytes; 0 where there is no such file. */
async function sizeOf(file: string | undefined): Promise<number> {
  const found = file === undefined ? undefined : await statOrNothing(file).catch(() => undefined);
  return found?.size ?? 0;
}

/** Removes files that runs of an operation have made beside their outputs, and which no other run uses. */
export async function removeFiles(files: readonly (string | undefined)[]): Promise<void> {
  // A file that can't be removed does no harm.
  for (const file of files) if (file !== undefined) await rm(file, { force: true }).catch(() => undefined);
}
