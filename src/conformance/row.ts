import type { EndpointName, KeyHeader } from '../contract/endpoints.ts';
import type { ErrorType } from '../contract/errors.ts';

/** The API keys that rows ask for. Only the main one is always there; rows whose key is missing are left out. */
export const furtherKeys = {
  other: 'an active key of another account',
  sibling: 'another active key of the same account',
  revoked: 'a revoked key',
  expired: 'an expired key',
  no_access: 'an active key without access to searches, contacts and extraction',
  no_credits: 'an active key whose account has no credits',
  few_credits: 'an active key whose account has credits, but fewer than 10,000 extracted items cost',
  busy: 'an active key that has reached its concurrency limit',
} as const;

export type KeyName = 'main' | keyof typeof furtherKeys;
export type Keys = Readonly<{ main: string } & Partial<Record<KeyName, string>>>;

/** A request as it goes out. What is left out is as the interface wants it. */
export interface Request {
  readonly endpoint: EndpointName;
  readonly query?: Readonly<Record<string, string>>;
  readonly body?: object;
  /** What goes out in place of the body as JSON. */
  readonly bytes?: () => Uint8Array;
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
  /** The statuses that it may have as a step before a row's own request: 200, unless they are given. */
  readonly answered?: readonly number[];
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

/** What a status says of a task. */
export interface TaskCounts {
  readonly status: unknown;
  readonly ready: number;
  readonly verified: number;
}

/** What rows can ask for beside their own request. */
export interface TestedService {
  send(request: Request): Promise<Answer>;
  /** Done once in a run, however many rows look at the answers. */
  once(name: string, take: Take): Promise<readonly Answer[]>;
  /** Reads the status of a task until it is as wanted, or the task has ended. */
  statusWhen(searchId: string, wanted?: (counts: TaskCounts) => boolean): Promise<Answer>;
  /** The balance once nothing moves it any more. */
  steadyBalance(): Promise<Answer>;
  /** The balance as soon as it is as wanted, or the last one where it does not become so. */
  balanceWhen(wanted: (credits: number) => boolean): Promise<Answer>;
  /** Lets so much time pass without a request. */
  pause(ms: number): Promise<void>;
  /** Milliseconds from a fixed moment. */
  time(): number;
}

export type Take = (service: TestedService, earlier: readonly Answer[]) => Promise<readonly Answer[]>;

/** Whatever else than one fixed request ends with answers. */
export interface Action {
  readonly take: Take;
  /** The dearest requests that it may send: what a row may cost is known before anything is sent. */
  readonly pays?: readonly Request[];
  /** Of actions with the same name only one is taken and paid for. */
  readonly once?: string;
  /** A shared one that it takes first. */
  readonly after?: Action;
}

export type Step = Request | Action;

/** What an answer breaks, one line each; empty when nothing. */
export type Check = (answer: Answer, earlier: readonly Answer[]) => readonly string[];

export interface Expectation {
  readonly status: readonly number[];
  /** Of an error; the type's place in the envelope is not documented, and neither that it is always there. */
  readonly types?: readonly ErrorType[];
  /** What is expected of head and body. */
  readonly says?: string;
  readonly check?: Check;
  /** What is expected of the head of an error. */
  readonly head?: Check;
}

export interface Row {
  /** `<section>/<name>`, stable: people put it in their notes. */
  readonly id: string;
  readonly rule: string;
  /** Keys of actions, beside those of the requests. */
  readonly needs?: readonly KeyName[];
  /** Taken first; `earlier` of the check. */
  readonly before?: readonly Step[];
  readonly request: Step;
  readonly expect: Expectation;
}

/** Thrown where a row can't be judged; `answer` is why, if it was one. */
export class NotJudged extends Error {
  override readonly name = 'NotJudged';
  readonly answer: Answer | undefined;

  constructor(message: string, answer?: Answer) {
    super(message);
    this.answer = answer;
  }
}

export function sectionOf({ id }: Row): string {
  return id.slice(0, id.indexOf('/'));
}

/** One request that several rows look at. */
export function shared(once: string, request: Request): Action {
  return { once, pays: [request], take: async (service) => [await service.send(request)] };
}

/** What costs nothing. */
export function free(take: (service: TestedService, earlier: readonly Answer[]) => Promise<Answer>): Action {
  return { take: async (service, earlier) => [await take(service, earlier)] };
}

/**
 * `skipped` has a reason that the document allows: not enabled here, or no credits. `left_out` is what the user did not
 * ask for, or has no key for.
 */
export type Verdict = 'passed' | 'failed' | 'skipped' | 'left_out';

export interface RowResult {
  readonly row: string;
  readonly section: string;
  readonly rule: string;
  readonly result: Verdict;
  readonly expected: string;
  readonly got: string;
  readonly request_id: string | null;
}

/** The reason of a row that is skipped for lack of credits. */
export const noCredits = 'no credits left for this';
