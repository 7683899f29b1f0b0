import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Clock } from '../clock.ts';
import type { EndpointName } from '../contract/endpoints.ts';
import type { Catalogue } from './catalogue.ts';
import type { LocalKey } from './keys.ts';
import type { Fault } from './scenario.ts';
import type { Store } from './store.ts';
import type { Switches } from './switches.ts';

export interface Listeners {
  /** Gets a line per request. */
  readonly log?: ((line: string) => void) | undefined;
  /** Gets errors inside the service, for example when its state can't be written. */
  readonly failed?: ((error: unknown) => void) | undefined;
  /** Gets example searches, line by line, when a search of the demonstration found nothing. */
  readonly hint?: ((line: string) => void) | undefined;
}

export interface Service extends Listeners {
  readonly store: Store;
  readonly catalogue: Catalogue;
  readonly switches: Switches;
  readonly clock: Clock;
  /** Returns the fault of the next request. */
  readonly scenario: (operation: EndpointName) => Fault | undefined;
  /** The requests that are being answered, by ID. */
  readonly answering: Map<string, Promise<void>>;
  /** Milliseconds since 1970. */
  readonly now: () => number;
}

/** The caller: an active key, with its fingerprint. The state never holds a key itself. */
export interface Caller {
  readonly key: LocalKey;
  readonly fingerprint: string;
}

/** One HTTP request for a known operation from a known caller, and its answer. */
export interface Exchange {
  readonly requestId: string;
  readonly incoming: IncomingMessage;
  readonly outgoing: ServerResponse;
  /** Aborts if the client disconnects before the answer is complete, or the service closes. */
  readonly gone: AbortSignal;
  readonly operation: EndpointName;
  readonly query: URLSearchParams;
  readonly caller: Caller;
  /** The fault that the scenario has for it. */
  readonly fault: Fault | undefined;
}
