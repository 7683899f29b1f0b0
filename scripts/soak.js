/**
 * `npm run soak`: the tests that find more the longer they run, for longer than every change can wait. Each run begins
 * with another seed, which it prints; what fails is printed with all that is needed to see it again.
 *
 * FUZZ_STREAMS is how many search streams are read, FUZZ_SEED the seed of the first; LEADPIPE_CHAOS_SECONDS is how long
 * random faults meet random commands; SOAK_SEEDS is how many machines live through SOAK_RUNS random runs each, of which
 * SOAK_REAL of 1 are processes of their own, in both stories or in that of SOAK_STORY (`purchases`: what is paid, `outputs`: what
 * is in the files; SOAK_SEED lives through one of them again); LIST_ROWS and LIST_KILLS are how long a list is, and how often it is killed.
 * LEADPIPE_KILLS is how often the local service is killed; LEADPIPE_EXHAUSTIVE=1 kills at every instant of every kind of run, and prints every odd answer in every format.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';

const root = join(import.meta.dirname, '..');
const seed = String(Math.floor(Math.random() * 2 ** 31));

/** What is run, one after the other: the tests, and how much of them. What the environment says comes first. */
const soaks = [
  {
    name: 'search streams',
    args: ['test/fuzz/streams.test.ts', '--testNamePattern', 'streams from seed'],
    settings: { FUZZ_STREAMS: '1000000', FUZZ_SEED: seed },
  },
  {
    name: 'killed lists',
    args: ['test/list/kill.test.ts'],
    settings: { LIST_ROWS: '2000', LIST_KILLS: '100' },
  },
  {
    name: 'killed services',
    args: ['test/local-service/load.test.ts'],
    settings: { LEADPIPE_KILLS: '1000' },
  },
  {
    name: 'every instant and every answer',
    args: ['test/durability', 'test/cli/odd-answers.test.ts', 'test/matrix'],
    settings: { LEADPIPE_EXHAUSTIVE: '1' },
  },
  {
    name: 'random runs',
    args: ['test/soak'],
    settings: { SOAK_SEEDS: '250', SOAK_RUNS: '85', SOAK_REAL: '0.02' },
  },
  { name: 'random faults', args: ['test/chaos'], settings: { LEADPIPE_CHAOS_SECONDS: '3600' } },
];

for (const { name, args, settings } of soaks) {
  const chosen = Object.entries(settings).map(([key, usual]) => [key, process.env[key] ?? usual]);
  console.log(`${name}: ${chosen.map(([key, value]) => `${key}=${value}`).join(' ')}`);
  const vitest = join(root, 'node_modules/vitest/vitest.mjs');
  const child = spawn(process.execPath, [vitest, 'run', ...args], {
    cwd: root,
    env: { ...process.env, ...Object.fromEntries(chosen) },
    stdio: 'inherit',
  });
  const [code] = await once(child, 'exit');
  if (code !== 0) process.exitCode = 1;
}
