import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { StoreContext } from '../../context.ts';
import { codeOf } from '../../files/error-code.ts';
import { withFolderLock } from '../../files/folder-lock.ts';
import { checkedLines, notStored, toCheckedLine } from '../../files/line-log.ts';
import { writeAtomically } from '../../files/whole-file.ts';
import { readFailure } from '../../files/write-failure.ts';

/** The data of a purchase that stays when its record is removed, for totals by month: neither its request nor its results. */
export interface PastPurchase {
  readonly op: string;
  readonly time: string;
  /** As the history shows it, such as `contact email`, and the kind of the operation. */
  readonly command: string;
  readonly kind: string;
  readonly list: string | null;
  readonly profile: string | null;
  readonly service: string;
  readonly state: string;
  readonly leads: number | null;
  readonly found?: number | null;
  readonly not_found?: number | null;
  readonly credits_before?: number | null;
  readonly credits_after?: number | null;
  readonly charged: 'no' | 'maybe' | 'yes' | null;
  readonly credits_at_most: number | null;
  /** Whether the service has ended it. */
  readonly is_settled?: boolean;
}

const what = 'the costs of past purchases';

/** Not a part of the index, which is rebuilt from the journals: these purchases no longer have a journal. */
export function fileOfPast(stateDir: string): string {
  return join(stateDir, 'past', 'purchases.jsonl');
}

/** The purchases whose records were removed, oldest first. `damaged` counts lines that can't be read. Throws LocalIoError. */
export async function readPast(stateDir: string): Promise<{ purchases: PastPurchase[]; damaged: number }> {
  const path = fileOfPast(stateDir);
  const text = await readFile(path, 'utf8').catch((error: unknown) => {
    if (codeOf(error) === 'ENOENT') return '';
    throw readFailure(path, error);
  });
  const lines = checkedLines(text).map((one) =>
    one?.member === 'purchase' ? (JSON.parse(one.text) as PastPurchase) : undefined,
  );
  const purchases = lines.filter((one) => one !== undefined);
  return { purchases, damaged: lines.length - purchases.length };
}

/** Adds purchases, and removes those that are `old`. Everything is on the disk when it resolves. Throws LocalIoError. */
export async function addPast(
  context: StoreContext,
  added: readonly PastPurchase[],
  old: (one: PastPurchase, all: readonly PastPurchase[]) => boolean,
): Promise<void> {
  const { state } = context.directories;
  const path = fileOfPast(state);
  await withFolderLock(join(state, 'past'), context, what, async (lock) => {
    const { damaged, purchases } = await readPast(state);
    const known = new Set(purchases.map(({ op }) => op));
    const all = [...purchases, ...added.filter(({ op }) => !known.has(op))];
    const kept = all.filter((one) => !old(one, all));
    if (kept.length === purchases.length && all.length === purchases.length && damaged === 0) return;
    await writeAtomically(
      path,
      kept.map((one) => toCheckedLine('purchase', JSON.stringify(one))).join(''),
      what,
      lock,
    );
  }).catch((error: unknown) => {
    throw notStored(what, path, error);
  });
}
