import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Clock } from '../clock.ts';
import type { EndpointName } from '../contract/endpoints.ts';
import type { Catalogue } from './catalogue.ts';
import type { LocalKey } from './keys.ts';
import type { Fault } from './scenario.ts';
import type { Store } from './store.ts';
import type { Switches } from './switches.ts';

export interface Listeners {
  /** Receives a line per request. */
  readonly log?: ((line: string) => void) | undefined;
  /** Receives what made a request fail inside the service: a state that can't be written any more, say. */
  readonly failed?: ((error: unknown) => void) | undefined;
  /** Receives, line by line, what the demonstration knows when a search of it found nothing. */
  readonly hint?: ((line: string) => void) | undefined;
}

export interface Service extends Listeners {
  readonly store: Store;
  readonly catalogue: Catalogue;
  readonly switches: Switches;
  readonly clock: Clock;
  /** The fault of the next request. */
  readonly scenario: (operation: EndpointName) => Fault | undefined;
  /** The IDs of the requests that are being answered. */
  readonly answering: Set<string>;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  /** Cancels the next look at the tasks; absent: none are under way. */
  cancelLook?: (() => void) | undefined;
}

/** Who asks: an active key, with its fingerprint; the state never holds a key itself. */
export interface Caller {
  readonly key: LocalKey;
  readonly fingerprint: string;
}

/** One HTTP request, and its answer. */
export interface Arrival {
  readonly requestId: string;
  readonly incoming: IncomingMessage;
  readonly outgoing: ServerResponse;
  /** Aborted when the client went away before the answer was complete, or the service closes. */
  readonly gone: AbortSignal;
}

/** One of a known operation and a known caller. */
export interface Exchange extends Arrival {
  readonly operation: EndpointName;
  readonly query: URLSearchParams;
  readonly caller: Caller;
  /** What the scenario has in store for it. */
  readonly fault: Fault | undefined;
}
