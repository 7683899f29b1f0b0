import type { ChildProcessWithoutNullStreams } from 'node:child_process';
import { type Result, resultOf } from './run.ts';

/** Sends a signal to a command once the condition is true, unless it ends before. Resolves to its end. */
export async function resultOfSignalled(
  child: ChildProcessWithoutNullStreams,
  signal: NodeJS.Signals,
  happened: () => boolean,
): Promise<Result> {
  const ended = resultOf(child);
  let isOver = false;
  void ended.then(() => {
    isOver = true;
  });
  while (!isOver && !happened()) await new Promise((resolve) => setTimeout(resolve, 2));
  child.kill(signal);
  return await ended;
}
