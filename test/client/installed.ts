import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readdirSync, symlinkSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { bareEnvironment, start, temporaryFolder } from '../helpers/run.ts';

export const root = join(import.meta.dirname, '../..');

/** A folder of a program that has installed the packed leadpipe, and beside it these packages of ours. */
export function installed(...packages: readonly string[]): string {
  const folder = temporaryFolder();
  const env = { ...process.env, ...bareEnvironment(folder) };
  // As it is built: other tests are running it.
  const pack = ['pack', '--silent', '--ignore-scripts', '--pack-destination', folder];
  execFileSync('npm', pack, { cwd: root, env });
  const [tarball = ''] = readdirSync(folder).filter((name) => name.endsWith('.tgz'));
  const install = ['install', '--offline', '--no-audit', '--no-fund', '--prefix', folder];
  execFileSync('npm', [...install, join(folder, tarball)], { env, cwd: folder, stdio: 'pipe' });
  for (const name of packages) {
    const link = join(folder, 'node_modules', name);
    mkdirSync(dirname(link), { recursive: true });
    symlinkSync(join(root, 'node_modules', name), link);
  }
  return folder;
}

/** `leadpipe serve`: its address, and how to end it. */
export async function serve(
  ...switches: readonly string[]
): Promise<{ readonly url: string; end(): Promise<void> }> {
  const set = ['batch_pause_ms=0', ...switches].flatMap((one) => ['--set', one]);
  const child = start(['serve', '--port', '0', '-q', ...set], { env: bareEnvironment() });
  child.stderr.resume();
  let printed = '';
  while (!printed.includes('LEADPIPE_API_KEY')) printed += String((await once(child.stdout, 'data'))[0]);
  return {
    url: /LEADPIPE_BASE_URL=(\S+)/.exec(printed)?.[1] ?? '',
    async end() {
      child.kill();
      await once(child, 'exit');
    },
  };
}
