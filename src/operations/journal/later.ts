import { type ErrorDetails, LocalIoError, outputChanged } from '../../errors.ts';
import { readOperations, type StoredOperation } from './journal.ts';

/** Throws LocalIoError with these details when a later operation wrote to the same file: continuing would damage its rows. */
export async function checkLast(
  stateDir: string,
  operation: StoredOperation,
  details: ErrorDetails,
): Promise<void> {
  const { operations } = await readOperations(stateDir);
  const later = laterOn(operations, operation);
  if (later === undefined) return;
  const { output } = operation.entries[0];
  throw new LocalIoError(`${output} has rows of a later operation, ${later.operationId}`, {
    type: outputChanged,
    charged: 'no',
    ...details,
  });
}

/** Pure: whether the rows of an operation are, or were, in a file that a later one has written anew. */
export function isReplaced(operations: readonly StoredOperation[], operation: StoredOperation): boolean {
  const [{ options, output }] = operation.entries;
  return output !== null && options.append !== true && laterOn(operations, operation) !== undefined;
}

/** Pure: a later operation that put rows into the same file: they may stand behind ours, or in their place. */
function laterOn(
  operations: readonly StoredOperation[],
  { operationId, entries: [{ output }] }: StoredOperation,
): StoredOperation | undefined {
  return operations.find(
    (other) =>
      other.operationId > operationId &&
      other.entries[0].output === output &&
      other.entries.some(
        (entry) =>
          entry.type === 'page' ||
          entry.type === 'answered' ||
          (entry.type === 'batch' && entry.delivered > 0),
      ),
  );
}
