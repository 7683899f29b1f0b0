import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { command, type Result, resultOf } from '../helpers/run.ts';
import type { Simulated, Start } from './simulated.ts';

const faults = join(import.meta.dirname, '../durability/fault-preload.mjs');
const clock = join(import.meta.dirname, 'clock-preload.mjs');

/** The built command, which dies by kill -9. */
export function startReal({ args, env, stdin, killAt, sleepAt, fault, clockAheadMs }: Start): Simulated {
  const at = killAt ?? sleepAt;
  const mode = killAt === undefined ? 'stop' : 'kill';
  const child = spawn(process.execPath, ['--import', clock, '--import', faults, command, ...args], {
    env: {
      ...env,
      CLOCK_AHEAD_MS: String(clockAheadMs),
      FAULT: JSON.stringify(at === undefined ? (fault ?? { mode: 'count' }) : { mode, at }),
    },
    stdio: 'pipe',
  });
  child.stdin.on('error', () => {});
  child.stdin.end(stdin ?? '');
  // Stopped by itself, it is woken up by others.
  const waking = setInterval(() => child.kill('SIGCONT'), 300);
  const ended: Promise<Result> = resultOf(child).finally(() => clearInterval(waking));
  return {
    ended,
    changes: () => 0,
    kill: () => void child.kill('SIGKILL'),
    signal: (outcome) => void child.kill(outcome === 'interrupted' ? 'SIGINT' : 'SIGTERM'),
  };
}
