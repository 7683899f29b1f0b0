import { lookup } from 'node:dns/promises';
import { constants } from 'node:fs';
import { access, mkdtemp, rm, stat, statfs } from 'node:fs/promises';
import { isIP } from 'node:net';
import { dirname, join } from 'node:path';
import { KeychainError } from '../config/keychain.ts';
import { type Profile, readProfile, settingsPath } from '../config/settings.ts';
import { type KeyRecord, keysPath, probeKeychain, readKeyRecord } from '../config/stored-keys.ts';
import {
  findAddress,
  findKey,
  type KeyContext,
  noTarget,
  type Target,
  takesProxy,
} from '../connection/address-and-key.ts';
import type { Connection } from '../connection/connection.ts';
import type { Context } from '../context.ts';
import { limits } from '../contract/limits.ts';
import { LeadpipeError, type Outcome } from '../errors.ts';
import { creditsOf } from '../operations/spending.ts';
import { colorOf } from '../output/color.ts';
import { toAddressText } from '../requests/address.ts';
import { StoppedError } from '../transport/errors.ts';
import { proxyFor } from '../transport/proxy.ts';
import { addressOf, withConnection } from './connect.ts';
import { toHint } from './messages/hints.ts';
import { toMaskedKey } from './messages/quoted.ts';
import type { ConnectionOptions } from './options/options.ts';
export interface Finding {
  readonly check: string;
  readonly result: 'ok' | 'warning' | 'failure' | 'skipped';
  readonly found: string;
  /** What to do about it, exactly. */
  readonly fix: string | null;
  /** How the next search would end because of it; failures alone. */
  readonly outcome?: Outcome;
}

function ok(check: string, found: string): Finding {
  return { check, result: 'ok', found, fix: null };
}

function skipped(check: string, found: string): Finding {
  return { check, result: 'skipped', found, fix: null };
}

function warning(check: string, found: string, fix: string): Finding {
  return { check, result: 'warning', found, fix };
}

function failure(check: string, outcome: Outcome, found: string, fix: string): Finding {
  return { check, result: 'failure', found, fix, outcome };
}

/** The same failure that a command would report. Anything but a LeadpipeError is thrown on. */
function failureOf(check: string, error: unknown): Finding {
  if (!(error instanceof LeadpipeError)) throw error;
  return failure(check, error.outcome, error.message, toHint(error) ?? '');
}

const oldestNode = [20, 18] as const;

/** Enough for the leads of many searches. */
const fewBytes = 50 * 1024 * 1024;

export function checkNode({ nodeVersion }: Pick<Context, 'nodeVersion'>): Finding {
  const [major = 0, minor = 0] = nodeVersion.split('.').map(Number);
  const [oldestMajor, oldestMinor] = oldestNode;
  if (major > oldestMajor || (major === oldestMajor && minor >= oldestMinor)) return ok('node', nodeVersion);
  return failure('node', 'configuration', nodeVersion, `Install Node ${oldestNode.join('.')} or newer.`);
}

/** The settings, and the profile they give; undefined where they can't be used. */
export async function checkSettings(
  context: Context,
  named: string | undefined,
): Promise<readonly [Finding, Profile | undefined]> {
  const path = settingsPath(context.directories.config);
  try {
    const profile = await readProfile(context, named);
    return [await checkMode('settings', path, '600', `${path}, profile "${profile.name}"`), profile];
  } catch (error) {
    return [failureOf('settings', error), undefined];
  }
}

export function checkConfigDirectory({ directories }: Context): Promise<Finding> {
  return checkMode('config folder', directories.config, '700');
}

/** Whether purchases can be recorded here: without that nothing is bought. */
export async function checkStateDirectory({ directories: { state } }: Context): Promise<Finding> {
  const check = 'state folder';
  try {
    const existing = await nearestFolder(state);
    if (existing === state) await rm(await mkdtemp(join(state, 'doctor-')), { recursive: true });
    else await access(existing, constants.W_OK);
    const { bavail, bsize } = await statfs(existing);
    if (bavail * bsize < fewBytes) {
      const found = `${state}: only ${Math.floor((bavail * bsize) / 1024 / 1024)} MiB of disk space is free`;
      return warning(check, found, 'Free some space, or set LEADPIPE_STATE_DIR to another folder.');
    }
  } catch (error) {
    const fix = 'Make it writable, or set LEADPIPE_STATE_DIR to another folder.';
    return failure(check, 'local_io', `${state}: ${(error as Error).message}`, fix);
  }
  return await checkMode(check, state, '700');
}

/** Where the key of the profile is, and whether it can be had from there. */
export async function checkKeychain(context: KeyContext, profile: Profile | undefined): Promise<Finding> {
  const check = 'keychain';
  if (context.env.LEADPIPE_API_KEY) return skipped(check, 'not needed: LEADPIPE_API_KEY is set');
  if (profile === undefined) return skipped(check, "the settings can't be read");
  let record: KeyRecord | undefined;
  try {
    record = await readKeyRecord(context.directories.config, profile.name);
    if (record?.store === 'file') {
      const path = keysPath(context.directories.config);
      return await checkMode(check, path, '600', `not needed: the key is in ${path}`);
    }
    await probeKeychain(context, profile.name, record?.origin ?? 'nowhere');
    return ok(check, 'works');
  } catch (error) {
    const finding = failureOf(check, error);
    // Only a key that is in it makes it needed.
    const { found, fix } = finding;
    return record === undefined && error instanceof KeychainError
      ? warning(check, found, fix ?? '')
      : finding;
  }
}

export function checkTerminal(context: Context): Finding {
  const { stdout, env } = context;
  if (!stdout.isTerminal) return ok('terminal', 'output is not a terminal: JSONL');
  const colours = colorOf(context, stdout, true) ? 'colours' : 'no colours';
  const found = `${stdout.columns ?? 'unknown'} columns, ${colours}, TERM=${env.TERM ?? ''}`;
  return ok('terminal', found);
}

/** Whether a file or a folder lets others in; what isn't there doesn't. `widest` is octal. */
async function checkMode(check: string, path: string, widest: string, found = path): Promise<Finding> {
  const { mode } = (await stat(path).catch(() => undefined)) ?? { mode: 0 };
  if ((mode & 0o777 & ~Number.parseInt(widest, 8)) === 0) return ok(check, found);
  const open = `other users can read ${path} (mode ${(mode & 0o777).toString(8)})`;
  return warning(check, open, `chmod ${widest} '${path}'`);
}

async function nearestFolder(folder: string): Promise<string> {
  if (dirname(folder) === folder) return folder;
  return (await stat(folder).catch(() => undefined)) === undefined
    ? await nearestFolder(dirname(folder))
    : folder;
}

const answered = ['connection', 'clock', 'key', 'access', 'credits'] as const;

const noProxy = 'none';

/** How far the clocks may be apart, in seconds: certificates and `Retry-After` dates are read by ours. */
const mostSkew = 60;

/**
 * From the address to the credits, with one request that costs nothing, and a second one for what the key may do. `say` prints
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
