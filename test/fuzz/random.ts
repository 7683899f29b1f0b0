import { createRandom as createNumbers } from '../helpers/chaos-proxy.ts';

/** The same numbers for the same seed, whatever the machine. */
export interface Random {
  /** A whole number from 0 up to and without `end`. */
  below(end: number): number;
  /** True in one of n cases. */
  oneIn(cases: number): boolean;
  pick<T>(from: readonly T[]): T;
}

export function createRandom(seed: number): Random {
  const next = createNumbers(String(seed));
  const below = (end: number): number => Math.floor(next() * end);
  return { below, oneIn: (cases) => below(cases) === 0, pick: (from) => from[below(from.length)] as never };
}
