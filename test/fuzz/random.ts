/** The same numbers for the same seed, whatever the machine. */
export interface Random {
  /** A whole number from 0 up to and without `end`. */
  below(end: number): number;
  /** True in one of so many cases. */
  oneIn(cases: number): boolean;
  pick<T>(from: readonly T[]): T;
}

export function createRandom(seed: number): Random {
  let state = seed >>> 0;
  // Mulberry32: small, fast, and good enough to choose with.
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 0x1_0000_0000;
  };
  const below = (end: number): number => Math.floor(next() * end);
  return { below, oneIn: (cases) => below(cases) === 0, pick: (from) => from[below(from.length)] as never };
}
