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

/** Every key the local service knows; any other answers 401. */
export const localKeys = [
  { key: 'lp_local_demo', account: 'demo', description: 'may do everything' },
  {
    key: 'lp_local_other',
    account: 'other',
    description: 'may do everything, for another account: does not see the tasks of lp_local_demo',
  },
  {
    key: 'lp_local_entity_only',
    account: 'demo',
    access: ['entity-search', 'any'],
    description: 'Entity Search access alone: contact and extract answer 403',
  },
  {
    key: 'lp_local_contact_only',
    account: 'demo',
    access: ['contact-search', 'any'],
    description: 'Contact Search access alone: searches, tasks and extract answer 403',
  },
  {
    key: 'lp_local_extract_only',
    account: 'demo',
    access: ['extract', 'any'],
    description: 'Extract access alone: searches, tasks and contact answer 403',
  },
  {
    key: 'lp_local_no_access',
    account: 'demo',
    access: ['any'],
    description: 'active, without access to searches, contact or extract: those answer 403',
  },
  {
    key: 'lp_local_broke',
    account: 'broke',
    openingCredits: 0,
    description: 'has no credits: paid requests answer 402',
  },
  {
    key: 'lp_local_busy',
    account: 'busy',
    concurrency: 0,
    description: 'is at its concurrency limit: paid requests answer 429',
  },
  { key: 'lp_local_revoked', account: 'demo', state: 'revoked', description: 'is revoked: 403' },
  { key: 'lp_local_expired', account: 'demo', state: 'expired', description: 'is expired: 403' },
] as const satisfies readonly LocalKey[];

const byKey = new Map<string, LocalKey>(localKeys.map((row) => [row.key, row]));

export function findKey(key: string): LocalKey | undefined {
  return byKey.get(key);
}

/** How a key is recorded: the state never holds a key itself. */
export function fingerprintOf(key: string): string {
  return createHash('sha256').update(key).digest('hex').slice(0, 32);
}
