import type { Profile } from '../config/settings.ts';
import { readKeyRecord, readStoredKey } from '../config/stored-keys.ts';
import type { Context } from '../context.ts';
import { ConfigurationError, LeadpipeError } from '../errors.ts';
import { isLoopback, toBaseUrl } from '../requests/address.ts';
import { checkKey } from '../requests/api-key.ts';
import { type HttpProxy, proxyFor } from '../transport/proxy.ts';

/** An address of the service, and a key for it. */
export interface Target {
  readonly baseUrl: URL;
  readonly apiKey: string;
}

/** An address, and where it is from, for what is said of it. */
export interface GivenAddress {
  readonly text: string;
  readonly source: string;
}

/** The first thing that someone who has nothing yet is told. */
export const noTarget = new LeadpipeError(
  'configuration',
  'no service is set up yet: the address and the API key are missing',
  { type: 'configuration', facts: { is: 'no_target' } },
);

/** Address and key: as given, then environment, then profile. Throws ConfigurationError, before anything is sent. */
export async function findTarget(
  context: Context,
  given: GivenAddress | undefined,
  profile: Profile,
): Promise<Target> {
  const baseUrl = findAddress(context, given, profile);
  if (baseUrl === undefined) {
    const record = await readKeyRecord(context.directories.config, profile.name);
    if (!context.env.LEADPIPE_API_KEY && record === undefined) throw noTarget;
    throw new ConfigurationError('the address of the service is missing', {
      is: 'no_address',
      keyOrigin: record?.origin,
    });
  }
  const { apiKey } = await findKey(context, profile, baseUrl);
  return { baseUrl, apiKey };
}

/** The address, undefined where none is known. Throws ConfigurationError for a refused one. */
export function findAddress(
  { env }: Pick<Context, 'env'>,
  given: GivenAddress | undefined,
  { settings }: Profile,
): URL | undefined {
  if (given !== undefined) return toBaseUrl(given.text, given.source);
  if (env.LEADPIPE_BASE_URL) return toBaseUrl(env.LEADPIPE_BASE_URL, 'LEADPIPE_BASE_URL');
  return settings.base_url === undefined ? undefined : toBaseUrl(settings.base_url, 'the profile');
}

/** The key for an address, and where it is from. Throws ConfigurationError, also for a key stored for another origin. */
export async function findKey(
  context: Pick<Context, 'env' | 'directories' | 'keychain'>,
  { name }: Profile,
  { origin }: URL,
): Promise<{ readonly apiKey: string; readonly source: string }> {
  const source = 'LEADPIPE_API_KEY';
  const given = context.env[source]?.trim();
  if (given) return { apiKey: checkKey(given, source), source };
  const record = await readKeyRecord(context.directories.config, name);
  if (record === undefined) {
    throw new ConfigurationError(`there is no API key for ${origin}`, { is: 'no_key', profile: name });
  }
  if (record.origin !== origin) {
    throw new ConfigurationError(
      `the key of the profile "${name}" is only for ${record.origin}, so it was not sent to ${origin}`,
      { is: 'key_of_other_origin', profile: name, origin },
    );
  }
  const apiKey = await readStoredKey(context, name, record);
  return { apiKey: checkKey(apiKey, `the ${record.store}`), source: record.store };
}

/** Pure: the proxy that the environment names for an address; none for this machine itself. Throws ConfigurationError. */
export function proxyOf(address: URL, env: Context['env']): HttpProxy | undefined {
  return isLoopback(address.hostname) ? undefined : proxyFor(address, env);
}
