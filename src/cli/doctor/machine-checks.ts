import { constants } from 'node:fs';
import { access, mkdtemp, rm, stat, statfs } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { KeychainError } from '../../config/keychain.ts';
import { type Profile, readProfile, settingsFile } from '../../config/settings.ts';
import { credentialsFile, type KeyRecord, probeKeychain, readKeyRecord } from '../../config/stored-keys.ts';
import type { KeyContext } from '../../connection/address-and-key.ts';
import type { Context } from '../../context.ts';
import { colorOf } from '../records/color.ts';
import { type Finding, failure, failureOf, ok, skipped, warning } from './finding.ts';

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
  const path = join(context.directories.config, settingsFile);
  try {
    const profile = await readProfile(context, named);
    const wide = await wideMode(path, 0o600);
    const found = `${path}, profile "${profile.name}"`;
    return [wide === undefined ? ok('settings', found) : tooWide('settings', path, wide, '600'), profile];
  } catch (error) {
    return [failureOf('settings', error), undefined];
  }
}

export async function checkConfigDirectory({ directories }: Context): Promise<Finding> {
  const wide = await wideMode(directories.config, 0o700);
  return wide === undefined
    ? ok('config directory', directories.config)
    : tooWide('config directory', directories.config, wide, '700');
}

/** Whether purchases can be recorded here: without that nothing is bought. */
export async function checkStateDirectory({ directories: { state } }: Context): Promise<Finding> {
  const check = 'state directory';
  try {
    const existing = await nearestFolder(state);
    if (existing === state) await rm(await mkdtemp(join(state, 'doctor-')), { recursive: true });
    else await access(existing, constants.W_OK);
    const { bavail, bsize } = await statfs(existing);
    if (bavail * bsize < fewBytes) {
      const found = `${state}: ${Math.floor((bavail * bsize) / 1024 / 1024)} MiB are free`;
      return warning(check, found, 'Make room, or name another directory in LEADPIPE_STATE_DIR.');
    }
  } catch (error) {
    const fix = 'Make it writable, or name another directory in LEADPIPE_STATE_DIR.';
    return failure(check, 'local_io', `${state}: ${(error as Error).message}`, fix);
  }
  const wide = await wideMode(state, 0o700);
  return wide === undefined ? ok(check, state) : tooWide(check, state, wide, '700');
}

/** Where the key of the profile is, and whether it can be had from there. */
export async function checkKeychain(context: KeyContext, profile: Profile | undefined): Promise<Finding> {
  const check = 'keychain';
  if (context.env.LEADPIPE_API_KEY) return skipped(check, 'LEADPIPE_API_KEY is used before it');
  if (profile === undefined) return skipped(check, 'the profile is not known');
  let record: KeyRecord | undefined;
  try {
    record = await readKeyRecord(context.directories.config, profile.name);
    if (record?.store === 'file') return await checkKeyFile(context);
    await probeKeychain(context, profile.name, record?.origin ?? 'nowhere');
    return ok(check, 'it answers');
  } catch (error) {
    const finding = failureOf(check, error);
    // Only a key that is in it makes it needed.
    const { found, fix } = finding;
    return record === undefined && error instanceof KeychainError
      ? warning(check, found, fix ?? '')
      : finding;
  }
}

async function checkKeyFile({ directories }: KeyContext): Promise<Finding> {
  const path = join(directories.config, credentialsFile);
  const wide = await wideMode(path, 0o600);
  return wide === undefined
    ? ok('keychain', `not used: the key is in ${path}`)
    : tooWide('keychain', path, wide, '600');
}

export function checkTerminal(context: Context): Finding {
  const { stdout, env } = context;
  if (!stdout.isTerminal) return ok('terminal', 'standard output is none: records are JSONL');
  const colours = colorOf(context, stdout, true) ? 'colours' : 'no colours';
  const found = `${stdout.columns ?? 'unknown'} columns, ${colours}, TERM=${env.TERM ?? ''}`;
  return ok('terminal', found);
}

function tooWide(check: string, path: string, mode: string, wanted: string): Finding {
  return warning(check, `${path} can be read by others (mode ${mode})`, `chmod ${wanted} '${path}'`);
}

/** The mode of a file that lets others in, in octal; undefined when it doesn't, or isn't there. */
async function wideMode(path: string, widest: number): Promise<string | undefined> {
  const found = await stat(path).catch(() => undefined);
  if (found === undefined) return undefined;
  const mode = found.mode & 0o777;
  return (mode & ~widest) === 0 ? undefined : mode.toString(8);
}

async function nearestFolder(folder: string): Promise<string> {
  if (dirname(folder) === folder) return folder;
  return (await stat(folder).catch(() => undefined)) === undefined
    ? await nearestFolder(dirname(folder))
    : folder;
}
