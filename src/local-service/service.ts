import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Clock } from '../clock.ts';
import type { EndpointName } from '../contract/endpoints.ts';
import type { OpenedCatalogue } from './catalogue-store.ts';
import type { LocalKey } from './keys.ts';
import type { Fault, Scenario } from './scenario.ts';
import type { Store } from './store.ts';
import type { Switches } from './switches.ts';
import type { TaskClock } from './tasks.ts';

export interface Service {
  readonly store: Store;
  readonly catalogue: OpenedCatalogue;
  readonly switches: Switches;
  readonly clock: Clock;
  readonly scenario: Scenario;
  readonly tasks: TaskClock;
  /** The IDs of the requests that are being answered. */
  readonly answering: Set<string>;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  readonly log: ((line: string) => void) | undefined;
  readonly failed: ((error: unknown) => void) | undefined;
  readonly hint: ((line: string) => void) | undefined;
}

/** One HTTP request of a known operation, and its answer. */
export interface Exchange {
  readonly operation: EndpointName;
  readonly requestId: string;
  readonly incoming: IncomingMessage;
  readonly outgoing: ServerResponse;
  readonly query: URLSearchParams;
  /** Aborted when the client went away before the answer was complete, or the service closes. */
  readonly gone: AbortSignal;
  /** What the scenario has in store for it. */
  readonly fault: Fault | undefined;
}

/** Who asks: an active key, with its fingerprint. */
export interface Caller {
  readonly key: LocalKey;
  readonly fingerprint: string;
}
