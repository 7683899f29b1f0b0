import type { Connection } from '../connection/connection.ts';
import type { Context } from '../context.ts';
import { isBegun } from '../operations/journal/chain.ts';
import {
  type Intent,
  listOperations,
  readOperation,
  type StoredOperation,
} from '../operations/journal/journal.ts';
import type { PaidKind } from '../operations/kinds.ts';
import { digestOf } from './plan.ts';

/** For as long as the service knows a key, what it was used for can be gone on with. */
const knownMs = 24 * 3_600_000;

/** What earlier calls have bought, or may have. */
export interface Earlier {
  /** The newest operation for this request that was not refused; undefined where there is none of the last day. Throws LocalIoError. */
  find(
    connection: Connection,
    kind: PaidKind,
    body: string,
    onlyNew: boolean,
  ): Promise<StoredOperation | undefined>;
}

/** Each journal is read once, however many calls there are. */
export function createEarlier({ directories, clock }: Pick<Context, 'directories' | 'clock'>): Earlier {
  const seen = new Set<string>();
  /** The oldest first. */
  const known = new Map<string, string[]>();
  /** What is not after this one is older than a day. */
  let oldest = '';
  const isOld = ({ time }: Intent): boolean => clock.now().getTime() - Date.parse(time) > knownMs;

  async function look(): Promise<void> {
    for (const id of (await listOperations(directories.state)).reverse()) {
      if (id <= oldest) break;
      if (seen.has(id)) continue;
      // One that can't be read hides no other; one without an intent may get it yet.
      const operation = await readOperation(directories.state, id).catch(() => undefined);
      if (operation === undefined) continue;
      seen.add(id);
      const [intent] = operation.entries;
      if (isOld(intent)) {
        oldest = id;
        break;
      }
      if (intent.options.tool !== true || intent.body === undefined) continue;
      const digest = digestOf(
        intent.origin,
        intent.command,
        intent.asked ?? intent.body,
        intent.asked !== undefined,
      );
      known.set(digest, [...(known.get(digest) ?? []), id].sort());
    }
  }

  return {
    async find(connection, kind, body, onlyNew) {
      await look();
      const ids = known.get(digestOf(connection.origin, kind, body, onlyNew)) ?? [];
      for (const id of ids.toReversed()) {
        const operation = await readOperation(directories.state, id);
        // One that was refused says nothing of those before it: as when a key was used before.
        if (operation === undefined || isRefused(operation)) {
          ids.splice(ids.indexOf(id), 1);
          continue;
        }
        const [intent] = operation.entries;
        if (isOld(intent)) return undefined;
        // What another key has bought is known to that key alone.
        if (intent.key_fingerprint === connection.fingerprint(id)) return operation;
      }
      return undefined;
    },
  };
}

function isRefused(operation: StoredOperation): boolean {
  return operation.entries.some(({ type }) => type === 'terminal') && !isBegun(operation);
}
