import { setFlagsFromString } from 'node:v8';
import type { FreeClient } from '../client.ts';
import { defaults } from '../config/defaults.ts';
import { type Profile, readProfile, type Settings } from '../config/settings.ts';
import { readKeyRecord, readStoredKey } from '../config/stored-keys.ts';
import type { Context } from '../context.ts';
import { digestOf } from '../digest.ts';
import { ConfigurationError, LeadpipeError } from '../errors.ts';
import type { HeldLock } from '../files/folder-lock.ts';
import { isLoopback, toBaseUrl } from '../requests/address.ts';
import { checkKey } from '../requests/api-key.ts';
import type { Request } from '../transport/call.ts';
import { chooseProxy, type ProxyChoice } from '../transport/proxy.ts';
import type { Preview, Transport } from '../transport/request.ts';
import type { WaitListener } from '../transport/retry.ts';

/** An address of the service, and a key for it. */
export interface Target {
  readonly baseUrl: URL;
  readonly apiKey: string;
}

/** The service to use, and its timeout. Missing values come from the environment and the profile. */
export interface RouteOptions {
  readonly profile?: string | undefined;
  /** With its source, for messages. */
  readonly address?: { readonly text: string; readonly source: string } | undefined;
  readonly local?: boolean | undefined;
  /** Seconds. */
  readonly timeout?: number | undefined;
}

/** Receives notes and progress of connections and requests. */
export interface RouteListener {
  /** Receives a note, such as: the leads are fictional, or a part of the search was not understood. */
  say(line: string): void;
  /** A line for each request and answer. */
  readonly trace?: (line: string) => void;
  /** Called for each wait before another attempt. */
  readonly waits?: WaitListener;
  /** Called when a connection begins to open; the returned function is called when it is open or has failed. */
  readonly connecting?: (host: string) => () => void;
}

/** An address and a key to try, used instead of the options. */
export type KnownTarget = Target & { readonly profile: Profile };

/** A connection to the service. */
export interface Connection {
  /** For free requests. */
  readonly client: FreeClient;
  /** Makes a free client with its own listener for waits. */
  newFreeClient(waits: WaitListener): FreeClient;
  /** Makes the transport for a client. `lock` is an operation's lock, which is confirmed before each request is sent. */
  toTransport(waits?: WaitListener, lock?: HeldLock): Transport;
  readonly settings: Settings;
  /** The profile in use. */
  readonly profile: string;
  /** The address that requests go to; `local` for the local service, whose port changes. */
  readonly origin: string;
  /** A short fingerprint of the API key. */
  fingerprint(salt: string): string;
  /** The request as it would be sent. */
  preview(request: Request): Preview;
}

/**
 * Finds the address and the key (option, then environment, then profile) and runs `work` with a client for them. With `--local`, a local
 * service runs as long as `work`. Throws ConfigurationError, before anything is sent, and what `work` throws.
 */
export async function withConnection<T>(
  context: Context,
  options: RouteOptions,
  listener: RouteListener,
  work: (connection: Connection) => Promise<T>,
  known?: KnownTarget,
): Promise<T> {
  const profile = known?.profile ?? (await readProfile(context, options.profile));
  const { settings } = profile;
  const findStart = async (): Promise<OpenTarget> => {
    if (known !== undefined) return known;
    if (options.local) return await startLocal(context, listener);
    return await findTarget(context, options.address, profile);
  };
  // Reading the keychain and loading the network code are slow, so they run in parallel.
  const [target, { createAgent }, { createTransport }, { createClient }] = await Promise.all([
    findStart(),
    import('../transport/agent.ts'),
    import('../transport/request.ts'),
    import('../client.ts'),
  ]);
  const { baseUrl, apiKey } = target;
  try {
    const dispatcher = await createAgent({
      service: baseUrl,
      isLoopback: isLoopback(baseUrl.hostname),
      proxy: findProxy(baseUrl, context.env).proxy,
      connectTimeoutMs: 1000 * (settings['timeout.connect'] ?? defaults['timeout.connect']),
      env: context.env,
      caFile: settings.ca_file,
      connecting: listener.connecting,
      opened: () => keepBaselineWasm(context),
    });
    const keyHeader = settings.auth_header === 'auto' ? undefined : settings.auth_header;
    const toTransport = (waits?: WaitListener, lock?: HeldLock): Transport =>
      createTransport({
        clock: context.clock,
        dispatcher,
        baseUrl,
        apiKey,
        keyHeader,
        userAgent: `leadpipe/${context.version}`,
        trace: listener.trace,
        waits: (error, ms) => (waits?.(error, ms) === false ? false : listener.waits?.(error, ms)),
        beforeSend: lock?.confirm,
        random: context.random,
        retryAttempts: settings['retry.attempts'] ?? defaults['retry.attempts'],
        retryBudgetMs: 1000 * (settings['retry.budget'] ?? defaults['retry.budget']),
        timeouts: {
          headers: options.timeout ?? settings['timeout.headers'],
          idle: options.timeout ?? settings['timeout.idle'],
          event: options.timeout ?? settings['timeout.event'],
          total: settings['timeout.total'],
        },
      });
    const transport = toTransport();
    try {
      return await work({
        client: createClient(transport),
        newFreeClient: (waits) => createClient(toTransport(waits)),
        toTransport,
        settings,
        profile: profile.name,
        origin: options.local ? 'local' : baseUrl.origin,
        fingerprint: (salt) => digestOf(`${salt}:${apiKey}`, 12),
        preview: transport.preview,
      });
    } finally {
      await dispatcher.destroy();
    }
  } catch (error) {
    // The local service's own error is more precise than its refusal.
    throw target.failure?.() ?? error;
  } finally {
    await target.close?.();
  }
}

type OpenTarget = Target & { close?(): Promise<void>; failure?(): LeadpipeError | undefined };

async function startLocal(context: Context, { say }: RouteListener) {
  // Before keepBaselineWasm: Node's modules load slowly after it.
  await Promise.all([import('node:crypto'), import('node:fs/promises'), import('node:http')]);
  keepBaselineWasm(context);
  const { openLocalService } = await import('./local-service.ts');
  const hints: string[] = [];
  const hint = (line: string): number => hints.push(line);
  const local = await openLocalService(context, { port: 0, hint });
  if (local.service.fictional) say('The local service answers with fictional leads.');
  const close = async (): Promise<void> => {
    await local.service.close();
    // Printed after the command's own last line.
    for (const line of hints) say(line);
  };
  return { baseUrl: new URL(local.service.url), apiKey: local.apiKey, close, failure: local.failure };
}

/**
 * Node 20 only exits when V8 has optimised all compiled WebAssembly (undici's parser, SQLite), which takes longer than a short run. Call
 * this right before WebAssembly is compiled: Node's own modules load several times slower afterwards.
 */
function keepBaselineWasm({ nodeVersion }: Context): void {
  if (nodeVersion.startsWith('20.')) setFlagsFromString('--liftoff-only');
}

/** The first message for someone who has set up nothing yet. */
export const noTarget = new LeadpipeError(
  'configuration',
  'no service is set up yet: the address and the API key are missing',
  { facts: { is: 'no_target' } },
);

/** Address and key: given, else from the environment, else from the profile. Throws ConfigurationError, before anything is sent. */
export async function findTarget(context: Context, given: RouteOptions['address'], profile: Profile) {
  const baseUrl = findAddress(context, given, profile);
  if (baseUrl === undefined) {
    const record = await readKeyRecord(context.directories.config, profile.name);
    if (!context.env.LEADPIPE_API_KEY && record === undefined) throw noTarget;
    throw new ConfigurationError('the address of the service is missing', {
      is: 'no_address',
      keyOrigin: record?.origin,
    });
  }
  return { baseUrl, ...(await findKey(context, profile, baseUrl)) };
}

/** The address, undefined where none is known. Throws ConfigurationError for a refused one. */
export function findAddress(
  { env }: Context,
  given: RouteOptions['address'],
  { settings }: Profile,
): URL | undefined {
  if (given !== undefined) return toBaseUrl(given.text, `from ${given.source}`);
  if (env.LEADPIPE_BASE_URL) return toBaseUrl(env.LEADPIPE_BASE_URL, 'from LEADPIPE_BASE_URL');
  return settings.base_url === undefined ? undefined : toBaseUrl(settings.base_url, 'from the profile');
}

/** The key for an address, and where it comes from. Throws ConfigurationError, also for a key stored for another origin. */
export async function findKey(context: Context, { name }: Profile, { origin }: URL) {
  const source = 'LEADPIPE_API_KEY';
  const given = context.env[source]?.trim();
  if (given) return { apiKey: checkKey(given, `from ${source}`), source };
  const record = await readKeyRecord(context.directories.config, name);
  if (record === undefined) {
    throw new ConfigurationError(`there is no API key for ${origin}`, { is: 'no_key', profile: name });
  }
  if (record.origin !== origin) {
    throw new ConfigurationError(
      `the key of the profile "${name}" is only for ${record.origin}, so it was not sent to ${origin}`,
      { is: 'key_of_other_origin', profile: name, origin },
    );
  }
  const apiKey = await readStoredKey(context, name, record);
  return { apiKey: checkKey(apiKey, `from the ${record.store}`), source: record.store };
}

/** Pure: the proxy for an address, by the environment; none for this machine itself. Throws ConfigurationError. */
export function findProxy(address: URL, env: Context['env']): ProxyChoice {
  if (isLoopback(address.hostname))
    return { proxy: undefined, rule: 'the address is on this machine', unread: [] };
  return chooseProxy(address, env);
}
