import { furtherKeys, type KeyName } from '../../../conformance/row.ts';
import { UsageError } from '../../../errors.ts';
import type { localKeys } from '../../../local-service/keys.ts';
import { flawOfKey } from '../../../requests/api-key.ts';
import { readNamedFile } from '../../options/inputs.ts';

type FurtherKeys = Partial<Record<KeyName, string>>;

/** The file of --keys. Throws UsageError, which never quotes a key. */
export async function readFurtherKeys(file: string): Promise<FurtherKeys> {
  const wrong = (why: string): UsageError =>
    new UsageError(
      `--keys: ${file} ${why}`,
      `Write it as a JSON object, for example {"other":"…"}. The names are ${Object.keys(furtherKeys).join(', ')}.`,
    );
  const value = toJson(await readNamedFile(file, '--keys'));
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw wrong('is not a JSON object');
  for (const [name, key] of Object.entries(value)) {
    if (!Object.hasOwn(furtherKeys, name)) throw wrong(`has an unknown name: ${JSON.stringify(name)}`);
    if (typeof key !== 'string' || flawOfKey(key) !== undefined) {
      throw wrong(`has a value for ${JSON.stringify(name)} that is not an API key`);
    }
  }
  return value;
}

function toJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

export const furtherKeysOfLocalService = {
  other: 'lp_local_other',
  sibling: 'lp_local_entity_only',
  revoked: 'lp_local_revoked',
  expired: 'lp_local_expired',
  no_access: 'lp_local_no_access',
  no_credits: 'lp_local_broke',
  // Opens with fewer than 10,000 credits, as all accounts of such a run.
  few_credits: 'lp_local_other',
  busy: 'lp_local_busy',
} as const satisfies Record<keyof typeof furtherKeys, (typeof localKeys)[number]['key']>;
