import { Command } from 'commander';
import {
  defaultProfile,
  profileInUse,
  readProfile,
  readSettingsFile,
  removeProfile,
  switchProfile,
} from '../../config/settings.ts';
import { forgetKey, type KeyRecord, readKeyRecords } from '../../config/stored-keys.ts';
import { findAddress, findKey, noTarget } from '../../connection/address-and-key.ts';
import type { Context } from '../../context.ts';
import { LeadpipeError, UsageError } from '../../errors.ts';
import { isObject } from '../../json/object.ts';
import { memberLayout } from '../../output/columns.ts';
import type { Layout } from '../../output/layout.ts';
import { memberColumn } from '../../output/table-columns.ts';
import { toAddressText } from '../../requests/address.ts';
import { StoppedError } from '../../transport/errors.ts';
import { addressOf, withConnection } from '../connect.ts';
import { changeOutcomes, freeOutcomes, localOutcomes } from '../exit-codes.ts';
import { addHelp } from '../help.ts';
import { toMaskedKey } from '../messages/masked-key.ts';
import { createNotes } from '../messages/notes.ts';
import {
  addProfileOption,
  addRecordOptions,
  addReportOptions,
  addServiceOptions,
  type ConnectionOptions,
  type ProfileOptions,
  type RecordOptions,
  type ReportOptions,
} from '../options/options.ts';
import { printRecords } from '../records/record-output.ts';
import { createAuthLoginCommand } from './auth-login.ts';

export function createAuthCommand(context: Context): Command {
  const group = new Command('auth').description('Stores API keys, and shows which one is used.');
  const commands = [
    createAuthLoginCommand,
    logoutCommand,
    statusCommand,
    listCommand,
    switchCommand,
    removeCommand,
  ];
  for (const create of commands) group.addCommand(create(context));
  return addHelp(group, {
    examples: ['leadpipe auth login', 'leadpipe auth status'],
    remarks: [
      'Each profile has one key, for one address. Keys are stored in the keychain of the operating system. LEADPIPE_API_KEY is used before a stored key. No option takes a key, because other users of this machine can read command lines.',
    ],
  });
}

function logoutCommand(context: Context): Command {
  const command = new Command('logout')
    .summary('remove the stored key of a profile')
    .description(
      'Removes the stored key of a profile from this machine. The key stays valid at the service.',
    );
  return addHelp(addReportOptions(addProfileOption(command)), {
    examples: ['leadpipe auth logout', 'leadpipe auth logout --profile work'],
    output: ['nothing on stdout; stderr says which key was removed'],
    outcomes: changeOutcomes,
  }).action((options: ProfileOptions) => runLogout(context, options));
}

async function runLogout(context: Context, options: ProfileOptions): Promise<void> {
  // Also of a profile whose settings are damaged or gone.
  const name = await profileInUse(context, options.profile);
  const forgotten = await forgetKey(context, name);
  createNotes(context, options).say(
    forgotten === undefined
      ? `No key is stored for the profile "${name}".`
      : `Removed the key of the profile "${name}" for ${forgotten.origin}.`,
  );
}

type StatusOptions = Omit<ConnectionOptions, 'local'> & RecordOptions;

/** What `auth status` prints. */
interface AuthStatus {
  readonly profile: string;
  readonly base_url: string;
  readonly key_from: string;
  readonly key: string;
  /** Null when the service gave no answer about the key. */
  readonly valid: boolean | null;
  readonly available_credits: number | null;
}

const statusLayout = memberLayout([
  'profile',
  'base_url',
  'key_from',
  'key',
  'valid',
  'available_credits',
] satisfies (keyof AuthStatus)[]);

function statusCommand(context: Context): Command {
  const command = new Command('status')
    .summary('show which key is used and whether it is valid')
    .description(
      'Prints the profile, its address, where the key comes from, the last characters of the key, and whether the service accepts it.',
    );
  return addHelp(addServiceOptions(addRecordOptions(command)), {
    examples: ['leadpipe auth status', 'leadpipe auth status --profile work -f json | jq .valid'],
    output: [
      'one object; valid is null when the key could not be checked:',
      '{"profile":"default","base_url":"https://…","key_from":"keychain",',
      ' "key":"…9f3c","valid":true,',
      ' "available_credits":1200}',
    ],
    outcomes: freeOutcomes,
  }).action((options: StatusOptions) => runStatus(context, options));
}

async function runStatus(context: Context, options: StatusOptions): Promise<void> {
  const profile = await readProfile(context, options.profile);
  const baseUrl = findAddress(context, addressOf(options), profile);
  if (baseUrl === undefined) throw noTarget;
  const { apiKey, source } = await findKey(context, profile, baseUrl);
  const start = { known: { baseUrl, apiKey, profile } };
  const asked = await withConnection(context, options, ({ client }) => client.balance(context.signal), start)
    .then(({ value }) => value.available_credits)
    .catch((error: unknown) => toRefusal(error));
  const status: AuthStatus = {
    profile: profile.name,
    base_url: toAddressText(baseUrl),
    key_from: source,
    key: toMaskedKey(apiKey),
    valid: typeof asked === 'number' ? true : asked.outcome === 'authentication' ? false : null,
    available_credits: typeof asked === 'number' ? asked : null,
  };
  const { settings } = profile;
  await printRecords(context, options, { shape: 'single', layout: statusLayout, settings }, [status]);
  if (typeof asked !== 'number') throw asked;
}

/** What the service or the way to it had against the key; a stop or a bug is thrown on. */
function toRefusal(error: unknown): LeadpipeError {
  if (error instanceof LeadpipeError && !(error instanceof StoppedError)) return error;
  throw error;
}

type ListOptions = RecordOptions & ReportOptions;

/** What `auth list` prints of a profile. */
interface ProfileRecord {
  readonly profile: string;
  readonly in_use: boolean;
  readonly base_url: string | null;
  /** Null where no key is stored. */
  readonly key_in: KeyRecord['store'] | null;
  readonly key_for: string | null;
}

const profilesLayout: Layout = {
  ...memberLayout(['profile', 'in_use', 'base_url', 'key_in', 'key_for'] satisfies (keyof ProfileRecord)[]),
  table: [
    memberColumn('profile', { min: 8, max: 24, role: 'title' }),
    memberColumn('in_use', { min: 6, max: 6 }),
    memberColumn('base_url', { min: 16, max: 60 }),
    memberColumn('key_in', { min: 8, max: 8 }),
    memberColumn('key_for', { min: 16, max: 60 }),
  ],
};

function listCommand(context: Context): Command {
  const command = new Command('list')
    .summary('list the profiles and where their keys are stored')
    .description(
      'Prints each profile with its address, where its key is stored, and the address that the key is for.',
    );
  return addHelp(addReportOptions(addRecordOptions(command)), {
    examples: ['leadpipe auth list', 'leadpipe auth list -f jsonl'],
    output: [
      'one object for each profile (the keychain is not read):',
      '{"profile":"default","in_use":true,"base_url":"https://…",',
      ' "key_in":"keychain","key_for":"https://…"}',
    ],
    outcomes: localOutcomes,
  }).action((options: ListOptions) => runList(context, options));
}

async function runList(context: Context, options: ListOptions): Promise<void> {
  const { name, settings } = await readProfile(context, undefined, 'may be new');
  const { profiles, keys, names } = await readProfiles(context);
  const records = names.map((profile): ProfileRecord => {
    const own = profiles[profile];
    const base_url = isObject(own) && typeof own.base_url === 'string' ? own.base_url : null;
    const { store = null, origin = null } = keys[profile] ?? {};
    return { profile, in_use: profile === name, base_url, key_in: store, key_for: origin };
  });
  await printRecords(context, options, { shape: 'list', layout: profilesLayout, settings }, records);
  if (records.length === 0)
    createNotes(context, options).say('There are no profiles yet. Create one: leadpipe auth login');
}

function switchCommand(context: Context): Command {
  const command = new Command('switch')
    .summary('use another profile from now on')
    .description('Chooses the profile that is used when neither --profile nor LEADPIPE_PROFILE names one.')
    .argument('<profile>', 'the name of a profile; `leadpipe auth list` lists them');
  return addHelp(addReportOptions(command), {
    examples: ['leadpipe auth switch work', 'leadpipe auth switch default'],
    output: ['nothing on stdout'],
    outcomes: changeOutcomes,
  }).action((profile: string, options: ReportOptions) => runSwitch(context, profile, options));
}

async function runSwitch(context: Context, profile: string, options: ReportOptions): Promise<void> {
  if (profile !== defaultProfile) await checkIsThere(context, profile);
  await switchProfile(context, profile);
  const notes = createNotes(context, options);
  notes.say(`The profile in use is now "${profile}".`);
  const { LEADPIPE_PROFILE } = context.env;
  if (LEADPIPE_PROFILE)
    notes.warn(`LEADPIPE_PROFILE is set, so the profile "${LEADPIPE_PROFILE}" is still used`);
}

function removeCommand(context: Context): Command {
  const command = new Command('remove')
    .summary('remove a profile: its settings and its key')
    .description(
      'Removes the settings and the stored key of a profile from this machine. The key stays valid at the service, and the history stays.',
    )
    .argument('<profile>', 'the name of a profile; `leadpipe auth list` lists them');
  return addHelp(addReportOptions(command), {
    examples: ['leadpipe auth remove work', 'leadpipe auth remove old.test'],
    output: ['nothing on stdout; stderr says what was removed'],
    outcomes: changeOutcomes,
  }).action((profile: string, options: ReportOptions) => runRemove(context, profile, options));
}

async function runRemove(context: Context, profile: string, options: ReportOptions): Promise<void> {
  await checkIsThere(context, profile);
  // First: where the keychain refuses, the profile still says where its key is.
  const forgotten = await forgetKey(context, profile);
  await removeProfile(context, profile);
  const key = forgotten === undefined ? '' : `, and its key for ${forgotten.origin}`;
  createNotes(context, options).say(`Removed the settings of the profile "${profile}"${key}.`);
}

/** Throws UsageError. */
async function checkIsThere(context: Context, profile: string): Promise<void> {
  const { names } = await readProfiles(context);
  if (names.includes(profile)) return;
  throw new UsageError(
    `there is no profile "${profile}"`,
    `${names.length === 0 ? '' : `The profiles are ${names.join(', ')}. `}To create "${profile}": leadpipe auth login --profile ${profile}`,
  );
}

/** The profiles that have settings or a key, their names sorted. */
async function readProfiles({ directories }: Context) {
  const { profiles } = await readSettingsFile(directories.config);
  const keys = await readKeyRecords(directories.config);
  return { profiles, keys, names: [...new Set([...Object.keys(profiles), ...Object.keys(keys)])].sort() };
}
