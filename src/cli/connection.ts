import { hash } from 'node:crypto';
import type { Dispatcher } from 'undici';
import type { Client } from '../client.ts';
import { isLoopback, toBaseUrl } from '../config/address.ts';
import { readSettings, type Settings } from '../config/settings.ts';
import type { Context } from '../context.ts';
import type { EndpointName, KeyHeader } from '../contract/endpoints.ts';
import { ConfigurationError } from '../errors.ts';
import type { Preview, Request } from '../transport/request.ts';
import type { TimeLimits } from '../transport/watch.ts';
import type { LocalOptions } from './local.ts';
import { createNotes } from './notes.ts';
import type { ConnectionOptions } from './options.ts';

/** `retry.attempts` and `retry.budget`, the latter in seconds. */
const defaultAttempts = 20;
const defaultBudget = 60;

/** A way to the service. */
export interface Connection {
  readonly client: Client;
  readonly settings: Settings;
  readonly profile: string | undefined;
  /** Where requests go; `local` for the local service, whose port is another each time. */
  readonly origin: string;
  /** A short fingerprint of the API key, which itself goes to the transport alone. */
  fingerprint(salt: string): string;
  /** What would be sent. */
  preview(request: Request): Preview;
}

interface Target {
  readonly baseUrl: URL;
  readonly apiKey: string;
  close(): Promise<void>;
}

/** Address, key and connections, for the one command that speaks HTTP itself: `conformance`. */
export interface Route {
  readonly baseUrl: URL;
  readonly apiKey: string;
  readonly settings: Settings;
  readonly profile: string | undefined;
  readonly keyHeader: KeyHeader | undefined;
  readonly dispatcher: Dispatcher;
}

/**
 * Finds address and key (option, then environment, then profile) and runs `work` with a client of them; with
 * `--local`, of a local service that lives as long. Throws ConfigurationError, before anything is sent, and what
 * `work` throws.
 */
export function withConnection<T>(
  context: Context,
  options: ConnectionOptions,
  work: (connection: Connection) => Promise<T>,
): Promise<T> {
  return withRoute(
    context,
    options,
    async ({ baseUrl, apiKey, settings, profile, keyHeader, dispatcher }) => {
      const [{ createTransport }, { createClient }, { timeLimits }] = await Promise.all([
        import('../transport/request.ts'),
        import('../client.ts'),
        import('../transport/time-limits.ts'),
      ]);
      const transport = createTransport({
        fetch: context.fetch,
        clock: context.clock,
        dispatcher,
        baseUrl,
        apiKey,
        keyHeader,
        userAgent: `leadpipe/${context.version}`,
        ...(options.verbose ? { trace: createNotes(context, options).trace } : {}),
        random: context.random,
        retryAttempts: settings['retry.attempts'] ?? defaultAttempts,
        retryBudgetMs: 1000 * (settings['retry.budget'] ?? defaultBudget),
      });
      const limitsOf = (endpoint: EndpointName): TimeLimits =>
        toTimeLimits(timeLimits[endpoint], settings, options.timeout);
      return await work({
        client: createClient(transport, limitsOf),
        settings,
        profile,
        origin: options.local ? 'local' : baseUrl.origin,
        fingerprint: (salt) => hash('sha256', `${salt}:${apiKey}`).slice(0, 12),
        preview: transport.preview,
      });
    },
  );
}

/** As `withConnection`, without the client; `local` is how a local service of `--local` differs from the usual. */
export async function withRoute<T>(
  context: Context,
  options: ConnectionOptions,
  work: (route: Route) => Promise<T>,
  local: Partial<LocalOptions> = {},
): Promise<T> {
  const profile = options.profile ?? (context.env.LEADPIPE_PROFILE || undefined);
  const settings = await readSettings(context.directories.config, profile);
  const target = options.local
    ? await startLocal(context, options, local)
    : findTarget(context, options, settings);
  const [{ createAgent }, { connectSeconds }] = await Promise.all([
    import('../transport/agent.ts'),
    import('../transport/time-limits.ts'),
  ]);
  const { baseUrl, apiKey } = target;
  const dispatcher = await createAgent({
    proxies: !isLoopback(baseUrl.hostname),
    connectTimeoutMs: 1000 * (settings['timeout.connect'] ?? connectSeconds),
    env: context.env,
  });
  try {
    return await work({ baseUrl, apiKey, settings, profile, keyHeader: keyHeaderOf(settings), dispatcher });
  } finally {
    await dispatcher.destroy();
    await target.close();
  }
}

function findTarget(context: Context, options: ConnectionOptions, settings: Settings): Target {
  const { env } = context;
  const [address, source] =
    options.baseUrl !== undefined
      ? [options.baseUrl, '--base-url']
      : env.LEADPIPE_BASE_URL
        ? [env.LEADPIPE_BASE_URL, 'LEADPIPE_BASE_URL']
        : [settings.base_url, 'the profile'];
  if (address === undefined) {
    throw new ConfigurationError(
      'no address of a service is known',
      'Set LEADPIPE_BASE_URL to your service, or try it out with --local: offline, free, fictional.',
    );
  }
  const baseUrl = toBaseUrl(address, source);
  const apiKey = env.LEADPIPE_API_KEY?.trim();
  if (!apiKey) {
    throw new ConfigurationError(
      `no API key for ${baseUrl.origin} is known`,
      'Set LEADPIPE_API_KEY, or try it out with --local.',
    );
  }
  if (!/^[\x21-\x7e]+$/.test(apiKey)) {
    throw new ConfigurationError(
      'the key in LEADPIPE_API_KEY holds white space or characters that no header can carry',
    );
  }
  return { baseUrl, apiKey, close: async () => {} };
}

async function startLocal(
  context: Context,
  options: ConnectionOptions,
  change: Partial<LocalOptions>,
): Promise<Target> {
  const { openLocalService } = await import('./local.ts');
  const local = await openLocalService(context, { port: 0, brief: true, ...change });
  if (local.service.fictional)
    createNotes(context, options).say('The local service answers with fictional leads.');
  return { baseUrl: new URL(local.service.url), apiKey: local.apiKey, close: () => local.service.close() };
}

function keyHeaderOf(settings: Settings): KeyHeader | undefined {
  return settings.auth_header === 'auto' ? undefined : settings.auth_header;
}

function toTimeLimits(limits: TimeLimits, settings: Settings, timeout: number | undefined): TimeLimits {
  const event = timeout ?? settings['timeout.event'] ?? limits.event;
  const headers = timeout ?? settings['timeout.headers'] ?? limits.headers;
  const idle = timeout ?? settings['timeout.idle'] ?? limits.idle;
  return {
    headers,
    idle,
    ...(limits.event === undefined || event === undefined ? {} : { event }),
    // A longer silence that was asked for must fit into the whole.
    total: Math.max(settings['timeout.total'] ?? limits.total, headers + idle),
  };
}
