import type { Access } from '../contract/endpoints.ts';

/** A well-known API key of the local service. */
export interface LocalKey {
  readonly key: string;
  readonly description: string;
  /** Credits and idempotency keys belong to the account, tasks to the key. */
  readonly account: string;
  /** Absent: access to everything. */
  readonly access?: readonly Access[];
  /** Absent: the key is active. */
  readonly state?: 'revoked' | 'expired';
  /** Set if they differ from the switches `opening_credits` and `user_concurrency`. */
  readonly openingCredits?: number;
  readonly concurrency?: number;
}

const key = <Key extends string>(key: Key, description: string, more: Partial<LocalKey> = {}) => ({
  ...{ key, description, account: 'demo', ...more },
});
const only = (access: Access) => ({ access: [access, 'any' as const] });

/** Every key that the local service knows. Others get 401. */
export const localKeys = [
  key('lp_local_demo', 'has access to everything'),
  key('lp_local_other', 'like lp_local_demo, for another account, which does not see its tasks', {
    account: 'other',
  }),
  key('lp_local_entity_only', 'Entity Search only: contact and extract answer 403', only('entity-search')),
  key('lp_local_contact_only', 'Contact Search only: the others answer 403', only('contact-search')),
  key('lp_local_extract_only', 'Extract only: searches, tasks and contact answer 403', only('extract')),
  key('lp_local_no_access', 'is active; searches, contact and extract answer 403', only('any')),
  key('lp_local_broke', 'has no credits: paid requests answer 402', { account: 'broke', openingCredits: 0 }),
  key('lp_local_busy', 'is at its limit: paid requests answer 429', { account: 'busy', concurrency: 0 }),
  key('lp_local_revoked', 'is revoked: all requests answer 403', { state: 'revoked' }),
  key('lp_local_expired', 'is expired: all requests answer 403', { state: 'expired' }),
] as const satisfies readonly LocalKey[];
