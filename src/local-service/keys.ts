import { createHash } from 'node:crypto';
import type { Access } from '../contract/endpoints.ts';

/** A well-known API key of the local service. */
export interface LocalKey {
  readonly key: string;
  /** Credits and idempotency keys belong to the account, tasks to the key. */
  readonly account: string;
  readonly access: readonly Access[];
  readonly state: 'active' | 'revoked' | 'expired';
  /** Where it differs from the switch `opening_credits`. */
  readonly openingCredits?: number;
  /** Where it differs from the switch `user_concurrency`. */
  readonly concurrency?: number;
  readonly description: string;
}

const everything: readonly Access[] = ['entity-search', 'contact-search', 'extract', 'any'];

/** Every key the local service knows; any other answers 401. */
export const localKeys = [
  {
    key: 'lp_local_demo',
    account: 'demo',
    access: everything,
    state: 'active',
    description: 'may do everything',
  },
  {
    key: 'lp_local_other',
    account: 'other',
    access: everything,
    state: 'active',
    description: 'may do everything, for another account: does not see the tasks of lp_local_demo',
  },
  {
    key: 'lp_local_entity_only',
    account: 'demo',
    access: ['entity-search', 'any'],
    state: 'active',
    description: 'Entity Search access alone: contact and extract answer 403',
  },
  {
    key: 'lp_local_contact_only',
    account: 'demo',
    access: ['contact-search', 'any'],
    state: 'active',
    description: 'Contact Search access alone: searches, tasks and extract answer 403',
  },
  {
    key: 'lp_local_extract_only',
    account: 'demo',
    access: ['extract', 'any'],
    state: 'active',
    description: 'Extract access alone: searches, tasks and contact answer 403',
  },
  {
    key: 'lp_local_no_access',
    account: 'demo',
    access: ['any'],
    state: 'active',
    description: 'active, without access to searches, contact or extract: those answer 403',
  },
  {
    key: 'lp_local_broke',
    account: 'broke',
    access: everything,
    state: 'active',
    openingCredits: 0,
    description: 'has no credits: paid requests answer 402',
  },
  {
    key: 'lp_local_busy',
    account: 'busy',
    access: everything,
    state: 'active',
    concurrency: 0,
    description: 'is at its concurrency limit: paid requests answer 429',
  },
  {
    key: 'lp_local_revoked',
    account: 'demo',
    access: everything,
    state: 'revoked',
    description: 'is revoked: 403',
  },
  {
    key: 'lp_local_expired',
    account: 'demo',
    access: everything,
    state: 'expired',
    description: 'is expired: 403',
  },
] as const satisfies readonly LocalKey[];

const byKey = new Map<string, LocalKey>(localKeys.map((row) => [row.key, row]));

export function findKey(key: string): LocalKey | undefined {
  return byKey.get(key);
}

/** How a key is recorded: the state never holds a key itself. */
export function fingerprintOf(key: string): string {
  return createHash('sha256').update(key).digest('hex').slice(0, 32);
}
