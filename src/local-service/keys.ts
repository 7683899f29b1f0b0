import type { Access } from '../contract/endpoints.ts';

/** A well-known API key of the local service. */
export interface LocalKey {
  readonly key: string;
  /** Credits and idempotency keys belong to the account, tasks to the key. */
  readonly account: string;
  readonly description: string;
  /** Absent: to everything. */
  readonly access?: readonly Access[];
  /** Absent: the key is active. */
  readonly state?: 'revoked' | 'expired';
  /** Where it differs from the switch `opening_credits`. */
  readonly openingCredits?: number;
  /** Where it differs from the switch `user_concurrency`. */
  readonly concurrency?: number;
}

const demo = <Key extends string>(key: Key, description: string, more: Partial<LocalKey> = {}) => ({
  ...{ key, account: 'demo', description, ...more },
});
const only = (...access: Access[]) => ({ access: [...access, 'any' as const] });

/** Every key the local service knows; any other answers 401. */
export const localKeys = [
  demo('lp_local_demo', 'has access to everything'),
  demo(
    'lp_local_other',
    'has access to everything, but belongs to another account: it has no access to the tasks of lp_local_demo',
    { account: 'other' },
  ),
  demo(
    'lp_local_entity_only',
    'has access to Entity Search only: contact and extract answer 403',
    only('entity-search'),
  ),
  demo(
    'lp_local_contact_only',
    'has access to Contact Search only: searches, tasks and extract answer 403',
    only('contact-search'),
  ),
  demo(
    'lp_local_extract_only',
    'has access to Extract only: searches, tasks and contact answer 403',
    only('extract'),
  ),
  demo(
    'lp_local_no_access',
    'is active, but has no access to searches, contact and extract: these answer 403',
    only(),
  ),
  demo('lp_local_broke', 'has no credits: paid requests answer 402', { account: 'broke', openingCredits: 0 }),
  demo('lp_local_busy', 'is at its concurrency limit: paid requests answer 429', {
    account: 'busy',
    concurrency: 0,
  }),
  demo('lp_local_revoked', 'is revoked: all requests answer 403', { state: 'revoked' }),
  demo('lp_local_expired', 'is expired: all requests answer 403', { state: 'expired' }),
] as const satisfies readonly LocalKey[];
