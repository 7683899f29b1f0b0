import type { Client, FreeClient } from '../../client.ts';
import type { JsonText, JsonView } from '../../json/text.ts';
import type { PriceName } from '../journal/entries.ts';

/** The maximum that a purchase pays for: this many units, at the price in this setting. */
export interface Tariff {
  readonly setting: PriceName;
  readonly units: number;
  /** Whether the interface promises that a unit costs one credit at most. */
  readonly plain?: boolean;
}

/** The differences between kinds of operations. `Rows` has the values that, together with a row of a list, decide what is sent for it. */
export interface Kind<Body = never, Rows = never> {
  /** The request that is paid for; null where nothing is paid for. */
  readonly endpoint: Exclude<keyof Client, keyof FreeClient> | null;
  /** The results that this machine stores. */
  readonly keeps: 'leads' | 'answer' | 'rows' | 'nothing';
  /** Whether it is about a task at the service. */
  readonly isTask?: true;
  /** Whether `resume` or the same command resumes it. The other kinds are only sent again, with their key. */
  readonly isResumable: boolean;
  /** The member of the request that the history shows after the name of the command: `search company`. */
  readonly subject: 'entity_type' | 'contact_type' | 'type' | null;
  /** The member of the request, or of a list's options, that holds the user's words. */
  readonly about: 'objective' | 'query' | 'entity_context' | 'target' | 'input' | null;
  readonly prints: 'single' | 'list';
  readonly tariff: (body: Body) => Tariff;
  /** Pure: `Rows` without the values that the service ignores; by default all of it. */
  readonly sentOf?: (request: Rows) => object;
  /** Cuts the records out of an answer that holds several. Throws when `signal` aborts. */
  readonly recordsOf?: (answer: JsonText, signal?: AbortSignal) => Promise<readonly JsonText[]>;
  /** How much an answer with a result has found; by default 1. */
  readonly foundIn?: (answer: JsonView) => number;
  /** The service's explanation, if it finished without a result. */
  readonly reasonIn?: (answer: JsonText) => JsonText;
}
