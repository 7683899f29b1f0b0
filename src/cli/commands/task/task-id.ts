import { Argument } from 'commander';
import type { Connection } from '../../../connection/connection.ts';
import type { Context } from '../../../context.ts';
import { limits } from '../../../contract/limits.ts';
import { LeadpipeError } from '../../../errors.ts';
import { serviceAt } from '../../../operations/buyer.ts';
import { readOfTask } from '../../../operations/known-operations.ts';
import { checkText } from '../../../requests/within-limits.ts';
import { toId } from '../../options/option-builders.ts';

export const taskArgument = new Argument(
  '<leads-search-id>',
  'the ID of the task, which `task create` and `task list` print',
).argParser((value) => checkText(limits.leadsSearchId, 'the leads_search_id', toId(value)));

/** An example that first creates its task, as $id. */
export function createdTaskExample(line: string): string {
  return `id=$(leadpipe task create company "dental clinics in Austin" --local -q |
  jq -r .leads_search_id)
${line}`;
}

/**
 * Rethrows the error of a task. If only this machine knows the task, the hint names the address or key that created it: no other can read
 * it.
 */
export async function throwExplained(
  error: unknown,
  context: Context,
  { origin, fingerprint }: Connection,
  leadsSearchId: string,
): Promise<never> {
  if (!(error instanceof LeadpipeError) || error.outcome !== 'not_found') throw error;
  // If the history can't be read, the service's error is enough.
  const known = await readOfTask(context, leadsSearchId).catch(() => []);
  const creation = known.find(({ progress }) => progress.isNamed);
  if (creation === undefined) throw error;
  const made = creation.intent;
  const profile = made.profile === null ? '' : ` (profile ${made.profile})`;
  if (made.origin !== origin) {
    const [there, here] = [made.origin, origin].map(serviceAt);
    throw error.with({ hint: `This machine created it at ${there}${profile}, not at ${here}.` });
  }
  if (made.key_fingerprint === fingerprint(creation.operationId)) throw error;
  throw error.with({
    hint: `This machine created it with another API key${profile}, and no other key can read it.`,
  });
}
