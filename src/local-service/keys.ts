import { createHash } from 'node:crypto';
import type { Access } from '../contract/endpoints.ts';

/** A well-known API key of the local service. */
export interface LocalKey {
  readonly key: string;
  /** Credits and idempotency keys belong to the account, tasks to the key. */
  readonly account: string;
  /** Absent: to everything. */
  readonly access?: readonly Access[];
  /** Absent: the key is active. */
  readonly state?: 'revoked' | 'expired';
  /** Where it differs from the switch `opening_credits`. */
  readonly openingCredits?: number;
  /** Where it differs from the switch `user_concurrency`. */
  readonly concurrency?: number;
  readonly description: string;
}

const key = <Key extends string>(
  key: Key,
  account: string,
  description: string,
  more: Partial<LocalKey> = {},
) => ({
  ...{ key, account, description, ...more },
});

/** Every key the local service knows; any other answers 401. */
export const localKeys = [
  key('lp_local_demo', 'demo', 'has access to everything'),
  key(
    'lp_local_other',
    'other',
    'has access to everything, but belongs to another account: it has no access to the tasks of lp_local_demo',
  ),
  key('lp_local_entity_only', 'demo', 'has access to Entity Search only: contact and extract answer 403', {
    access: ['entity-search', 'any'],
  }),
  key(
    'lp_local_contact_only',
    'demo',
    'has access to Contact Search only: searches, tasks and extract answer 403',
    {
      access: ['contact-search', 'any'],
    },
  ),
  key('lp_local_extract_only', 'demo', 'has access to Extract only: searches, tasks and contact answer 403', {
    access: ['extract', 'any'],
  }),
  key(
    'lp_local_no_access',
    'demo',
    'is active, but has no access to searches, contact and extract: these answer 403',
    { access: ['any'] },
  ),
  key('lp_local_broke', 'broke', 'has no credits: paid requests answer 402', { openingCredits: 0 }),
  key('lp_local_busy', 'busy', 'is at its concurrency limit: paid requests answer 429', { concurrency: 0 }),
  key('lp_local_revoked', 'demo', 'is revoked: all requests answer 403', { state: 'revoked' }),
  key('lp_local_expired', 'demo', 'is expired: all requests answer 403', { state: 'expired' }),
] as const;

const byKey = new Map<string, LocalKey>(localKeys.map((row) => [row.key, row]));

export function findKey(key: string): LocalKey | undefined {
  return byKey.get(key);
}

/** How a key is recorded: the state never holds a key itself. */
export function fingerprintOf(key: string): string {
  return createHash('sha256').update(key).digest('hex').slice(0, 32);
}
