import type { Keychain } from '../context.ts';
import { ConfigurationError, type Facts, StoppedError } from '../errors.ts';

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

/** A keychain that does not exist, is locked, or does not answer. */
export class KeychainError extends ConfigurationError {
  readonly kind: KeychainFault;

  constructor(kind: KeychainFault, message?: string) {
    const [cause, hint] = faults[kind];
    // The library's message is about D-Bus, and useless for users; --verbose shows it.
    super(cause, hint, message === undefined ? undefined : new Error(message));
    this.kind = kind;
  }
}

/** Timeout of a keychain: a locked one may wait for a password that is never typed. */
const timeoutMs = 3000;

const faults: Readonly<Record<KeychainFault, readonly [cause: string, hint: string | Facts]>> = {
  absent: ['no usable keychain was found on this machine', { is: 'no_keychain' }],
  locked: ['the keychain is locked', 'Unlock it, or set LEADPIPE_API_KEY for this run.'],
  silent: [
    `the keychain did not answer within ${timeoutMs / 1000} seconds`,
    'It may be waiting to be unlocked. Unlock it, or set LEADPIPE_API_KEY for this run.',
  ],
};

/** The operating system's keychain. A child process that runs `script` (keychain-main.cjs) reads it. Methods throw KeychainError. */
export function createKeychain(
  script: string,
  env: Readonly<Record<string, string | undefined>>,
  signal: AbortSignal,
): Keychain {
  // Variables for Node would slow the child down or make it print, and no key is passed on.
  const names = Object.keys(env).filter((name) => !/^(?:NODE_|LEADPIPE_)/.test(name));
  const childEnv = Object.fromEntries(names.map((name) => [name, env[name]]));

  async function ask(request: Omit<KeychainRequest, 'service'>): Promise<KeychainAnswer> {
    const { fork } = await import('node:child_process');
    const child = fork(script, [], {
      env: childEnv,
      execArgv: [],
      stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
      timeout: timeoutMs,
      killSignal: 'SIGKILL',
      signal,
    });
    const answer = await new Promise<KeychainAnswer | undefined>((resolve) => {
      child.once('message', (message) => resolve(message as KeychainAnswer));
      child.once('error', () => resolve(undefined));
      child.once('exit', () => resolve(undefined));
      child.send({ ...request, service: 'leadpipe' }, () => {});
    });
    if (signal.aborted) throw new StoppedError(signal, { charged: 'no' });
    if (answer === undefined) throw new KeychainError('silent');
    if (answer.failure !== undefined) throw new KeychainError(answer.failure.kind, answer.failure.message);
    return answer;
  }

  return {
    get: async (account) => (await ask({ action: 'get', account })).secret ?? undefined,
    set: async (account, secret) => void (await ask({ action: 'set', account, secret })),
    delete: async (account) => (await ask({ action: 'delete', account })).deleted === true,
  };
}
