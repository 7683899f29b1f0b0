import { resolve } from 'node:path';
import type { Context, StoreContext } from '../context.ts';
import { ConfigurationError, UsageError } from '../errors.ts';
import { isObject } from '../json/object.ts';
import { printedFormats } from '../output/writer.ts';
import { toBaseUrl } from '../requests/address.ts';
import { clip } from '../requests/closed-list.ts';
import { changeStore, readStore, settingsPath } from './store.ts';

/** A profile that is in use, and its settings. */
export interface Profile {
  readonly name: string;
  readonly settings: Settings;
}

export type SettingValue = string | number;

interface Setting<Value extends SettingValue> {
  readonly meaning: string;
  /** The allowed values, in words. */
  readonly takes: string;
  /** The allowed words, if it takes no other value. */
  readonly words?: readonly string[];
  /** Converts the text to the value, without checking it. */
  parse?(text: string): SettingValue;
  accepts(value: unknown): value is Value;
}

const oneOf = <Word extends string>(words: readonly Word[], meaning: string): Setting<Word> => ({
  meaning,
  takes: `${words.slice(0, -1).join(', ')} or ${words.at(-1)}`,
  words,
  accepts: (value): value is Word => words.some((word) => word === value),
});

const text = (takes: string, parse: (given: string) => string, meaning: string): Setting<string> => ({
  meaning,
  takes,
  parse,
  accepts: (value): value is string => typeof value === 'string' && value !== '',
});

const numberOf = (takes: string, isRight: (value: number) => boolean) => {
  return (meaning: string): Setting<number> => ({
    meaning,
    takes,
    parse: (given) => (/^\d+(?:\.\d+)?$/.test(given) ? Number(given) : given),
    accepts: (value): value is number => typeof value === 'number' && isRight(value),
  });
};

const wholeNumber = (max: number) =>
  numberOf(
    `a whole number from 0 to ${max}`,
    (value) => Number.isInteger(value) && value >= 0 && value <= max,
  );

const seconds = numberOf(
  'a number of seconds above 0 and at most 86400',
  (value) => value > 0 && value <= 86_400,
);

const credits = numberOf(
  'a number of credits from 0 to 100000, with up to 6 decimals',
  (value) => value >= 0 && value <= 100_000 && Number(value.toFixed(6)) === value,
);

const limit = wholeNumber(1_000_000_000);

/** Everything that a profile can set: what it takes and what it means, for checks, helps and completion. */
export const settingTable = {
  base_url: text(
    'an address that begins with https:// (http:// only for this machine)',
    // As it was written, since it is compared with the origin of a stored key.
    (given) => toBaseUrl(given, 'from the setting base_url') && given.trim(),
    'the address of the service',
  ),
  auth_header: oneOf(['x-api-key', 'bearer', 'auto'], 'x-api-key, bearer or auto: the header of the key'),
  format: oneOf(printedFormats, 'the output format, unless -f or the name of -o says it'),
  credential_store: oneOf(['keychain', 'file'], 'keychain or file: where new API keys are stored'),
  // Absolute, since runs in other folders read the same file.
  ca_file: text('a file', (given) => given && resolve(given), 'a PEM file with more certificates to trust'),
  'timeout.connect': seconds('seconds to wait for a connection'),
  'timeout.headers': seconds('seconds to wait for the beginning of an answer'),
  'timeout.idle': seconds('seconds to wait for more data of an answer'),
  'timeout.event': seconds('seconds to wait for more leads of a search'),
  'timeout.total': seconds('seconds to wait for the end of an answer'),
  'retry.attempts': wholeNumber(20)('maximum retries per request (fewer for some errors)'),
  'retry.budget': wholeNumber(86_400)('maximum seconds of waiting for retries, in total'),
  'poll.interval': seconds('seconds between two checks of a task; the first three come sooner'),
  'poll.max': seconds('seconds between two checks of a task, at most'),
  'price.search': credits('maximum credits per lead of a search'),
  'price.task': credits('maximum credits per lead of a task'),
  'price.contact.email': credits('credits per email address that is looked up'),
  'price.contact.phone': credits('credits per phone number that is looked up'),
  'price.research': credits('credits per research question'),
  'price.enrich': credits('credits per enrich request'),
  'price.extract': credits('credits per extracted item'),
  max_credits: limit('refuse a run that can cost more credits than this'),
  max_credits_per_day: limit('refuse more than this since midnight, all runs together'),
};

export type SettingName = keyof typeof settingTable;

/** The settings of one profile; each is optional. */
export type Settings = {
  readonly [Name in SettingName]?: (typeof settingTable)[Name] extends Setting<infer Value> ? Value : never;
};

export const settingNames = Object.keys(settingTable) as SettingName[];

/** Pure: the allowed words of a setting; empty if it takes other values. */
export function wordsOf(setting: string): readonly string[] {
  return settingTable[setting as SettingName]?.words ?? [];
}

export const defaultProfile = 'default';

/**
 * The settings of one profile: the named one, else that of LEADPIPE_PROFILE, else the one chosen by `auth switch`. Without a file, or
 * without a default profile, they are empty. Throws ConfigurationError for a file that can't be read or understood, and for a profile that
 * does not exist, unless it may be new.
 */
export async function readProfile(
  { directories, env }: Pick<Context, 'directories' | 'env'>,
  named: string | undefined,
  absent: 'refused' | 'may be new' = 'refused',
): Promise<Profile> {
  const path = settingsPath(directories.config);
  const { profile, profiles } = await readSettingsFile(directories.config);
  const name = named ?? (env.LEADPIPE_PROFILE || profile);
  const settings = Object.hasOwn(profiles, name) ? profiles[name] : undefined;
  if (settings === undefined) {
    if (name === defaultProfile || absent === 'may be new') return { name, settings: {} };
    const known = Object.keys(profiles).sort();
    throw new ConfigurationError(`there is no profile "${name}" in ${path}`, {
      is: 'no_profile',
      name,
      known,
    });
  }
  return { name, settings: toSettings(settings, name, path) };
}

/** The name of the profile to change, which may be new. Its settings may be damaged, since a change can repair them. */
export async function profileInUse({ directories, env }: Context, named: string | undefined) {
  const { profile } = await readSettingsFile(directories.config);
  return checkProfileName(named ?? (env.LEADPIPE_PROFILE || profile));
}

/**
 * The content of config.json: `{"profile": "work", "profiles": {"work": {"base_url": "https://…"}}}`. `profile` is used where none is
 * named. A missing file is empty. Throws ConfigurationError for a file that can't be read or understood.
 */
export async function readSettingsFile(configDir: string) {
  const { profile = defaultProfile, profiles = {} } = await readStore(configDir, 'config');
  const path = settingsPath(configDir);
  if (typeof profile !== 'string') throw new ConfigurationError(`${path}: "profile" is not a text`);
  if (!isObject(profiles)) throw new ConfigurationError(`${path}: "profiles" is not an object`);
  return { profile, profiles };
}

/** Sets settings of a profile, which is made if it does not exist; undefined removes a setting. Throws as `changeStore`. */
export async function changeSettings(
  context: StoreContext,
  profile: string,
  changes: Readonly<Partial<Record<SettingName, SettingValue | undefined>>>,
): Promise<void> {
  await changeStore(context, 'config', (content) => {
    const profiles = isObject(content.profiles) ? content.profiles : {};
    const own = Object.hasOwn(profiles, profile) ? profiles[profile] : undefined;
    const isRemoval = Object.values(changes).every((value) => value === undefined);
    if (own === undefined && isRemoval) return content;
    // JSON leaves out what is undefined.
    const settings = { ...(isObject(own) ? own : {}), ...changes };
    return { ...content, profiles: { ...profiles, [profile]: settings } };
  });
}

/** Makes this profile the one in use. Throws as `changeStore`. */
export async function switchProfile(context: StoreContext, profile: string): Promise<void> {
  await changeStore(context, 'config', (content) => ({ ...content, profile }));
}

/** Removes the settings of a profile. If it was in use, `default` is used from now on. Throws as `changeStore`. */
export async function removeProfile(context: StoreContext, profile: string): Promise<void> {
  await changeStore(context, 'config', ({ profile: used, ...content }) => {
    const { [profile]: _, ...profiles } = isObject(content.profiles) ? content.profiles : {};
    return { ...content, ...(used === undefined || used === profile ? {} : { profile: used }), profiles };
  });
}

/** Pure: the value of a text; `called` is its name in an error. Throws UsageError, and ConfigurationError for a refused address. */
export function toSettingValue(name: SettingName, given: string, called: string = name): SettingValue {
  const { parse, takes, accepts } = settingTable[name];
  const value = parse?.(given) ?? given;
  if (accepts(value)) return value;
  throw new UsageError(`${called} must be ${takes}, not "${clip(given)}"`);
}

/** Pure: checks a name, which must be valid in a shell, a file and a keychain. Throws UsageError. */
export function checkProfileName(name: string): string {
  if (/^[a-z0-9][\w.-]{0,63}$/i.test(name)) return name;
  throw new UsageError(
    `"${name}" can't be the name of a profile`,
    'A name has up to 64 letters, digits, dots, hyphens and underscores, and begins with a letter or digit.',
  );
}

function toSettings(settings: unknown, name: string, path: string): Settings {
  if (!isObject(settings)) throw new ConfigurationError(`${path}: the profile "${name}" is not an object`);
  for (const setting of settingNames) {
    const value = settings[setting];
    if (value !== undefined && !settingTable[setting].accepts(value)) {
      throw new ConfigurationError(
        `${path}: ${setting} of the profile "${name}" must be ${settingTable[setting].takes}`,
        { is: 'bad_setting', setting },
      );
    }
  }
  return settings;
}
