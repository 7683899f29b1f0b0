import type { Connection } from '../../../connection/connection.ts';
import type { Context } from '../../../context.ts';
import { LeadpipeError } from '../../../errors.ts';
import type { Intent } from '../../../operations/journal/entries.ts';
import { readOfTask } from '../../../operations/journal/operation-index.ts';

/**
 * Runs `work`, which reads a task. Where the service does not know the task and this machine does, the hint says
 * what differs from its creation: a task can be read only with the key and at the address that made it.
 */
export async function withMissingExplained<T>(
  context: Context,
  connection: Connection,
  leadsSearchId: string,
  work: () => Promise<T>,
): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof LeadpipeError) || error.outcome !== 'not_found') throw error;
    // A history that can't be read is no reason to say anything but what the service said.
    const known = await readOfTask(context, leadsSearchId).catch(() => []);
    for (const { operationId, entries } of known) {
      if (!entries.some(({ type }) => type === 'created')) continue;
      const hint = toDifference(entries[0], connection, connection.fingerprint(operationId));
      throw hint === undefined ? error : error.with({ hint });
    }
    throw error;
  }
}

function toDifference(made: Intent, { origin }: Connection, fingerprint: string): string | undefined {
  const profile = made.profile === null ? '' : ` (profile ${made.profile})`;
  if (made.origin !== origin)
    return `This machine created it at ${nameOf(made.origin)}${profile}, not at ${nameOf(origin)}.`;
  return made.key_fingerprint === fingerprint
    ? undefined
    : `This machine created it with another API key${profile}, and no other key can read it.`;
}

function nameOf(origin: string): string {
  return origin === 'local' ? 'the local service' : origin;
}
