import { readProfileNames } from '../../config/settings.ts';
import type { Context } from '../../context.ts';
import { readHistoryRecord } from '../../operations/journal/history.ts';
import { listOperations, readOperation, type StoredOperation } from '../../operations/journal/journal.ts';
import { toKnownTasks } from '../../operations/task/known.ts';
import type { Candidate, KnownKind } from './completion.ts';

/** More than this nobody reads after a press of Tab. */
const newest = 50;

/** What this machine knows of a kind; files are the shell's. Throws ConfigurationError, LocalIoError. */
export async function readCandidates(
  context: Context,
  kind: Exclude<KnownKind, 'file'>,
): Promise<Candidate[]> {
  const { config, state } = context.directories;
  switch (kind) {
    case 'profile':
      return (await readProfileNames(config)).map((value) => ({ value, meaning: '' }));
    case 'leads-search-id':
      return toKnownTasks(await readNewest(state)).flatMap(({ leads_search_id, ...task }) => {
        const meaning = [task.entity_type, task.state, task.objective].filter((one) => one !== null);
        return leads_search_id === null ? [] : [{ value: leads_search_id, meaning: meaning.join(', ') }];
      });
    case 'operation-id':
      return await Promise.all(
        (await readNewest(state)).reverse().map(async (operation) => {
          const { operation_id, command, state: end, time } = await readHistoryRecord(state, operation);
          return { value: operation_id, meaning: `${command}, ${end}, ${time?.slice(0, 10)}` };
        }),
      );
  }
}

/** Oldest first. One that is damaged hides no other. */
async function readNewest(stateDir: string): Promise<StoredOperation[]> {
  const ids = (await listOperations(stateDir)).slice(-newest);
  const operations = await Promise.all(ids.map((id) => readOperation(stateDir, id).catch(() => undefined)));
  return operations.filter((operation) => operation !== undefined);
}
