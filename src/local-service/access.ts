import { createHash } from 'node:crypto';
import { type Endpoint, endpoints } from '../contract/endpoints.ts';
import { Refusal } from './answer.ts';
import { type LocalKey, localKeys } from './keys.ts';
import type { Caller, Exchange, Service } from './service.ts';

/** Who asks: 401 and 403 for a key that must not, 503 where the operation is switched off. */
// rule: auth.unknown, auth.revoked, auth.scopes, balance.any-key
export function authenticate(service: Service, { operation, incoming }: Exchange): Caller {
  const endpoint: Endpoint = endpoints[operation];
  const text = suppliedKey(incoming.headers, endpoint, service.switches.auth_header);
  const key: LocalKey | undefined = localKeys.find((row) => row.key === text);
  if (key === undefined) throw new Refusal(401, 'the API key is unknown');
  // The state never holds a key itself.
  const fingerprint = createHash('sha256').update(text).digest('hex').slice(0, 32);
  const state = key.state ?? (hasExpired(service, fingerprint) ? 'expired' : undefined);
  if (state !== undefined) throw new Refusal(403, `the API key is ${state}`);
  if (key.access?.includes(endpoint.access) === false)
    throw new Refusal(403, `the API key has no ${endpoint.access} access`);
  checkEnabled(service, operation);
  return { key, fingerprint };
}

function suppliedKey(
  { authorization, 'x-api-key': plain }: Exchange['incoming']['headers'],
  { path }: Endpoint,
  accepted: Service['switches']['auth_header'],
): string {
  const bearer = authorization === undefined ? undefined : /^bearer +(\S+)$/i.exec(authorization)?.[1];
  if (authorization !== undefined && bearer === undefined)
    throw new Refusal(401, 'Authorization must have the form: Bearer <API_KEY>');
  if (plain !== undefined && bearer !== undefined && plain !== bearer)
    throw new Refusal(401, 'the two API key headers hold different keys');
  const isTaken = (paths: RegExp) => accepted === 'any' || paths.test(path);
  const key = (isTaken(withPlain) ? plain : undefined) ?? (isTaken(withBearer) ? bearer : undefined);
  if (typeof key !== 'string' || !/^[\x21-\x7e]+$/.test(key))
    throw new Refusal(401, 'the API key is missing or malformed');
  return key;
}

/** Which form the document shows where. */
const withPlain = /\/(?:entity-search|contact-search|create_task|status|fetch|balance)$/;
const withBearer = /\/(?:fetch|contact-search|deep-search|enrich|extract)$/;

function hasExpired({ store, switches, now }: Service, fingerprint: string): boolean {
  if (switches.key_lifetime_s === 0) return false;
  const seen = store.transaction((rows) => {
    rows.run('INSERT OR IGNORE INTO keys VALUES (?, ?)', [fingerprint, now()]);
    return rows.get<{ at: number }>('SELECT first_seen AS at FROM keys WHERE fingerprint = ?', fingerprint);
  });
  return now() - (seen?.at ?? 0) >= switches.key_lifetime_s * 1000;
}

/** An operation, entity type or contact type may be switched off here. */
// rule: general.rollout
export function checkEnabled({ switches }: Service, name: string): void {
  if (
    switches.disabled
      .trim()
      .split(/\s*,\s*/)
      .includes(name)
  )
    throw new Refusal(503, `${name} is not enabled here`);
}
