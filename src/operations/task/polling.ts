/** Milliseconds between two looks at a task: the shortest, which is also the first, and the longest. */
export interface PollTimes {
  readonly firstMs: number;
  readonly maxMs: number;
}

const growth = 1.5;
const jitter = 0.2;

/** Pure: how long to wait after `idle` looks in a row that saw no progress; `random` is from 0 to 1. */
// rule: status.back-off
export function pollWaitMs(idle: number, { firstMs, maxMs }: PollTimes, random: number): number {
  const base = Math.min(Math.max(firstMs, maxMs), firstMs * growth ** idle);
  return base * (1 + jitter * (2 * random - 1));
}
