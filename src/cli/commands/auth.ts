import { Argument } from 'commander';
import { defaults } from '../../config/defaults.ts';
import { KeychainError } from '../../config/keychain.ts';
import {
  changeSetting,
  checkProfileName,
  defaultProfile,
  type Profile,
  profileInUse,
  readProfile,
  readSettingsFile,
  removeProfile,
  switchProfile,
} from '../../config/settings.ts';
import { keysPath } from '../../config/store.ts';
import {
  type CredentialStore,
  forgetKey,
  probeKeychain,
  readKeyRecord,
  readKeyRecords,
  storeKey,
} from '../../config/stored-keys.ts';
import { type Connection, findAddress, findTarget, type RouteStart } from '../../connection/connection.ts';
import type { Context } from '../../context.ts';
import { ConfigurationError, LeadpipeError, StoppedError, UsageError } from '../../errors.ts';
import { isObject } from '../../json/object.ts';
import { countOf, toThem } from '../../operations/wording.ts';
import { memberLayout } from '../../output/columns.ts';
import { toAddressText, toBaseUrl, withScheme } from '../../requests/address.ts';
import { checkKey } from '../../requests/api-key.ts';
import { ask, confirm } from '../ask.ts';
import { defineCommand, defineGroup } from '../command.ts';
import { addressOf, withConnection } from '../connect.ts';
import { changeOutcomes, freeOutcomes, localOutcomes } from '../exit-codes.ts';
import { toHint } from '../messages/hints.ts';
import { toMaskedKey } from '../messages/quoted.ts';
import { createNotes } from '../messages/status-line.ts';
import { readInput } from '../options/inputs.ts';
import type { ConnectionOptions, ProfileOptions, RecordOptions, ReportOptions } from '../options/options.ts';
import { printRecords } from '../records/record-output.ts';

/** How often to ask again for something that can't be used. */
const mostTries = 3;

export const createAuthLogin = defineCommand({
  name: 'login',
  summary: 'store the API key for an address',
  description:
    'Asks for the address of the service and the API key, checks the key with the service, and stores it for this address. When standard input is not a terminal, the key is read from it.',
  takes: ['service'],
  examples: [
    'leadpipe auth login',
    'leadpipe auth login --profile work --base-url https://api.example < key.txt',
  ],
  output: ['nothing on stdout; stderr says what was stored and where'],
  outcomes: freeOutcomes,
  async run(context, options: ConnectionOptions) {
    if (context.env.NODE_DEBUG) {
      throw new UsageError(
        'NODE_DEBUG is set, and Node would show the API key on the screen',
        'Turn it off for this command: NODE_DEBUG= leadpipe auth login',
      );
    }
    const notes = createNotes(context, options);
    const profile = await readProfile(context, options.profile, 'may be new');
    checkProfileName(profile.name);
    const baseUrl = await toAddress(context, options, profile);
    const { origin } = baseUrl;
    const key = await readKey(context, origin);
    const store = await chooseStore(context, profile, origin);
    const target = { baseUrl, apiKey: key, profile };
    const credits = await readBalance(context, options, target).catch((error: unknown) => {
      if (!(error instanceof LeadpipeError) || error.details.facts?.is !== 'unauthenticated') throw error;
      const hint = 'Check the key and the address, and run `leadpipe auth login` again. Nothing was stored.';
      throw error.with({ hint });
    });
    const leftover = await storeKey(context, profile.name, { origin, store, key });
    const address = toAddressText(baseUrl);
    if (profile.settings.base_url !== address)
      await changeSetting(context, profile.name, 'base_url', address);
    if (leftover !== undefined)
      notes.warn(`the old key could not be removed from the keychain: ${leftover.message}`);
    const place = store === 'file' ? keysPath(context.directories.config) : 'the keychain';
    notes.say(`Stored the key ${toMaskedKey(key)} for ${origin} in ${place}, profile "${profile.name}".`);
    notes.say(`${countOf(credits, 'credit')} ${toThem(credits, 'is', 'are')} available.`);
    const inUse = await readProfile(context, undefined, 'may be new');
    notes.say(
      inUse.name === profile.name
        ? 'Next, for at most 5 credits: leadpipe search company "seed-stage fintech in Berlin" --limit 5'
        : `The profile in use is still "${inUse.name}". To use the new one: leadpipe auth switch ${profile.name}`,
    );
    if (context.env.LEADPIPE_API_KEY)
      notes.warn('LEADPIPE_API_KEY is set, so that key is used and not the stored one');
  },
});

/** The credits. The answer also shows whether the key is accepted. */
async function readBalance(context: Context, options: ConnectionOptions, known: RouteStart['known']) {
  const ask = ({ client }: Connection) => client.balance(context.signal);
  return (await withConnection(context, options, ask, { known })).value.available_credits;
}

async function toAddress(context: Context, options: ConnectionOptions, profile: Profile): Promise<URL> {
  const { isTerminal } = context.stdin;
  const known = findAddress(context, addressOf(options), profile);
  if (known !== undefined && (options.baseUrl !== undefined || !isTerminal)) return known;
  if (!isTerminal) {
    throw new ConfigurationError(
      'the address of the service is missing',
      'Give it with --base-url https://…, or set LEADPIPE_BASE_URL.',
    );
  }
  const proposal = known === undefined ? '' : ` [${toAddressText(known)}]`;
  const question = `Address of the service${proposal}:`;
  for (let time = 1; ; time++) {
    const given = (await ask(context, question, 'shown')).trim();
    if (given === '' && known !== undefined) return known;
    try {
      return toBaseUrl(withScheme(given) ?? given, 'the prompt');
    } catch (error) {
      if (!(error instanceof LeadpipeError) || time === mostTries) throw error;
      createNotes(context, {}).warn([error.message, toHint(error)].join('. '));
    }
  }
}

async function readKey(context: Context, origin: string): Promise<string> {
  const { isTerminal } = context.stdin;
  const given = isTerminal
    ? await ask(context, `API key for ${origin} (not shown):`, 'hidden')
    : await readInput(context, 'the API key');
  const key = given.trim();
  if (key === '') {
    const hint = isTerminal
      ? undefined
      : 'Give it on standard input: leadpipe auth login --base-url … < key.txt';
    throw new ConfigurationError('the API key is missing', hint);
  }
  return checkKey(key, isTerminal ? 'the prompt' : 'standard input');
}

/** The keychain, unless the user chose a file: by a setting, with the profile's earlier key, or when asked here. */
async function chooseStore(context: Context, profile: Profile, origin: string): Promise<CredentialStore> {
  const { config } = context.directories;
  const chosen = context.env.LEADPIPE_CREDENTIAL_STORE || profile.settings.credential_store;
  if (chosen !== undefined && chosen !== 'keychain' && chosen !== 'file') {
    throw new ConfigurationError(`LEADPIPE_CREDENTIAL_STORE must be keychain or file, not "${chosen}"`);
  }
  const before = await readKeyRecord(config, profile.name);
  const store = chosen ?? before?.store ?? defaults.credential_store;
  if (store === 'file') return store;
  try {
    await probeKeychain(context, profile.name, origin);
    return store;
  } catch (error) {
    if (!(error instanceof KeychainError) || error.kind !== 'absent' || !context.stdin.isTerminal)
      throw error;
    createNotes(context, {}).warn(error.message);
    const question = `Store the key in the file ${keysPath(config)}, which only you can read (0600)?`;
    if (await confirm(context, question)) return 'file';
    throw error;
  }
}

const createAuthLogout = defineCommand({
  name: 'logout',
  summary: 'remove the stored key of a profile',
  description: 'Removes the stored key of a profile from this machine. The key stays valid at the service.',
  takes: ['profile'],
  examples: ['leadpipe auth logout', 'leadpipe auth logout --profile work'],
  output: ['nothing on stdout; stderr says which key was removed'],
  outcomes: changeOutcomes,
  async run(context, options: ProfileOptions) {
    // Works also for a profile with damaged or missing settings.
    const name = await profileInUse(context, options.profile);
    const forgotten = await forgetKey(context, name);
    createNotes(context, options).say(
      forgotten === undefined
        ? `No key is stored for the profile "${name}".`
        : `Removed the key of the profile "${name}" for ${forgotten.origin}.`,
    );
  },
});

const createAuthStatus = defineCommand({
  name: 'status',
  summary: 'show which key is used and whether it is valid',
  description:
    'Prints the profile, its address, where the key comes from, the last characters of the key, and whether the service accepts it.',
  takes: ['records', 'service'],
  examples: ['leadpipe auth status', 'leadpipe auth status --profile work -f json | jq .valid'],
  output: [
    'one object; valid is null when the key could not be checked:',
    '{"profile":"default","base_url":"https://…","key_from":"keychain",',
    ' "key":"…9f3c","valid":true,',
    ' "available_credits":1200}',
  ],
  outcomes: freeOutcomes,
  async run(context, options: ConnectionOptions & RecordOptions) {
    const profile = await readProfile(context, options.profile);
    const target = await findTarget(context, addressOf(options), profile);
    const asked = await readBalance(context, options, { ...target, profile }).catch((error: unknown) => {
      if (error instanceof LeadpipeError && !(error instanceof StoppedError)) return error;
      throw error;
    });
    const isValid = typeof asked === 'number';
    const status = {
      profile: profile.name,
      base_url: toAddressText(target.baseUrl),
      key_from: target.source,
      key: toMaskedKey(target.apiKey),
      valid: isValid ? true : asked.outcome === 'authentication' ? false : null,
      available_credits: isValid ? asked : null,
    };
    const layout = memberLayout(Object.keys(status));
    await printRecords(context, options, { shape: 'single', layout, settings: profile.settings }, [status]);
    if (!isValid) throw asked;
  },
});

const profilesLayout = memberLayout(['profile', 'in_use', 'base_url', 'key_in', 'key_for']);

const createAuthList = defineCommand({
  name: 'list',
  summary: 'list the profiles and where their keys are stored',
  description:
    'Prints each profile with its address, where its key is stored, and the address that the key is for.',
  takes: ['records', 'report'],
  examples: ['leadpipe auth list', 'leadpipe auth list -f jsonl'],
  output: [
    'one object for each profile (the keychain is not read):',
    '{"profile":"default","in_use":true,"base_url":"https://…",',
    ' "key_in":"keychain","key_for":"https://…"}',
  ],
  outcomes: localOutcomes,
  async run(context, options: RecordOptions & ReportOptions) {
    const { name, settings } = await readProfile(context, undefined, 'may be new');
    const { profiles, keys, names } = await readProfiles(context);
    const records = names.map((profile) => {
      const own = profiles[profile];
      const base_url = isObject(own) && typeof own.base_url === 'string' ? own.base_url : null;
      const { store = null, origin = null } = keys[profile] ?? {};
      return { profile, in_use: profile === name, base_url, key_in: store, key_for: origin };
    });
    await printRecords(context, options, { shape: 'list', layout: profilesLayout, settings }, records);
    if (records.length === 0)
      createNotes(context, options).say('There are no profiles yet. Create one: leadpipe auth login');
  },
});

const profileArgument = new Argument('<profile>', 'the name of a profile; `leadpipe auth list` lists them');

const createAuthSwitch = defineCommand({
  name: 'switch',
  summary: 'use another profile from now on',
  description: 'Chooses the profile that is used when neither --profile nor LEADPIPE_PROFILE names one.',
  arguments: [profileArgument],
  takes: ['report'],
  examples: ['leadpipe auth switch work', 'leadpipe auth switch default'],
  output: ['nothing on stdout'],
  outcomes: changeOutcomes,
  async run(context, profile: string, options: ReportOptions) {
    if (profile !== defaultProfile) await checkIsThere(context, profile);
    await switchProfile(context, profile);
    const notes = createNotes(context, options);
    notes.say(`The profile in use is now "${profile}".`);
    const { LEADPIPE_PROFILE } = context.env;
    if (LEADPIPE_PROFILE)
      notes.warn(`LEADPIPE_PROFILE is set, so the profile "${LEADPIPE_PROFILE}" is still used`);
  },
});

const createAuthRemove = defineCommand({
  name: 'remove',
  summary: 'remove a profile: its settings and its key',
  description:
    'Removes the settings and the stored key of a profile from this machine. The key stays valid at the service, and the history stays.',
  arguments: [profileArgument],
  takes: ['report'],
  examples: ['leadpipe auth remove work', 'leadpipe auth remove old.test'],
  output: ['nothing on stdout; stderr says what was removed'],
  outcomes: changeOutcomes,
  async run(context, profile: string, options: ReportOptions) {
    await checkIsThere(context, profile);
    // The key comes first: if the keychain refuses, the profile still says where the key is.
    const forgotten = await forgetKey(context, profile);
    await removeProfile(context, profile);
    const key = forgotten === undefined ? '' : `, and its key for ${forgotten.origin}`;
    createNotes(context, options).say(`Removed the settings of the profile "${profile}"${key}.`);
  },
});

/** Throws UsageError. */
async function checkIsThere(context: Context, profile: string): Promise<void> {
  const { names } = await readProfiles(context);
  if (names.includes(profile)) return;
  throw new UsageError(`there is no profile "${profile}"`, { is: 'no_profile', name: profile, known: names });
}

/** The profiles that have settings or a key, sorted by name. */
async function readProfiles({ directories }: Context) {
  const { profiles } = await readSettingsFile(directories.config);
  const keys = await readKeyRecords(directories.config);
  return { profiles, keys, names: [...new Set([...Object.keys(profiles), ...Object.keys(keys)])].sort() };
}

export const createCommand = defineGroup(
  {
    name: 'auth',
    description: 'Stores API keys, and shows which one is used.',
    examples: ['leadpipe auth login', 'leadpipe auth status'],
    remarks: [
      'Each profile has one key, for one address. Keys are stored in the keychain of the operating system. LEADPIPE_API_KEY is used before a stored key. No option takes a key, because other users of this machine can read command lines.',
    ],
  },
  [createAuthLogin, createAuthLogout, createAuthStatus, createAuthList, createAuthSwitch, createAuthRemove],
);
