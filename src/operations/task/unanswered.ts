import { requests } from '../../client.ts';
import { isLocked } from '../../files/folder-lock.ts';
import { folderOf, readOperations, type StoredOperation } from '../journal/journal.ts';
import { isSameBuyer, type Order, type Shop } from '../purchase.ts';
import { isUnanswered, mayReplay, toTaskProgress } from './progress.ts';

/**
 * The latest creation of the same task, to no file, of which nobody knows whether it succeeded: with its key the service gives
 * the task that it made then, or makes it now. Undefined where there is none, or where the service may have forgotten the key.
 * What can't be read is no reason to stop. Throws LocalIoError.
 */
export async function findUnanswered(
  shop: Shop,
  { body, idempotencyKey, keep, kind, preview, terms }: Order<'task create' | 'task run'>,
): Promise<StoredOperation | undefined> {
  if (!keep || preview !== undefined || idempotencyKey !== undefined || terms.output !== null)
    return undefined;
  const { clock, directories } = shop.context;
  const { operations } = await readOperations(directories.state);
  const wanted = requests.createTask(body, '').body;
  return operations.findLast((operation) => {
    const { intent } = toTaskProgress(operation);
    return (
      intent.command === kind &&
      intent.output === null &&
      intent.body === wanted &&
      mayReplay(intent, clock.now()) &&
      isSameBuyer(shop, operation) &&
      isUnanswered(operation, operations) &&
      !isLocked(folderOf(directories.state, operation.operationId))
    );
  });
}
