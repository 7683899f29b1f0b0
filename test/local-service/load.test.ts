import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createRandom } from '../helpers/chaos-proxy.ts';
import { bareEnvironment, start } from '../helpers/run.ts';
import { clientOf, expectToAddUp } from './running.ts';

/** LEADPIPE_SEED runs the moments of an earlier run again. */
const seed = process.env.LEADPIPE_SEED ?? randomBytes(4).toString('hex');
/** `npm run soak` has more. */
const kills = Number(process.env.LEADPIPE_KILLS ?? 5);
const patienceMs = Math.max(120_000, kills * 5000);
const opening = 100_000;

/** `leadpipe serve` as it is installed. */
async function serve(env: Record<string, string>, ...switches: string[]) {
  const child = start(['serve', '--port', '0', '-q', ...switches.flatMap((one) => ['--set', one])], { env });
  child.stderr.resume();
  let printed = '';
  while (!printed.includes('LEADPIPE_API_KEY')) printed += String((await once(child.stdout, 'data'))[0]);
  const kill = async (): Promise<void> => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    child.kill('SIGKILL');
    await once(child, 'exit');
  };
  onTestFinished(kill);
  return { ...clientOf(/LEADPIPE_BASE_URL=(\S+)/.exec(printed)?.[1] ?? ''), kill };
}

const nordlicht = { objective: 'Nordlicht Pay' };

/** The accounts of a service that has ended; throws what does not add up. */
const accountsOf = (env: Record<string, string>) =>
  expectToAddUp(join(env.LEADPIPE_STATE_DIR ?? '', 'local-service'));

describe('serve under load', () => {
  it('answers streams and look-ups at once, and charges for each what it brought', async () => {
    const env = bareEnvironment();
    const limits = ['user_concurrency=50', 'service_concurrency=50', 'price_contact_email=3'];
    const { search, json, balance } = await serve(env, ...limits);
    const streams = Promise.all(Array.from({ length: 10 }, () => search({ limit: 20 })));
    const lookUps = Promise.all(Array.from({ length: 40 }, () => json('contactSearch', nordlicht)));
    expect((await streams).map(({ leads }) => leads.length)).toEqual(Array(10).fill(20));
    const found = (await lookUps).filter(({ result }) => result.content);
    expect(await balance()).toBe(opening - 10 * 20 - 3 * found.length);
  });

  it(
    `loses no credit and no task when it is killed at ${kills} moments (LEADPIPE_SEED=${seed})`,
    async () => {
      const env = bareEnvironment();
      const random = createRandom(seed);
      const tasks = new Map<string, string>();
      const switches = ['task_start_ms=0', 'task_step_ms=20', 'batch_pause_ms=5', 'user_concurrency=100'];
      const load = ({ ask, search, json }: Awaited<ReturnType<typeof serve>>, round: number) =>
        Array.from({ length: 6 }, async (_, at) => {
          const key = `task-${round}-${at}`;
          const body = { entity_type: 'person', objective: 'founders in Lisbon', limit: 3 };
          const created = await ask('createTask', body, { 'idempotency-key': key });
          if (created.status === 200)
            tasks.set(key, ((await created.json()) as { leads_search_id: string }).leads_search_id);
          await Promise.all([search({ limit: 10 }), json('contactSearch', nordlicht)]);
        });
      // The moments are spread over as long as all of it takes here and now.
      const whole = await serve(env, ...switches);
      const start = performance.now();
      await Promise.all(load(whole, kills));
      const span = Math.min(500, performance.now() - start);
      await whole.kill();
      for (let round = 0; round < kills; round++) {
        const served = await serve(env, ...switches);
        const work = load(served, round);
        const killed = new Promise((resolve) => setTimeout(resolve, random() * span)).then(served.kill);
        await Promise.allSettled([...work, killed]);
        await killed;
        for (const { available, reserved, settled } of accountsOf(env))
          expect({ round, sum: available + reserved + settled }).toEqual({ round, sum: opening });
      }
      const { ask } = await serve(env, 'task_start_ms=0', 'task_step_ms=1');
      for (const [key, leads_search_id] of tasks) {
        const { status } = await ask('status', { leads_search_id });
        expect({ key, status }).toEqual({ key, status: 200 });
      }
      expect(tasks.size).toBeGreaterThan(0);
      // Everything has ended, so nothing is held back any more.
      const [demo] = accountsOf(env).filter(({ account }) => account === 'demo');
      expect(demo).toMatchObject({ reserved: 0 });
    },
    patienceMs,
  );
});
