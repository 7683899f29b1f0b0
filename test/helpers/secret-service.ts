import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { vi } from 'vitest';
import { closing } from './closing.ts';
import { temporaryFolder } from './run.ts';

const secretsService = ['org.freedesktop.secrets', '/org/freedesktop/secrets'] as const;
const collection = '/org/freedesktop/secrets/collection/login';

export type SecretService = Awaited<ReturnType<typeof startSecretService>>;

/** A real keychain of a user of its own: gnome-keyring on a private D-Bus session. */
export async function startSecretService(home = temporaryFolder()) {
  const env: Record<string, string> = {
    PATH: process.env.PATH ?? '',
    HOME: home,
    XDG_RUNTIME_DIR: join(home, 'run'),
    XDG_DATA_HOME: join(home, 'data'),
  };
  mkdirSync(join(home, 'run'), { mode: 0o700 });
  mkdirSync(join(home, 'data', 'keyrings'), { recursive: true });
  const bus = spawn('dbus-daemon', ['--session', '--nofork', '--print-address'], {
    env,
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  env.DBUS_SESSION_BUS_ADDRESS = await firstLine(bus);
  const keyring = spawn('gnome-keyring-daemon', ['--foreground', '--unlock', '--components=secrets'], {
    env,
    stdio: ['pipe', 'ignore', 'ignore'],
  });
  keyring.stdin.end('password of the keyring');
  const ask = (to: string, path: string, method: string, ...values: string[]): string =>
    execFileSync('dbus-send', ['--session', '--print-reply', `--dest=${to}`, path, method, ...values], {
      env,
      encoding: 'utf8',
    });
  const hasOwner = ['org.freedesktop.DBus', '/', 'org.freedesktop.DBus.NameHasOwner'] as const;
  const readAlias = [...secretsService, 'org.freedesktop.Secret.Service.ReadAlias'] as const;
  const comes = { timeout: 120_000, interval: 20 };
  await vi.waitUntil(() => ask(...hasOwner, 'string:org.freedesktop.secrets').includes('true'), comes);
  await vi.waitUntil(() => ask(...readAlias, 'string:default').includes(collection), comes);
  return closing({
    /** The environment of that user's programs. */
    env,
    lock: () =>
      void ask(...secretsService, 'org.freedesktop.Secret.Service.Lock', `array:objpath:${collection}`),
    /** Everything that was kept for leadpipe, as another program sees it. */
    contents: () =>
      execFileSync('sh', ['-c', 'secret-tool search --all service leadpipe 2>&1'], { env, encoding: 'utf8' }),
    /** The bus answers no more, and its connections stay open. */
    freeze: () => void bus.kill('SIGSTOP'),
    async close() {
      for (const child of [keyring, bus]) {
        const ended = once(child, 'exit');
        child.kill('SIGKILL');
        await ended;
      }
    },
  });
}

async function firstLine(child: ChildProcess): Promise<string> {
  for await (const line of createInterface({ input: child.stdout as NodeJS.ReadableStream })) return line;
  throw new Error(`${child.spawnfile} ended without a word`);
}
