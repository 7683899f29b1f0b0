import { lookup } from 'node:dns/promises';
import { isIP } from 'node:net';
import { KeychainError } from '../../config/keychain.ts';
import type { Profile } from '../../config/settings.ts';
import {
  findAddress,
  findKey,
  type KeyContext,
  noTarget,
  type Target,
  takesProxy,
} from '../../connection/address-and-key.ts';
import type { Connection } from '../../connection/connection.ts';
import type { Context } from '../../context.ts';
import { limits } from '../../contract/limits.ts';
import { LeadpipeError } from '../../errors.ts';
import { creditsOf } from '../../operations/spending.ts';
import { toAddressText } from '../../requests/address.ts';
import { StoppedError } from '../../transport/errors.ts';
import { proxyFor } from '../../transport/proxy.ts';
import { addressOf, withConnection } from '../connect.ts';
import { toMaskedKey } from '../messages/masked-key.ts';
import type { ConnectionOptions } from '../options/options.ts';
import { type Finding, failure, failureOf, ok, skipped, warning } from './finding.ts';

const answered = ['connection', 'clock', 'key', 'access', 'credits'] as const;

const noProxy = 'none';

/** How far the clocks may be apart, in seconds: certificates and `Retry-After` dates are read by ours. */
const mostSkew = 60;

/**
 * From the address to the credits, with one request that costs nothing, and a second one for what the key may do. `say` is told
 * what is good to know of the service.
 */
export async function* checkService(
  context: Context,
  keys: KeyContext,
  options: ConnectionOptions,
  profile: Profile,
  say: (line: string) => void,
): AsyncGenerator<Finding> {
  if (options.local) {
    yield ok('address', 'the local service (--local)');
    yield* askService(context, options, undefined, say);
    return;
  }
  let baseUrl: URL | undefined;
  try {
    baseUrl = findAddress(context, addressOf(options), profile);
    if (baseUrl === undefined) throw noTarget;
  } catch (error) {
    yield failureOf('address', error);
    for (const check of ['proxy', 'host name', ...answered]) yield skipped(check, 'there is no address');
    return;
  }
  yield ok('address', toAddressText(baseUrl));
  const proxy = checkProxy(context, baseUrl);
  yield proxy;
  const name = await checkName(baseUrl, proxy);
  yield name;
  let apiKey: string;
  try {
    ({ apiKey } = await findKey(keys, profile, baseUrl));
  } catch (error) {
    // What is wrong with the keychain is said already.
    yield error instanceof KeychainError ? skipped('key', 'it is in the keychain') : failureOf('key', error);
    for (const check of answered) if (check !== 'key') yield skipped(check, 'there is no API key');
    return;
  }
  if (name.result === 'failure') {
    for (const check of answered) yield skipped(check, 'the host name is unknown');
    return;
  }
  // What is wrong is to be seen, and at once.
  const settings = { ...profile.settings, 'retry.attempts': 0 };
  yield* askService(context, options, { baseUrl, apiKey, profile: { ...profile, settings } }, say);
}

function checkProxy({ env }: Context, baseUrl: URL): Finding {
  try {
    const proxy = takesProxy(baseUrl) ? proxyFor(baseUrl, env) : undefined;
    return ok('proxy', proxy?.name ?? noProxy);
  } catch (error) {
    return failureOf('proxy', error);
  }
}

async function checkName({ hostname }: URL, proxy: Finding): Promise<Finding> {
  const host = hostname.replace(/^\[|\]$/g, '');
  if (isIP(host) !== 0) return skipped('host name', 'not needed (IP address)');
  if (proxy.found !== noProxy) return skipped('host name', 'not needed: the proxy looks it up');
  try {
    const addresses = await lookup(host, { all: true });
    return ok('host name', `${host} is at ${addresses.map(({ address }) => address).join(', ')}`);
  } catch (error) {
    const fix = 'Check the address (leadpipe config get base_url), and that this machine is online.';
    return failure('host name', 'temporary', `${host}: ${(error as Error).message}`, fix);
  }
}

async function* askService(
  context: Context,
  options: ConnectionOptions,
  known: (Target & { readonly profile: Profile }) | undefined,
  say: (line: string) => void,
): AsyncGenerator<Finding> {
  try {
    const start = known === undefined ? {} : { known };
    yield* await withConnection(
      context,
      options,
      (connection) => ask(context, connection, known),
      start,
      say,
    );
  } catch (error) {
    // A proxy or a file of authorities that is of no use.
    if (error instanceof StoppedError) throw error;
    yield failureOf('connection', error);
    for (const check of answered) if (check !== 'connection') yield skipped(check, 'there is no connection');
  }
}

async function ask(
  context: Context,
  { client, origin }: Connection,
  known: Target | undefined,
): Promise<Finding[]> {
  const key = known === undefined ? 'the key of the local service' : toMaskedKey(known.apiKey);
  try {
    const { value, serverTime } = await client.balance(context.signal);
    return [
      ok('connection', origin.startsWith('https:') ? 'connected; the certificate is trusted' : 'connected'),
      toSkew(context.clock.now(), serverTime),
      ok('key', `${key} is valid`),
      await checkAccess(context, client),
      toCredit(value.available_credits),
    ];
  } catch (error) {
    if (error instanceof StoppedError || !(error instanceof LeadpipeError)) throw error;
    const isRefusal = error.details.status !== undefined;
    const later = (check: string): Finding => skipped(check, 'the balance could not be read');
    return [
      isRefusal ? ok('connection', 'connected') : failureOf('connection', error),
      later('clock'),
      isRefusal ? failureOf('key', error) : later('key'),
      later('access'),
      later('credits'),
    ];
  }
}

/** A made-up task is not found by a key that may look, and refused to one that may not. Nothing else can be asked for nothing. */
async function checkAccess(context: Context, client: Connection['client']): Promise<Finding> {
  try {
    await client.status('ls_doctor', context.signal);
  } catch (error) {
    if (error instanceof StoppedError || !(error instanceof LeadpipeError)) throw error;
    if (error.details.status !== 404) return failureOf('access', error);
  }
  return ok('access', "searches are allowed; other commands can't be checked without paying");
}

function toSkew(here: Date, serverTime: string | undefined): Finding {
  const there = Date.parse(serverTime ?? '');
  if (Number.isNaN(there)) return skipped('clock', 'the service sends no time');
  const seconds = Math.round((here.getTime() - there) / 1000);
  if (Math.abs(seconds) <= mostSkew) return ok('clock', 'in step with the service');
  const found = `${Math.abs(seconds)} s ${seconds > 0 ? 'ahead of' : 'behind'} the service`;
  return warning('clock', found, 'Set the clock of this machine, for example: timedatectl set-ntp true');
}

function toCredit(credits: number): Finding {
  const usual = limits.entityLimit.default;
  const found = creditsOf(credits);
  if (credits === 0) return failure('credits', 'credits', found, 'Get credits for the account of this key.');
  if (credits >= usual) return ok('credits', found);
  const fix = `A search asks for ${usual} leads by default, and may cost ${usual} credits. Add --limit ${credits}.`;
  return failure('credits', 'credits', found, fix);
}
