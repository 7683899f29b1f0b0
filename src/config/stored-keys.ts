import type { Context } from '../context.ts';
import { ConfigurationError } from '../errors.ts';
import { isObject } from '../json/object.ts';
import { KeychainError } from './keychain.ts';
import { changeStore, keysPath, readStore } from './store.ts';

export type CredentialStore = 'keychain' | 'file';

/** The store of a profile's key, and the only origin that it may be sent to. */
export interface KeyRecord {
  readonly origin: string;
  readonly store: CredentialStore;
  /** Only in the file store. */
  readonly key?: string;
}

/** All stored keys by profile, without asking the keychain. Throws ConfigurationError. */
export async function readKeyRecords(configDir: string): Promise<Readonly<Record<string, KeyRecord>>> {
  const { keys = {} } = await readStore(configDir, 'credentials');
  if (!isObject(keys) || !Object.values(keys).every(isKeyRecord)) {
    throw new ConfigurationError(`${keysPath(configDir)} is damaged: its entry "keys" is not valid`, {
      is: 'keys_damaged',
    });
  }
  return keys as Record<string, KeyRecord>;
}

/** Undefined when no key is stored for the profile. Throws ConfigurationError. */
export async function readKeyRecord(configDir: string, profile: string): Promise<KeyRecord | undefined> {
  const records = await readKeyRecords(configDir);
  return Object.hasOwn(records, profile) ? records[profile] : undefined;
}

/** The key of a record. Throws KeychainError, and ConfigurationError when the keychain no longer has it. */
export async function readStoredKey({ keychain }: Context, profile: string, record: KeyRecord) {
  const key = record.store === 'file' ? record.key : await keychain.get(accountOf(profile, record.origin));
  if (key !== undefined) return key;
  throw new ConfigurationError(`the key of the profile "${profile}" is no longer in the ${record.store}`, {
    is: 'key_lost',
    profile,
  });
}

/** Throws KeychainError when the keychain does not answer. */
export async function probeKeychain({ keychain }: Context, profile: string, origin: string): Promise<void> {
  await keychain.get(accountOf(profile, origin));
}

/**
 * Stores a key, and then removes the previous one. If only the removal fails, returns its error. If storing fails, throws KeychainError or as
 * `changeStore`, and the previous key stays.
 */
export async function storeKey(context: Context, profile: string, { key, ...place }: Required<KeyRecord>) {
  const before = await readKeyRecord(context.directories.config, profile);
  const account = accountOf(profile, place.origin);
  if (place.store === 'keychain') await context.keychain.set(account, key);
  await changeRecord(context, profile, place.store === 'file' ? { ...place, key } : place);
  if (before?.store !== 'keychain' || (place.store === 'keychain' && before.origin === place.origin)) return;
  try {
    await context.keychain.delete(accountOf(profile, before.origin));
  } catch (error) {
    if (error instanceof KeychainError) return error;
    throw error;
  }
}

/** Removes the key. Returns its record, or undefined if none was stored. Throws as `storeKey`; the key then stays. */
export async function forgetKey(context: Context, profile: string): Promise<KeyRecord | undefined> {
  const record = await readKeyRecord(context.directories.config, profile);
  if (record === undefined) return undefined;
  if (record.store === 'keychain') await context.keychain.delete(accountOf(profile, record.origin));
  await changeRecord(context, profile, undefined);
  return record;
}

async function changeRecord(context: Context, profile: string, record: KeyRecord | undefined) {
  await changeStore(context, 'credentials', (content) => {
    // JSON leaves out what is undefined.
    return { ...content, keys: { ...(isObject(content.keys) ? content.keys : {}), [profile]: record } };
  });
}

/** The origin is part of the name, so that a key can't be found for another origin, whatever the files say. */
function accountOf(profile: string, origin: string): string {
  return `${profile} ${origin}`;
}

function isKeyRecord(value: unknown): value is KeyRecord {
  if (!isObject(value) || typeof value.origin !== 'string') return false;
  return value.store === 'keychain' || (value.store === 'file' && typeof value.key === 'string');
}
