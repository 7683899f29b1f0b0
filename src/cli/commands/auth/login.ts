import { defaults } from '../../../config/defaults.ts';
import { KeychainError } from '../../../config/keychain.ts';
import { changeSettings, checkProfileName, type Profile, readProfile } from '../../../config/settings.ts';
import { keysPath } from '../../../config/store.ts';
import { type CredentialStore, probeKeychain, readKeyRecord, storeKey } from '../../../config/stored-keys.ts';
import { findAddress } from '../../../connection/connection.ts';
import type { Context } from '../../../context.ts';
import { ConfigurationError, LeadpipeError, UsageError } from '../../../errors.ts';
import { countOf, plural } from '../../../operations/wording.ts';
import { toAddressText, toBaseUrl, withScheme } from '../../../requests/address.ts';
import { checkKey, toMaskedKey } from '../../../requests/api-key.ts';
import { ask, confirm } from '../../ask.ts';
import { defineCommand } from '../../command.ts';
import { addressOf } from '../../connect.ts';
import { freeOutcomes } from '../../exit-codes.ts';
import { toHint } from '../../messages/hints.ts';
import { flagOf } from '../../messages/proposed.ts';
import { createNotes } from '../../messages/status-line.ts';
import { readInput } from '../../options/inputs.ts';
import type { ConnectionOptions } from '../../options/shared-options.ts';
import { readBalance } from './key-check.ts';

/** Attempts to type a valid address. */
const maxTries = 3;

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
  run: runAuthLogin,
});

async function runAuthLogin(context: Context, options: ConnectionOptions): Promise<void> {
  if (context.env.NODE_DEBUG) {
    throw new UsageError(
      'NODE_DEBUG is set, and Node would show the API key on the screen',
      `Turn it off for this command: NODE_DEBUG= leadpipe auth login${flagOf(options.profile)}`,
    );
  }
  const notes = createNotes(context, options);
  const profile = await readProfile(context, options.profile, 'may be new');
  checkProfileName(profile.name);
  const baseUrl = await readAddress(context, options, profile);
  const { origin } = baseUrl;
  const key = await readKey(context, origin);
  const target = { baseUrl, apiKey: key, profile };
  // The key is tried first: a user who mistyped it is not asked where to store it.
  const credits = await readBalance(context, options, target).catch((error: unknown) => {
    if (!(error instanceof LeadpipeError) || error.details.facts?.is !== 'unauthenticated') throw error;
    const again = `leadpipe auth login${flagOf(profile.name)}`;
    const hint = `Check the key and the address, and run \`${again}\` again. Nothing was stored.`;
    throw error.with({ hint });
  });
  const store = await chooseStore(context, profile, origin);
  const leftover = await storeKey(context, profile.name, { origin, store, key });
  const address = toAddressText(baseUrl);
  if (profile.settings.base_url !== address)
    await changeSettings(context, profile.name, { base_url: address });
  if (leftover !== undefined)
    notes.warn(`the old key could not be removed from the keychain: ${leftover.message}`);
  const place = store === 'file' ? keysPath(context.directories.config) : 'the keychain';
  notes.say(`Stored the key ${toMaskedKey(key)} for ${origin} in ${place}, profile "${profile.name}".`);
  notes.say(`${countOf(credits, 'credit')} ${plural(credits, 'is', 'are')} available.`);
  const inUse = await readProfile(context, undefined, 'may be new');
  notes.say(
    inUse.name === profile.name
      ? 'Next, for at most 5 credits: leadpipe search company "seed-stage fintech in Berlin" --limit 5'
      : `The profile in use is still "${inUse.name}". To use the new one: leadpipe auth switch ${profile.name}`,
  );
  if (context.env.LEADPIPE_API_KEY)
    notes.warn('LEADPIPE_API_KEY is set, so that key is used and not the stored one');
}

async function readAddress(context: Context, options: ConnectionOptions, profile: Profile): Promise<URL> {
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
    const empty = 'Please type the address, for example https://api.example.com';
    const given = await askFor(context, question, 'shown', known === undefined ? empty : undefined);
    if (given === '' && known !== undefined) return known;
    try {
      return toBaseUrl(withScheme(given) ?? given, 'that you typed');
    } catch (error) {
      if (!(error instanceof LeadpipeError) || time === maxTries) throw error;
      createNotes(context, {}).warn([error.message, toHint(error)].join('. '));
    }
  }
}

/** Asks again after an empty line, and prints `empty`, if given. */
async function askFor(
  context: Context,
  question: string,
  hidden: 'hidden' | 'shown',
  empty: string | undefined,
): Promise<string> {
  for (let time = 1; ; time++) {
    const given = (await ask(context, question, hidden)).trim();
    if (given !== '' || empty === undefined) return given;
    const out = time === 1 ? ' (Ctrl-C stops. No account? Add --local to a command.)' : '';
    createNotes(context, {}).say(`${empty}${out}`);
  }
}

async function readKey(context: Context, origin: string): Promise<string> {
  const { isTerminal } = context.stdin;
  const question = `API key for ${origin} (not shown):`;
  const key = isTerminal
    ? await askFor(context, question, 'hidden', 'Please paste the API key. It is not shown.')
    : (await readInput(context, 'the API key')).trim();
  if (key === '') {
    const hint = 'Give it on standard input: leadpipe auth login --base-url … < key.txt';
    throw new ConfigurationError('the API key is missing', hint);
  }
  return checkKey(key, isTerminal ? 'that you typed' : 'from standard input');
}

/** The keychain, unless a file was chosen: by a setting, for the profile's earlier key, or in answer to the question. */
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
    if (await confirm(context, question, true)) return 'file';
    throw error;
  }
}
