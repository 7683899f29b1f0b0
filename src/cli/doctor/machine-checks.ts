import { constants } from 'node:fs';
import { access, mkdtemp, rm, stat, statfs } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { KeychainError } from '../../config/keychain.ts';
import { type Profile, readProfile, settingsPath } from '../../config/settings.ts';
import { type KeyRecord, keysPath, probeKeychain, readKeyRecord } from '../../config/stored-keys.ts';
import type { KeyContext } from '../../connection/address-and-key.ts';
import type { Context } from '../../context.ts';
import { colorOf } from '../../output/color.ts';
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
