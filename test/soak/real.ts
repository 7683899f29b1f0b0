import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { command, type Result, resultOf } from '../helpers/run.ts';
import type { Simulated, Start } from './simulated.ts';

const faults = join(import.meta.dirname, '../durability/fault-preload.mjs');
const clock = join(import.meta.dirname, 'clock-preload.mjs');

/** The built command, which dies by kill -9. */
export function startReal({ args, env, stdin, killAt, sleepAt, fullAt, clockAheadMs }: Start): Simulated {
  const child = spawn(process.execPath, ['--import', clock, '--import', faults, command, ...args], {
    env: {
      ...env,
      CLOCK_AHEAD_MS: String(clockAheadMs),
      FAULT: JSON.stringify(
        killAt !== undefined
          ? { mode: 'kill', at: killAt }
          : fullAt !== undefined
            ? { mode: 'ENOSPC', at: fullAt }
            : { mode: 'count' },
      ),
    },
    stdio: 'pipe',
  });
  child.stdin.on('error', () => {});
  child.stdin.end(stdin ?? '');
  let timer: NodeJS.Timeout | undefined;
  if (sleepAt !== undefined) {
    timer = setTimeout(
      () => {
        child.kill('SIGSTOP');
        timer = setTimeout(() => child.kill('SIGCONT'), 200);
      },
      150 + 10 * sleepAt,
    );
  }
  const ended: Promise<Result> = resultOf(child).finally(() => clearTimeout(timer));
  return {
    ended,
    changes: () => 0,
    kill: () => void child.kill('SIGKILL'),
    signal: (outcome) => void child.kill(outcome === 'interrupted' ? 'SIGINT' : 'SIGTERM'),
  };
}
