import type { IncomingHttpHeaders } from 'node:http';
import { type Endpoint, type EndpointName, endpoints } from '../contract/endpoints.ts';
import { digestOf } from '../digest.ts';
import { Refusal } from './fields.ts';
import { type LocalKey, localKeys } from './keys.ts';
import type { Caller, Service } from './service.ts';

/** The caller. Throws 401 and 403 for a key without access, 503 where the operation is switched off. */
export function authenticate(
  service: Service,
  operation: EndpointName,
  headers: IncomingHttpHeaders,
): Caller {
  const { path, access }: Endpoint = endpoints[operation];
  const text = suppliedKey(headers, path, service.switches.auth_header === 'any');
  const key: LocalKey | undefined = localKeys.find((row) => row.key === text);
  if (key === undefined) throw new Refusal(401, 'the API key is unknown');
  const fingerprint = digestOf(text, 32);
  const state = key.state ?? (hasExpired(service, fingerprint) ? 'expired' : undefined);
  if (state !== undefined) throw new Refusal(403, `the API key is ${state}`);
  if (key.access?.includes(access) === false) throw new Refusal(403, `the API key has no ${access} access`);
  checkEnabled(service, operation);
  return { key, fingerprint };
}

/** The endpoints for which the interface shows each form of the key header. */
const plainKeyPaths = /\/(?:entity-search|contact-search|create_task|status|fetch|balance)$/;
const bearerKeyPaths = /\/(?:fetch|contact-search|deep-search|enrich|extract)$/;

function suppliedKey(
  { authorization, 'x-api-key': plain }: IncomingHttpHeaders,
  path: string,
  isAnyTaken: boolean,
): string {
  const bearer = /^bearer +(\S+)$/i.exec(authorization ?? '')?.[1];
  if (authorization !== undefined && bearer === undefined)
    throw new Refusal(401, 'Authorization must have the form: Bearer <API_KEY>');
  if (plain !== undefined && bearer !== undefined && plain !== bearer)
    throw new Refusal(401, 'the two API key headers hold different keys');
  const taken = [isAnyTaken || plainKeyPaths.test(path) ? plain : undefined];
  taken.push(isAnyTaken || bearerKeyPaths.test(path) ? bearer : undefined);
  const key = taken.find((one) => one !== undefined);
  if (typeof key === 'string' && /^[\x21-\x7e]+$/.test(key)) return key;
  throw new Refusal(401, 'the API key is missing or malformed');
}

function hasExpired({ store, switches, now }: Service, fingerprint: string): boolean {
  if (switches.key_lifetime_s === 0) return false;
  const sql =
    'INSERT INTO keys VALUES (?, ?) ON CONFLICT DO UPDATE SET first_seen = first_seen RETURNING first_seen AS at';
  const seen = store.transaction((rows) => rows.get<{ at: number }>(sql, [fingerprint, now()]));
  return now() - (seen?.at ?? 0) >= switches.key_lifetime_s * 1000;
}

/** An operation, entity type or contact type may be switched off. */
export function checkEnabled({ switches }: Service, name: string): void {
  if (switches.disabled.split(/[\s,]+/).includes(name)) throw new Refusal(503, `${name} is not enabled here`);
}
