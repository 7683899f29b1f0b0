import type { EndpointName, KeyHeader } from '../contract/endpoints.ts';
import type { ErrorType } from '../contract/errors.ts';

/** The API keys that rows ask for. Only the main one is always there; rows whose key is missing are skipped. */
export const furtherKeys = {
  other: 'an active key of another account',
  revoked: 'a revoked key',
  expired: 'an expired key',
  no_access: 'an active key without access to searches, contacts and extraction',
  no_credits: 'an active key whose account has no credits',
  busy: 'an active key that has reached its concurrency limit',
} as const;

export type KeyName = 'main' | keyof typeof furtherKeys;
export type Keys = Readonly<{ main: string } & Partial<Record<KeyName, string>>>;

/** A request as it goes out. What is left out is as the interface wants it. */
export interface Request {
  readonly endpoint: EndpointName;
  readonly query?: Readonly<Record<string, string>>;
  /** The body, as a value to be written as JSON, or made byte by byte. */
  readonly body?: object | (() => Uint8Array);
  /** null leaves the header out. */
  readonly contentType?: string | null;
  /**
   * A label: requests with the same one share a key, that is new in every run. Without a label each POST gets a key
   * of its own; null leaves the header out.
   */
  readonly idempotencyKey?: string | null;
  readonly idempotencyKeyLength?: number;
  readonly apiKey?: KeyName | 'none' | 'unknown';
  /** Which header carries the key, where that is the point. */
  readonly keyHeader?: KeyHeader;
  /** This text instead of a key. */
  readonly authorization?: string;
}

export interface Answer {
  readonly request: Request;
  /** The Idempotency-Key that went out. */
  readonly sentKey: string | undefined;
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  /** Undefined where the body is not JSON. */
  readonly json: unknown;
}

/** What rows can ask for beside their own request. */
export interface TestedService {
  send(request: Request): Promise<Answer>;
  /** Sent once in a run, however many rows look at the answer. */
  once(name: string, step: Step): Promise<Answer>;
  /** The leads_search_id of a task that has ended; the same one for all rows. */
  finishedTask(): Promise<string>;
  /** Reads the status of a task until it is as wanted, or the task has ended. */
  statusWhen(searchId: string, wanted: (ready: number) => boolean): Promise<Answer>;
  /** The balance once nothing moves it any more. */
  steadyBalance(): Promise<Answer>;
}

/** One request, or whatever else ends with an answer. */
export type Step = Request | ((service: TestedService, earlier: readonly Answer[]) => Promise<Answer>);

/** What an answer breaks, one line each; empty when nothing. */
export type Check = (answer: Answer, earlier: readonly Answer[]) => readonly string[];

export interface Expectation {
  readonly status: readonly number[];
  /** Of an error; the type's place in the envelope is not documented, and neither that it is always there. */
  readonly types?: readonly ErrorType[];
  /** What is expected of head and body. */
  readonly says?: string;
  readonly check?: Check;
}

/** One rule of the document. */
export interface Row {
  /** `<section>/<name>`, stable: people put it in their notes. */
  readonly id: string;
  readonly rule: string;
  /** Whether a service that keeps the rule charges for it. */
  readonly costs?: true;
  /** Keys beside the main one. */
  readonly needs?: readonly KeyName[];
  /** Sent first; `earlier` of the check. Each is answered 200, unless `beforeStatus` says otherwise. */
  readonly before?: readonly Step[];
  readonly beforeStatus?: readonly number[];
  readonly request: Step;
  readonly expect: Expectation;
}

/** Thrown where a row cannot be judged, such as a page of a task that found nothing. */
export class NotJudged extends Error {
  override readonly name = 'NotJudged';
}

export function sectionOf({ id }: Row): string {
  return id.slice(0, id.indexOf('/'));
}
