import { randomBytes } from 'node:crypto';
import { beforeAll, expect, it } from 'vitest';
import { simulate } from './simulated.ts';
import { live, type Told } from './story.ts';

/**
 * Random orders, faults, kills and edits: SOAK_SEEDS machines, SOAK_RUNS runs on each, SOAK_REAL of 1 as real processes.
 * SOAK_SEED lives through the life of one machine again.
 */
const first = process.env.SOAK_SEED;
const seeds = first === undefined ? Number(process.env.SOAK_SEEDS ?? 3) : 1;
const runs = Number(process.env.SOAK_RUNS ?? 60);
const realShare = Number(process.env.SOAK_REAL ?? 0.02);
// The lives that CI sees are the same each time; `npm run soak` sees new ones.
const base = process.env.SOAK_SEEDS === undefined ? 'ci' : randomBytes(4).toString('hex');

beforeAll(simulate);

it(`whatever happens to ${seeds} machines of ${runs} runs, nothing is lost, paid twice or stuck`, async () => {
  const told: Told = { runs: 0, real: 0, endings: new Map() };
  const failures: string[] = [];
  for (let at = 0; at < seeds; at++) {
    const seed = first ?? `${base}-${at}`;
    await live(seed, runs, realShare, told).catch((error: Error) => failures.push(error.message));
    if (failures.length >= 5) break;
  }
  console.log(
    `${told.runs} runs (${told.real} real) of ${seeds} seeds, ${failures.length} violations: ` +
      [...told.endings]
        .sort()
        .map((ending) => ending.join(': '))
        .join(', '),
  );
  // A story is long: no comparison of it helps.
  if (failures.length > 0) expect.fail(failures.join('\n\n'));
}, 3_600_000);
