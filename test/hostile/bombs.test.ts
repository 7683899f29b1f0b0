import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { type FaultServer, startFaultServer } from '../helpers/fault-server.ts';
import { pointedAt, type Result, resultOf, start } from '../helpers/run.ts';
import { type Bomb, bombs, drop } from './bombs.ts';

const commands: Record<Bomb['asked'], readonly string[]> = {
  balance: ['balance', '--json-errors'],
  contact: ['contact', 'email', 'someone', '--json-errors'],
  search: ['search', 'company', 'x', '--json-errors'],
};

/** MiB: several times the largest body, and a fraction of what the bombs are. */
const mostMemory = 640;
/** Seconds. */
const mostCpuAfterSignal = 1;

let server: FaultServer | undefined;

interface Measured extends Result {
  /** As the kernel counts; both 0 where it does not say. */
  readonly peakMiB: number;
  /** Since `mark`. */
  readonly cpuSeconds: number;
}

/** Runs a command against a bomb; `onMiddle` is given the process when it is in the middle of it. */
async function runAgainst(
  bomb: Bomb,
  onMiddle?: (child: ReturnType<typeof start>) => void,
): Promise<Measured> {
  let [peakMiB, cpu, cpuAtMiddle] = [0, 0, 0];
  server = await startFaultServer((socket) =>
    drop(socket, bomb, () => {
      look();
      cpuAtMiddle = cpu;
      onMiddle?.(child);
    }),
  );
  const child = start(commands[bomb.asked], { env: pointedAt(server.url) });
  const look = (): void => {
    const { peak, seconds } = usageOf(child.pid);
    peakMiB = Math.max(peak, peakMiB);
    cpu = Math.max(seconds, cpu);
  };
  const looking = setInterval(look, 10);
  const result = await resultOf(child);
  clearInterval(looking);
  return { ...result, peakMiB, cpuSeconds: cpu - cpuAtMiddle };
}

function usageOf(pid: number | undefined): { peak: number; seconds: number } {
  try {
    const status = readFileSync(`/proc/${pid}/status`, 'utf8');
    const times = readFileSync(`/proc/${pid}/stat`, 'utf8')
      .replace(/^.*\) /, '')
      .split(' ');
    return {
      peak: Number(/VmHWM:\s*(\d+)/.exec(status)?.[1] ?? 0) / 1024,
      // In hundredths: its own and the kernel's for it.
      seconds: (Number(times[11]) + Number(times[12])) / 100,
    };
  } catch {
    return { peak: 0, seconds: 0 };
  }
}

describe('a bomb', () => {
  it.each(named(({ ending }) => ending !== undefined))('%s', async (_, bomb) => {
    const { exit, charged, type, requests = 1 } = bomb.ending ?? { exit: 0 };
    const { code, stderr, stdout, peakMiB } = await runAgainst(bomb);
    expect({ code, requests: server?.requests.length }).toEqual({ code: exit, requests });
    expect(stdout === '').toBe(exit !== 0);
    if (charged !== undefined) expect(JSON.parse(stderr).error).toMatchObject({ type, charged });
    expect(peakMiB).toBeLessThan(mostMemory);
  });

  it.each(named(({ isBrief }) => isBrief === undefined))('%s: Ctrl-C ends it', async (_, bomb) => {
    const { code, stderr, peakMiB, cpuSeconds } = await runAgainst(bomb, (child) => child.kill('SIGINT'));
    expect(code).toBe(130);
    // Where the machine is too busy, there is no time for a last word.
    if (stderr !== '') {
      expect(JSON.parse(stderr).error).toMatchObject({
        type: 'interrupted',
        charged: expect.stringMatching(/maybe|yes/),
      });
    }
    expect(server?.requests).toHaveLength(1);
    expect(peakMiB).toBeLessThan(mostMemory);
    // The clock would say less: other tests run beside this one.
    expect(cpuSeconds).toBeLessThan(mostCpuAfterSignal);
  });
});

function named(isWanted: (bomb: Bomb) => boolean): [string, Bomb][] {
  return bombs.filter(isWanted).map((bomb) => [bomb.name, bomb]);
}
