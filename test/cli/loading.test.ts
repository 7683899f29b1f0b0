import { readFileSync, writeFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { beforeAll, expect, it } from 'vitest';
import { fileOf, type StartedService, startService } from '../helpers/local-service.ts';
import { command, resultOf, start, temporaryFolder } from '../helpers/run.ts';

/*
 * How many files of src a command loads. The build splits src into chunks and says in dist/sources.json what is in them; Node says which chunks a
 * process has loaded. What is loaded is read, compiled and run before the command begins, so a file that a command does not need is imported where it is
 * used.
 */

const cut = { operation: 'search', fault: 'cut', after_batches: 1 };
const rows = '{"company":"Nordlicht Pay"}\n{"company":"Kiezkasse"}\n';
const session = [
  {
    ...{ id: 1, method: 'initialize' },
    params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'a', version: '1' } },
  },
  { method: 'notifications/initialized' },
  { id: 2, method: 'tools/list' },
].map((message) => `${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);

let service: StartedService;
let env: Record<string, string>;
const root = join(dirname(command), '..');
const hook = join(temporaryFolder(), 'loaded.cjs');

beforeAll(async () => {
  service = await startService({ switches: { batch_size: 2 }, faults: [cut] });
  env = { ...service.env(), NODE_OPTIONS: `--require ${JSON.stringify(hook)}` };
  writeFileSync(
    hook,
    `process.on('exit', () => require('node:fs').writeFileSync(process.env.LOADED, JSON.stringify(Object.keys(require.cache))));`,
  );
});

// In this order: what is resumed was cut.
it.each<[words: string, budget: number, code?: number, stdin?: string]>([
  ['--version', 5],
  ['balance', 70],
  ['search company "fintech in Berlin" --limit 4 -o leads.csv', 130, 3],
  ['resume', 136],
  ['contact email "CTO of Nordlicht Pay"', 132],
  ['contact email --input - -o out.csv', 163, 0, rows],
  ['history list', 102],
  ['mcp', 101, 0, session.join('')],
  ['serve --port 0', 81, 143],
])('%s loads at most %i files of src', async (words, budget, code = 0, stdin = '') => {
  const loaded = fileOf('loaded.json', '');
  const child = start(words, { env: { ...env, LOADED: loaded }, cwd: service.stateDir, stdin });
  // It runs until it is stopped.
  if (words.startsWith('serve')) child.stdout.once('data', () => child.kill());
  const ended = await resultOf(child);
  expect(ended).toMatchObject({ code });
  const files = filesIn(JSON.parse(readFileSync(loaded, 'utf8')));
  const importers = files.map((file) => [file, importersOf(file, files)] as const);
  const lines = importers
    .sort(([, a], [, b]) => a.length - b.length)
    .map(([file, those]) => `${file} <- ${those.join(' ')}`);
  expect(files.length, `what it loads, and what loads that:\n${lines.join('\n')}`).toBeLessThanOrEqual(
    budget,
  );
});

/** The files of src in these files of the build. */
function filesIn(loaded: readonly string[]): readonly string[] {
  const sources: Readonly<Record<string, readonly string[]>> = JSON.parse(
    readFileSync(join(root, 'dist/sources.json'), 'utf8'),
  );
  return Object.entries(sources)
    .flatMap(([chunk, files]) => (loaded.includes(join(root, 'dist', chunk)) ? files : []))
    .sort();
}

/** A loaded file, and which of the others load it. One with few of them is the first that could be loaded where it is used. */
function importersOf(file: string, files: readonly string[]): readonly string[] {
  return files.filter((other) =>
    [
      ...readFileSync(join(root, other), 'utf8').matchAll(
        /^import (?!type)[^']*'(\.[^']*)'|import\('(\.[^']*)'\)/gm,
      ),
    ].some(([, one, lazy = '']) => normalize(join(dirname(other), one ?? lazy)) === file),
  );
}
