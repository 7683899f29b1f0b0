import { requests } from '../../client.ts';
import type { LeadpipeError } from '../../errors.ts';
import { readOperations, type StoredOperation } from '../journal/journal.ts';
import { isSameBuyer, type Order, type Shop } from '../purchase.ts';
import { toTaskProgress, unfinishedTasks } from './progress.ts';

/** Asked about the output that is wanted, and told of what can't be read. */
export interface EarlierListener {
  /** Whether this is the same file. */
  isSame(output: string): Promise<boolean>;
  damaged(error: LeadpipeError): void;
}

/** An unfinished run that is gone on with. */
export interface EarlierRun {
  readonly operation: StoredOperation;
  /** Whether its file was begun with other columns, or in another format. */
  readonly isOtherForm: boolean;
}

/**
 * The unfinished run of the same purchase into the same file, which is gone on with instead of buying again; undefined where
 * there is none. What can't be read is no reason to stop. Throws LocalIoError.
 */
export async function findEarlierRun(
  shop: Shop,
  order: Order<'task run'>,
  { isSame, damaged }: EarlierListener,
): Promise<EarlierRun | undefined> {
  const { keep, terms } = order;
  if (!keep || terms.output === null) return undefined;
  const { operations, damages } = await readOperations(shop.context.directories.state);
  for (const damage of damages) damaged(damage);
  const unfinished = unfinishedTasks(operations);
  for (const operation of operations.toReversed()) {
    const [{ output, options }, ...rest] = operation.entries;
    const isLeft = unfinished.includes(operation);
    const isSent = rest.some(({ type }) => type === 'sent');
    if (output === null || !(isLeft || isSent) || !(await isSame(output))) continue;
    const isAppended = (options.append === true) === (terms.options.append === true);
    if (isLeft && isAppended && isSamePurchase(shop, order, operation)) {
      const { intent } = toTaskProgress(operation);
      return { operation, isOtherForm: toComparable(terms.options) !== toComparable(intent.options) };
    }
    // To a file that rows are added to, others may have added since; a .part is of the last run.
    if (terms.options.append !== true) return undefined;
  }
  return undefined;
}

function isSamePurchase(
  shop: Shop,
  { body, idempotencyKey, list }: Order<'task run'>,
  operation: StoredOperation,
): boolean {
  const [intent] = operation.entries;
  return (
    // The excluded leads differ from day to day, so they don't make it another purchase.
    (intent.asked ?? intent.body) === requests.createTask(body, '').body &&
    (intent.asked !== undefined) === (list?.onlyNew === true) &&
    (intent.list ?? body.entity_type) === (list?.name ?? body.entity_type) &&
    isSameBuyer(shop, operation) &&
    (idempotencyKey === undefined || idempotencyKey === intent.idempotency_key)
  );
}

/** The page size is left out: it doesn't change the output. */
function toComparable({ num: _, ...options }: Readonly<Record<string, unknown>>): string {
  const known = JSON.parse(JSON.stringify(options)) as object;
  return JSON.stringify(Object.entries(known).sort());
}
