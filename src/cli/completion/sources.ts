import { toMinutes } from '../../clock.ts';
import { readProfileNames } from '../../config/settings.ts';
import type { Context } from '../../context.ts';
import { readHistoryRecord } from '../../operations/journal/history.ts';
import { readNewest } from '../../operations/journal/operation-index.ts';
import type { StoredOperation } from '../../operations/journal/stored.ts';
import { isTask } from '../../operations/kinds.ts';
import { readLists } from '../../operations/only-new/lists.ts';
import { toKnownTasks } from '../../operations/task/known.ts';
import { countOf } from '../../operations/wording.ts';
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
    case 'list':
      return (await readLists(state, () => {})).map(({ list, leads }) => ({
        value: list,
        meaning: countOf(leads),
      }));
    case 'leads-search-id':
      return toKnownTasks(await readSome(context, isTask)).flatMap(({ leads_search_id, ...task }) => {
        const meaning = [task.entity_type, task.state, task.objective].filter((one) => one !== null);
        return leads_search_id === null ? [] : [{ value: leads_search_id, meaning: meaning.join(', ') }];
      });
    case 'operation-id':
      return await Promise.all(
        (await readSome(context, () => true)).reverse().map(async (operation) => {
          const record = await readHistoryRecord(state, operation);
          const { command, operation_id, state: end, subject, time } = record;
          const day = time === null ? null : toMinutes(new Date(time), context.zone).slice(0, 10);
          const facts = [command, end, day, subject].filter((one) => one !== null);
          return { value: operation_id, meaning: facts.join(', ') };
        }),
      );
  }
}

/** The newest ones, the oldest of them first. */
async function readSome(context: Context, isMeant: (kind: string) => boolean): Promise<StoredOperation[]> {
  const some: StoredOperation[] = [];
  for await (const operation of readNewest(context, isMeant)) {
    if (some.unshift(operation) === newest) break;
  }
  return some;
}
