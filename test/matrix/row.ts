import type { Group, Operation } from './operations.ts';
import type { Way } from './ways.ts';

/** How a run ends. Without `charged` it ends well, and has no error to look at. */
export interface Ending {
  readonly exit: number;
  readonly charged?: 'no' | 'maybe' | 'yes';
  readonly type?: string;
  /** Requests of the operation on the wire, repetitions included; 1 unless it is said. */
  readonly requests?: number;
  /** How often the service was paid for it: never more than once. 0 unless it is said. */
  readonly paid?: 0 | 1;
}

/** A row of the matrix: a fault, and how the operations of each column end with it. */
export interface Row {
  readonly fault: string;
  /** What happens to requests, which arrive unless it is said; those after the last way go that way too. */
  readonly ways?: readonly [Way, ...Way[]];
  readonly endings: Partial<Record<Group, Ending>>;
  /** A part of the message. */
  readonly says?: string | RegExp;
  /** Only these operations of the columns. */
  readonly only?: readonly Operation['name'][];
  /** Further arguments. */
  readonly options?: readonly string[];
  readonly apiKey?: string;
  /** The key was used before: by the same request, or by another. */
  readonly usedBy?: 'the same' | 'another';
  /** Where requests go instead of the service. */
  readonly elsewhere?: () => Promise<{ readonly url: string; close(): unknown }>;
  /** `config.json`. */
  readonly config?: string;
}

/** Every column ends the same way. */
export function all(ending: Ending): Row['endings'] {
  return { G: ending, ...paid(ending) };
}

/** Every column that costs credits ends alike. */
export function paid(ending: Ending): Row['endings'] {
  return { C: ending, P: ending, X: ending, S: ending };
}

/** A run that succeeds with this number of requests of the operation (default 1); paid operations are charged. */
export function well(requests = 1): Row['endings'] {
  return { G: { exit: 0, requests }, ...paid({ exit: 0, requests, paid: 1 }) };
}

/** Every column but free reads and create_task. */
export function answers(ending: Ending): Record<'P' | 'X' | 'S', Ending> {
  return { P: ending, X: ending, S: ending };
}

/** A stream has rows of its own. */
export function withoutStream({ S: _, ...others }: Row['endings']): Row['endings'] {
  return others;
}

/** The end of a free read that went wrong each of five times. */
export function outage(type: string): Ending {
  return { exit: 75, charged: 'no', type, requests: 5 };
}

/** An answer that did not come, of each column; `paid` is how often it was done. */
export function lost(paid: 0 | 1): Record<Group, Ending> {
  const ending = { exit: 8, charged: 'maybe', type: 'lost', paid } as const;
  return { G: outage('lost'), C: { ...ending, requests: 5 }, ...answers({ ...ending, requests: 2 }) };
}

const garbled = { charged: 'yes', type: 'garbled' } as const;
/** An unreadable answer, for each column. */
export const garbledEndings: Record<Group, Ending> = {
  G: { exit: 76, charged: 'no', type: 'garbled', requests: 4 },
  C: { exit: 76, ...garbled, requests: 4 },
  X: { exit: 8, ...garbled, requests: 2 },
  P: { exit: 8, ...garbled },
  S: { exit: 8, ...garbled },
};

/** An operation of each column, where one is as good as all. */
export const someOfAll: NonNullable<Row['only']> = ['balance', 'task create', 'contact', 'extract', 'search'];
