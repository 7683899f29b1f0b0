import { lookup } from 'node:dns/promises';
import { constants } from 'node:fs';
import { access, mkdtemp, rm, stat, statfs } from 'node:fs/promises';
import { isIP } from 'node:net';
import { dirname, join } from 'node:path';
import { headersOf, memberLayout } from '../../columns/columns.ts';
import type { Layout, Tone } from '../../columns/layout.ts';
import { KeychainError } from '../../config/keychain.ts';
import { type Profile, readProfile } from '../../config/settings.ts';
import { keysPath, settingsPath } from '../../config/store.ts';
import { probeKeychain, readKeyRecord } from '../../config/stored-keys.ts';
import {
  type Connection,
  findAddress,
  findKey,
  findProxy,
  type KnownTarget,
  noTarget,
} from '../../connection/connection.ts';
import type { Context } from '../../context.ts';
import { limits } from '../../contract/limits.ts';
import { checkWebAssembly, LeadpipeError, type Outcome, StoppedError } from '../../errors.ts';
import { reasonOf } from '../../files/write-failure.ts';
import { countOf } from '../../operations/wording.ts';
import { memberColumn } from '../../output/table-columns.ts';
import { toAddressText } from '../../requests/address.ts';
import { toMaskedKey } from '../../requests/api-key.ts';
import { RequestError, ServiceError } from '../../transport/request-error.ts';
import { defineCommand } from '../command.ts';
import { addressOf, withConnection } from '../connect.ts';
import { freeOutcomes } from '../exit-codes.ts';
import { ranFor, toHint } from '../messages/hints.ts';
import type { Route } from '../messages/proposed.ts';
import { createNotes } from '../messages/status-line.ts';
import type { RecordOptions } from '../options/record-options.ts';
import type { ConnectionOptions } from '../options/shared-options.ts';
import { withOutput } from '../records/record-output.ts';

const tones: Readonly<Record<string, Tone>> = { ok: 'green', warning: 'yellow', failure: 'red' };

/** For people. Fixes are printed below the table, so that they can be copied. */
const doctorLayout: Layout = {
  ...memberLayout(['check', 'result', 'found', 'fix']),
  table: () => [
    memberColumn('check', { min: 16, max: 16, role: 'title' }),
    memberColumn('result', { min: 7, max: 7, role: 'detail', tone: (result) => tones[result] }),
    { ...memberColumn('found', { min: 20, max: Number.POSITIVE_INFINITY, role: 'body' }), lines: 20 },
  ],
};

export const createCommand = defineCommand({
  name: 'doctor',
  description:
    'Checks this machine, the settings, the connection to the service, and the key, and says how to repair what is wrong. It costs nothing. The exit code is 0 if a search would work now. If not, it is the exit code that the search would end with.',
  takes: ['records', 'connection'],
  examples: ['leadpipe doctor', 'leadpipe doctor --local -f json'],
  output: [
    'one object for each check; result is ok, warning, failure or skipped:',
    '{"check":"clock","result":"warning",',
    ' "found":"340 s ahead of the service","fix":"…"}',
  ],
  columns: () => headersOf(doctorLayout),
  outcomes: [...freeOutcomes, 'credits'],
  async run(context, options: ConnectionOptions & RecordOptions) {
    const findings: Finding[] = [];
    const notes = createNotes(context, options);
    /** Notes, printed after the table instead of between its rows. */
    const held: string[] = [];
    const printed = { shape: 'list', layout: doctorLayout, settings: {} } as const;
    await withOutput(context, options, printed, async (output) => {
      for await (const finding of checkAll(context, options, (line) => held.push(line))) {
        findings.push(finding);
        const { outcome: _, ...record } = finding;
        await output.write([JSON.stringify(record)]);
      }
    });
    for (const line of held) notes.say(line);
    const failures = findings.filter(({ result }) => result === 'failure');
    const [first] = failures;
    for (const finding of findings) {
      // The error says what to do about the first failure.
      if (finding.fix && finding !== first) notes.say(`${finding.check}: ${finding.fix}`);
    }
    if (first === undefined) return notes.say('A search would work now.');
    throw new LeadpipeError(
      first.outcome ?? 'configuration',
      `a search would fail now: ${failures.map(({ found }) => found).join('; ')}`,
      { type: 'unhealthy', hint: first.fix || undefined },
    );
  },
});

interface Found {
  readonly result: 'ok' | 'warning' | 'failure' | 'skipped';
  readonly found: string;
  /** Exactly what to do about it. */
  readonly fix: string | null;
  /** For a failure: how a search would end because of it. */
  readonly outcome?: Outcome;
}

type Finding = Found & { readonly check: string };

const ok = (found: string): Found => ({ result: 'ok', found, fix: null });
const skipped = (found: string): Found => ({ result: 'skipped', found, fix: null });
const warning = (found: string, fix: string): Found => ({ result: 'warning', found, fix });
const failure = (outcome: Outcome, found: string, fix: string): Found => {
  return { result: 'failure', found, fix, outcome };
};

/** The failure as a command would report it. Rethrows a signal or a bug. */
function failureOf(error: unknown, route: Route): Found {
  if (!(error instanceof LeadpipeError) || error instanceof StoppedError) throw error;
  return failure(error.outcome, error.message, toHint(error, ranFor(route)) ?? '');
}

/** Why later checks are skipped, by the check that failed. */
const obstacles: Readonly<Record<string, string>> = {
  settings: "the settings can't be read",
  address: 'there is no address',
  proxy: "the proxy can't be used",
  'host name': 'the host name is unknown',
  connection: 'there is no connection',
  key: "the key can't be used",
};

/** How many seconds the clocks may differ: certificates and `Retry-After` dates are compared with ours. */
const maxSkew = 60;

/**
 * Checks everything between this machine and the credits, with one free request, and a second one for what the key may do. `say` prints
 * notes about the service.
 */
async function* checkAll(context: Context, options: ConnectionOptions, say: (line: string) => void) {
  const { env, nodeVersion, clock } = context;
  const { config, state } = context.directories;
  let profile: Profile = { name: '', settings: {} };
  let baseUrl: URL | undefined;
  let target: KnownTarget | undefined;
  let proxy: string | undefined;
  /** Why the remaining checks are skipped. */
  let obstacle: string | undefined;
  let isKeyless = false;
  let answer: Awaited<ReturnType<typeof askService>> | undefined;
  let refusal: unknown;

  const checks: Readonly<Record<string, () => Found | Promise<Found>>> = {
    node() {
      checkWebAssembly();
      return checkNode(nodeVersion);
    },
    'config folder': () => checkMode(config, '700'),
    'state folder': () => checkState(state),
    async settings() {
      profile = await readProfile(context, options.profile);
      const path = settingsPath(config);
      return await checkMode(path, '600', `${path}, profile "${profile.name}"`);
    },
    async keychain() {
      if (options.local) return skipped('not needed: the local service has a key of its own');
      if (env.LEADPIPE_API_KEY) return skipped('not needed: LEADPIPE_API_KEY is set');
      const record = await readKeyRecord(config, profile.name);
      const path = keysPath(config);
      if (record?.store === 'file') return await checkMode(path, '600', `not needed: the key is in ${path}`);
      try {
        await probeKeychain(context, profile.name, record?.origin ?? 'nowhere');
        return ok('works');
      } catch (error) {
        const failed = failureOf(error, options);
        // The keychain is only needed if it has the key.
        if (record === undefined && error instanceof KeychainError) return { ...failed, result: 'warning' };
        isKeyless = true;
        return failed;
      }
    },
    address() {
      if (options.local) return ok('the local service (--local)');
      baseUrl = findAddress(context, addressOf(options), profile);
      if (baseUrl === undefined)
        return failure(noTarget.outcome, 'no address is set', toHint(noTarget, ranFor(options)) ?? '');
      return ok(toAddressText(baseUrl));
    },
    proxy() {
      const choice = baseUrl && findProxy(baseUrl, env);
      proxy = choice?.proxy?.name;
      const found = `${proxy ?? 'none'}${choice?.rule === undefined ? '' : ` (${choice.rule})`}`;
      const unread = choice?.unread ?? [];
      if (unread.length === 0) return ok(found);
      const fix = 'Write names, addresses or ranges such as 192.0.2.0/24, with commas between them.';
      return warning(`${found}; can't read ${unread.join(' and ')}`, fix);
    },
    'host name': () => checkName(baseUrl, proxy),
    async connection() {
      if (baseUrl !== undefined) {
        try {
          const { apiKey } = await findKey(context, profile, baseUrl);
          // No retries: a problem must show at once.
          const settings = { ...profile.settings, 'retry.attempts': 0 };
          target = { baseUrl, apiKey, profile: { ...profile, settings } };
        } catch (error) {
          refusal = error;
          return skipped('there is no API key');
        }
      }
      try {
        const ask = (connection: Connection) => askService(context, connection);
        answer = await withConnection(context, options, ask, target, say);
      } catch (error) {
        if (!(error instanceof ServiceError)) throw error;
        refusal = error;
      }
      return ok(
        answer && baseUrl?.protocol === 'https:' ? 'connected; the certificate is trusted' : 'connected',
      );
    },
    clock() {
      if (answer === undefined) return skipped('the balance could not be read');
      const seconds = Math.round((clock.now().getTime() - Date.parse(answer.serverTime ?? '')) / 1000);
      if (Number.isNaN(seconds)) return skipped('the service sends no time');
      if (Math.abs(seconds) <= maxSkew) return ok('same time as the service');
      const found = `${Math.abs(seconds)} s ${seconds > 0 ? 'ahead of' : 'behind'} the service`;
      return warning(found, 'Set the clock of this machine, for example: timedatectl set-ntp true');
    },
    key() {
      if (refusal !== undefined) throw refusal;
      const shown = target === undefined ? 'the key of the local service' : toMaskedKey(target.apiKey);
      return ok(`${shown} is valid`);
    },
    access() {
      if (answer?.refusal !== undefined) throw answer.refusal;
      return ok("searches are allowed; other commands can't be checked without paying");
    },
    credits: () => checkCredits(answer?.credits ?? 0),
  };

  for (const [check, run] of Object.entries(checks)) {
    let found: Found;
    if (check === 'connection' && isKeyless) obstacle ??= 'the key is in the keychain';
    try {
      found = obstacle === undefined ? await run() : skipped(obstacle);
    } catch (error) {
      found = failureOf(error, options);
    }
    if (found.result === 'failure') obstacle ??= obstacles[check];
    yield { check, ...found };
  }
}

function checkNode(version: string): Found {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  if (major > 20 || (major === 20 && minor >= 18)) return ok(version);
  return failure('configuration', version, 'Install Node 20.18 or newer.');
}

/** Warn below this free disk space, enough for many searches. */
const minFreeBytes = 50 * 1024 * 1024;

/** Checks the state folder: without a record there, nothing is bought. */
async function checkState(state: string): Promise<Found> {
  const change = 'set LEADPIPE_STATE_DIR to another folder.';
  try {
    const existing = await nearestFolder(state);
    if (existing === state) await rm(await mkdtemp(join(state, 'doctor-')), { recursive: true });
    else await access(existing, constants.W_OK);
    const { bavail, bsize } = await statfs(existing);
    if (bavail * bsize < minFreeBytes) {
      const found = `${state}: only ${Math.floor((bavail * bsize) / 1024 / 1024)} MiB of disk space is free`;
      return warning(found, `Free some space, or ${change}`);
    }
  } catch (error) {
    return failure('local_io', `${state}: ${reasonOf(error)}`, `Make it writable, or ${change}`);
  }
  return await checkMode(state, '700');
}

async function nearestFolder(folder: string): Promise<string> {
  const isThere = (await stat(folder).catch(() => undefined)) !== undefined;
  return isThere || dirname(folder) === folder ? folder : await nearestFolder(dirname(folder));
}

/** Checks that other users have no access to a file or folder, if it exists. `widest` is octal. */
async function checkMode(path: string, widest: string, found = path): Promise<Found> {
  const { mode } = (await stat(path).catch(() => undefined)) ?? { mode: 0 };
  if ((mode & 0o777 & ~Number.parseInt(widest, 8)) === 0) return ok(found);
  const open = `other users can read ${path} (mode ${(mode & 0o777).toString(8)})`;
  return warning(open, `chmod ${widest} '${path}'`);
}

async function checkName(baseUrl: URL | undefined, proxy: string | undefined): Promise<Found> {
  const host = (baseUrl?.hostname ?? '127.0.0.1').replace(/^\[|\]$/g, '');
  if (isIP(host) !== 0) return skipped('not needed (IP address)');
  if (proxy !== undefined) return skipped('not needed: the proxy looks it up');
  try {
    const addresses = await lookup(host, { all: true });
    return ok(`${host} is at ${addresses.map(({ address }) => address).join(', ')}`);
  } catch (error) {
    const fix = 'Check the address (leadpipe config get base_url), and that this machine is online.';
    return failure('temporary', `${host}: ${(error as Error).message}`, fix);
  }
}

/**
 * The balance and, if the key may not search, the error. Test: the status of an invented task is "not found" if it may. No other check is
 * free.
 */
async function askService({ signal }: Context, { client }: Connection) {
  const { value, serverTime } = await client.balance(signal);
  const answer = await client.status('ls_doctor', signal).catch((error: unknown) => error);
  const mayNot = answer instanceof Error && !(answer instanceof RequestError && answer.fault === 'missing');
  return { credits: value.available_credits, serverTime, refusal: mayNot ? answer : undefined };
}

function checkCredits(credits: number): Found {
  const defaultLimit = limits.entityLimit.default;
  const found = countOf(credits, 'credit');
  if (credits === 0) return failure('credits', found, 'Get credits for the account of this key.');
  if (credits >= defaultLimit) return ok(found);
  const fix = `A search asks for ${defaultLimit} leads by default, and may cost ${defaultLimit} credits. Add --limit ${credits}.`;
  return failure('credits', found, fix);
}
