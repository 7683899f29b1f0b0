import type { Keychain } from '../context.ts';
import { ConfigurationError, type Facts, LeadpipeError, stoppedBy } from '../errors.ts';

export interface KeychainRequest {
  readonly action: 'get' | 'set' | 'delete';
  readonly service: string;
  readonly account: string;
  readonly secret?: string;
}

export type KeychainFault = 'absent' | 'locked' | 'silent';

export interface KeychainAnswer {
  readonly secret?: string | null;
  readonly deleted?: boolean;
  readonly failure?: { readonly kind: KeychainFault; readonly message: string };
}

export interface KeychainOptions {
  /** The main of the child process, keychain-main.cjs. */
  readonly script: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly signal: AbortSignal;
}

/** A keychain that isn't there, is locked, or says nothing. */
export class KeychainError extends ConfigurationError {
  readonly kind: KeychainFault;

  constructor(kind: KeychainFault, message?: string) {
    const { cause, hint } = faults[kind];
    // What the library says is about D-Bus, and nothing for the user: --verbose shows it.
    super(cause, hint, message === undefined ? undefined : new Error(message));
    this.kind = kind;
  }
}

/** How long a keychain may take: a locked one can wait for a password that nobody is there to give. */
const patienceMs = 3000;

const faults: Readonly<Record<KeychainFault, { readonly cause: string; readonly hint: string | Facts }>> = {
  absent: {
    cause: 'no usable keychain was found on this machine',
    hint: { is: 'no_keychain' },
  },
  locked: {
    cause: 'the keychain is locked',
    hint: 'Unlock it, or set LEADPIPE_API_KEY for this run.',
  },
  silent: {
    cause: `the keychain did not answer within ${patienceMs / 1000} seconds`,
    hint: 'It may be waiting to be unlocked. Unlock it, or set LEADPIPE_API_KEY for this run.',
  },
};

const service = 'leadpipe';

/** The operating system's keychain, asked in a process of its own. Its methods throw KeychainError. */
export function createKeychain(options: KeychainOptions): Keychain {
  const askFor = (request: Omit<KeychainRequest, 'service'>): Promise<KeychainAnswer> =>
    ask(options, { ...request, service });
  return {
    get: async (account) => (await askFor({ action: 'get', account })).secret ?? undefined,
    set: async (account, secret) => void (await askFor({ action: 'set', account, secret })),
    delete: async (account) => (await askFor({ action: 'delete', account })).deleted === true,
  };
}

async function ask(
  { script, env, signal }: KeychainOptions,
  request: KeychainRequest,
): Promise<KeychainAnswer> {
  const { fork } = await import('node:child_process');
  const child = fork(script, [], {
    env: toChildEnvironment(env),
    execArgv: [],
    stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
    timeout: patienceMs,
    killSignal: 'SIGKILL',
    signal,
  });
  const answer = await new Promise<KeychainAnswer | undefined>((resolve) => {
    child.once('message', (message) => resolve(message as KeychainAnswer));
    child.once('error', () => resolve(undefined));
    child.once('exit', () => resolve(undefined));
    child.send(request, () => {});
  });
  if (signal.aborted) throw new LeadpipeError(stoppedBy(signal), 'stopped', { charged: 'no' });
  if (answer === undefined) throw new KeychainError('silent');
  if (answer.failure !== undefined) throw new KeychainError(answer.failure.kind, answer.failure.message);
  return answer;
}

/** What Node itself reads would only slow the child down or have it talk; and no key is handed on. */
function toChildEnvironment(env: KeychainOptions['env']): Record<string, string | undefined> {
  return Object.fromEntries(Object.entries(env).filter(([name]) => !/^(?:NODE_|LEADPIPE_)/.test(name)));
}
