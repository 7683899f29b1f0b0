/** Milliseconds between two looks at a task, once it is clear that it takes a while: the shortest and the longest. */
export interface PollTimes {
  readonly firstMs: number;
  readonly maxMs: number;
}

/** Many tasks are done soon: before the usual times come these, where they are shorter. */
const soonMs = [500, 1000, 2000];
/** The look from which the usual times count. */
export const settledLook = soonMs.length;
const growth = 1.5;
const jitter = 0.2;

/** Pure: how long to wait after so many looks at a task; `random` is from 0 to 1. */
// rule: status.back-off
export function pollWaitMs(looks: number, { firstMs, maxMs }: PollTimes, random: number): number {
  const usual = Math.min(Math.max(firstMs, maxMs), firstMs * growth ** Math.max(0, looks - settledLook));
  return Math.min(soonMs[looks] ?? usual, usual) * (1 + jitter * (2 * random - 1));
}
