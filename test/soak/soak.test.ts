import { randomBytes } from 'node:crypto';
import { beforeAll, expect, it } from 'vitest';
import { liveWithOutputs } from './outputs.ts';
import { simulate } from './simulated.ts';
import { live, type Told } from './story.ts';

/**
 * Random orders, faults, kills and edits: SOAK_SEEDS machines, SOAK_RUNS runs on each, SOAK_REAL of 1 as real processes.
 * SOAK_SEED lives through the life of one machine again, in the story of SOAK_STORY.
 */
const { SOAK_SEED: first, SOAK_STORY: chosen } = process.env;
// The lives that CI sees are the same each time; `npm run soak` sees new ones.
const base = process.env.SOAK_SEEDS === undefined ? 'ci' : randomBytes(4).toString('hex');
const realShare = Number(process.env.SOAK_REAL ?? 0.02);

const stories = [
  { name: 'purchases', live, seeds: 2, runs: 30, holds: 'nothing is lost, paid twice or stuck' },
  { name: 'outputs', live: liveWithOutputs, seeds: 2, runs: 30, holds: 'files have what is theirs, once' },
].filter(({ name }) => chosen === undefined || chosen === name);

beforeAll(simulate);

it.each(stories)(
  'whatever happens to machines, $holds',
  async ({ name, live, ...usual }) => {
    const seeds = first === undefined ? Number(process.env.SOAK_SEEDS ?? usual.seeds) : 1;
    const runs = Number(process.env.SOAK_RUNS ?? usual.runs);
    const told: Told = { runs: 0, real: 0, endings: new Map() };
    let failures = 0;
    for (let at = 0; at < seeds; at++) {
      const seed = first ?? `${base}-${at}`;
      // Said at once: a soak that is stopped has told what it found. A story is long: no comparison of it helps.
      await live(seed, runs, realShare, told).catch((error: Error) => {
        console.log(error.message);
        failures++;
      });
      if (failures >= 5) break;
    }
    console.log(
      `${name}: ${told.runs} runs (${told.real} real) of ${seeds} seeds, ${failures} violations: ` +
        [...told.endings]
          .sort()
          .map((ending) => ending.join(': '))
          .join(', '),
    );
    expect(failures).toBe(0);
  },
  3_600_000,
);
