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
  /** What happens to requests; those after the last way go that way too. */
  readonly ways: readonly [Way, ...Way[]];
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
  readonly elsewhere?: () => Promise<{ readonly url: string; close(): void }>;
  /** `config.json`. */
  readonly config?: string;
}

/** Every column ends alike. */
export function all(ending: Ending): Row['endings'] {
  return { G: ending, ...paid(ending) };
}

/** Every column that costs credits ends alike. */
export function paid(ending: Ending): Row['endings'] {
  return { C: ending, P: ending, X: ending, S: ending };
}

/** Every column but free reads and create_task. */
export function answers(ending: Ending): Row['endings'] {
  return { P: ending, X: ending, S: ending };
}

/** The end of a free read that went wrong each of five times. */
export function outage(type: string): Ending {
  return { exit: 75, charged: 'no', type, requests: 5 };
}

/** An operation of each column, where one is as good as all. */
export const someOfAll: NonNullable<Row['only']> = ['balance', 'task create', 'contact', 'extract', 'search'];
