/**
 * `npm run soak`: long runs of the randomised tests, too long for every change. Each run begins with a new seed and prints
 * it; failures are printed with everything that is needed to reproduce them.
 *
 * FUZZ_STREAMS: number of search streams; FUZZ_SEED: seed of the first. LEADPIPE_CHAOS_SECONDS: duration of random faults.
 * SOAK_SEEDS: number of simulated machines; SOAK_RUNS: random runs of each; SOAK_REAL: share of runs that are real processes;
 * SOAK_STORY: `purchases` (what is paid) or `outputs` (what is in the files), default both; SOAK_SEED: repeats one machine.
 * LIST_ROWS and LIST_KILLS: length of a list, and how often it is killed. LEADPIPE_KILLS: kills of the local service.
 * LEADPIPE_EXHAUSTIVE=1: kills at every instant of every kind of run, and prints every odd answer in every format.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';

const root = join(import.meta.dirname, '..');
const seed = String(Math.floor(Math.random() * 2 ** 31));

/** The test runs, one after the other, with their default settings. The environment overrides these. */
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
