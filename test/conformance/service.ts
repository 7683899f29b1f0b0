import { setTimeout } from 'node:timers/promises';
import {
  type EndpointName,
  endpoints,
  type KeyHeader,
  requestHeaders,
} from '../../src/contract/endpoints.ts';
import { contactTypes, entityTypes, taskStates, terminalTaskStates } from '../../src/contract/types.ts';
import { isObject } from '../../src/json/object.ts';
import { memberOf, numberIn, quoted } from './shapes.ts';

/** The API keys that rows need, and those of the local service. */
export const keyTable = {
  main: ['lp_local_demo', 'an active key with access to everything'],
  other: ['lp_local_other', 'an active key of another account'],
  sibling: ['lp_local_entity_only', 'another active key of the main account'],
  revoked: ['lp_local_revoked', 'a revoked key'],
  expired: ['lp_local_expired', 'an expired key'],
  no_access: ['lp_local_no_access', 'an active key without access to searches, contacts and extraction'],
  no_credits: ['lp_local_broke', 'an active key whose account has no credits'],
  few_credits: ['lp_local_other', 'an active key whose account has fewer credits than 10,000 items cost'],
  busy: ['lp_local_busy', 'an active key that has reached its concurrency limit'],
} as const;

export type KeyName = keyof typeof keyTable;
export type Keys = Readonly<{ main: string } & Partial<Record<KeyName, string>>>;

export const keysOfLocalService = Object.fromEntries(
  Object.entries(keyTable).map(([name, [key]]) => [name, key]),
) as Record<KeyName, string>;

/** A request. What is left out is as the interface requires it. */
export interface Request {
  readonly endpoint: EndpointName;
  readonly query?: Readonly<Record<string, string>>;
  readonly body?: object;
  /** The bytes to send in place of the JSON body. */
  readonly bytes?: (json: string) => string | Uint8Array;
  /** null: without this header. */
  readonly contentType?: string | null;
  /**
   * A label: requests with the same one share a key, that is new in every run. Without a label each POST gets a key
   * of its own, of so many characters where it is a number; null leaves the header out.
   */
  readonly idempotencyKey?: string | number | null;
  readonly apiKey?: KeyName | 'none' | 'unknown';
  /** The header for the key, where the row is about that. */
  readonly keyHeader?: KeyHeader;
  /** A text to send in place of a key. */
  readonly authorization?: string;
}

/** Whether the main account can be charged for it. */
export function isPaid({ endpoint, apiKey = 'main' }: Request): boolean {
  return endpoints[endpoint].method === 'POST' && apiKey === 'main';
}

export interface Answer {
  readonly request: Request;
  /** The Idempotency-Key that was sent. */
  readonly sentKey: string | undefined;
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  /** Undefined where the body is not JSON. */
  readonly json: unknown;
}

/** Why a row does not pass. If the `answer` is a 503, the row may be skipped: it says nothing about the rule. */
export class RowError extends Error {
  override readonly name = 'RowError';
  readonly answer: Answer | undefined;

  constructor(message: string, answer?: Answer, cause?: unknown) {
    super(message, { cause });
    this.answer = answer;
  }
}

export class MissingKey extends Error {}

export function notTried(why: string, answer?: Answer): RowError {
  return new RowError(`could not be tried: ${why}`, answer);
}

export interface ServiceOptions {
  readonly baseUrl: URL;
  readonly keys: Keys;
  /** The most milliseconds between two polls of a task or the balance. The first polls come sooner. */
  readonly pollMs: number;
  /** The most milliseconds that a whole answer may take. */
  readonly answerMs?: number;
  readonly fetch?: typeof globalThis.fetch;
  readonly clock?: Pick<typeof machineClock, 'monotonic' | 'pause'>;
}

const machineClock = {
  monotonic: () => performance.now(),
  pause: (ms: number): Promise<void> => setTimeout(ms),
};
/** A deep search may take a quarter of an hour. */
const slowestAnswerMs = 960_000;
/** The first pauses between polls, as parts of the longest one. */
const firstPauses = [0.1, 0.2, 0.5];
/** How often to poll for what may never happen, and for what ends at some time. */
const mostPolls = { few: 60, many: 1200 };
/** For how many of the longest pauses the balance must stay the same. */
const quietPauses = 3;

/** Sends the requests of rows, without any checks or retries, and waits for what rows need. */
export class TestedService {
  readonly #options: Required<ServiceOptions>;
  readonly #labelled = new Map<string, string>();
  /** Operations, and types that are enabled one by one, that answered with another status than 503. */
  readonly #enabled = new Set<string>();
  /** The longest time between an answer and the change of the balance. */
  #slowestSettlement = 0;
  /** When the last answer came that can still change the balance. */
  #answered: number;
  #steady: number | undefined;
  /** The last answer, or the one that a row checks. */
  last: Answer | undefined;

  constructor(options: ServiceOptions) {
    // Looked up now, since a test may have put its own in this place.
    const { fetch } = globalThis;
    this.#options = { answerMs: slowestAnswerMs, fetch, clock: machineClock, ...options };
    this.#answered = this.time();
  }

  /** Milliseconds from a fixed moment. */
  time(): number {
    return this.#options.clock.monotonic();
  }

  /** Waits without sending anything. */
  async pause(ms: number): Promise<void> {
    await this.#options.clock.pause(ms);
  }

  /** Whether this operation, or its type, has answered before. */
  isEnabled(request: Request): boolean {
    return this.#enabled.has(namesOf(request).at(-1) as string);
  }

  /**
   * Sends a request. If there is no room because the task of an earlier row is still running, nothing was admitted, and it is sent again.
   */
  async send(request: Request): Promise<Answer> {
    const isMain = (request.apiKey ?? 'main') === 'main';
    return await this.#poll(mostPolls.few, request, ({ status }) => status !== 429 || !isMain);
  }

  /** An answer with one of these statuses. Throws RowError for any other. */
  async accepted(request: Request, ...statuses: readonly number[]): Promise<Answer> {
    const answer = await this.send(request);
    const wanted = statuses.length > 0 ? statuses : [200];
    if (wanted.includes(answer.status)) return answer;
    throw new RowError(`${request.endpoint}: ${answer.status} instead of ${wanted.join(' or ')}`, answer);
  }

  /** The status of a task when it is as wanted, or when the task has ended. */
  async statusWhen(id: string, wanted?: (seen: ReturnType<typeof statusOf>) => boolean): Promise<Answer> {
    const request: Request = { endpoint: 'status', query: { leads_search_id: id } };
    const isThere = (answer: Answer): boolean => hasEnded(answer) || wanted?.(statusOf(answer)) === true;
    const answer = await this.#poll(mostPolls.many, request, (answer) => {
      const { status } = statusOf(answer);
      if (!isObject(memberOf(answer.json, 'status')))
        throw notTried(`the status of the task could not be read: ${answer.status}`, answer);
      if (!taskStates.some((state) => state === status))
        throw notTried(`the state of the task is ${quoted(status)}`);
      return isThere(answer);
    });
    if (!isThere(answer)) throw notTried('the task did not end in time');
    return answer;
  }

  /** The balance when it is as wanted; the last one if that never happens. */
  async balanceWhen(wanted: (credits: number) => boolean): Promise<number> {
    const isWanted = (answer: Answer): boolean => wanted(creditsOf(answer));
    const last = await this.#poll(mostPolls.few, { endpoint: 'balance' }, isWanted);
    if (isWanted(last)) this.#learn(this.time());
    return creditsOf(last);
  }

  /** The balance, when nothing changes it any more. */
  async steadyBalance(): Promise<number> {
    let since = this.#answered;
    let last = this.#steady;
    for (let polls = 0; polls < mostPolls.many; polls++) {
      const now = creditsOf(await this.send({ endpoint: 'balance' }));
      if (now !== last) since = this.time();
      last = now;
      // Longer than any settlement took.
      const quiet = Math.max(quietPauses * this.#options.pollMs, 2 * this.#slowestSettlement);
      const left = since + quiet - this.time();
      if (left <= 0) {
        if (this.#steady !== undefined) this.#learn(since);
        this.#steady = last;
        return now;
      }
      await this.pause(Math.min(this.#pauseAfter(polls), left));
    }
    throw notTried('the balance keeps changing');
  }

  #learn(settled: number): void {
    this.#slowestSettlement = Math.max(this.#slowestSettlement, settled - this.#answered);
  }

  #pauseAfter(polls: number): number {
    return this.#options.pollMs * (firstPauses[polls] ?? 1);
  }

  /** Asks until the answer is as wanted, or until it has asked often enough. */
  async #poll(most: number, request: Request, isEnough: (answer: Answer) => boolean): Promise<Answer> {
    for (let polls = 0; ; polls++) {
      const answer = await this.#exchange(request);
      if (isEnough(answer) || polls === most) return answer;
      await this.pause(this.#pauseAfter(polls));
    }
  }

  async #exchange(request: Request): Promise<Answer> {
    const { baseUrl, answerMs, fetch } = this.#options;
    const { endpoint, query, body, bytes, contentType = 'application/json' } = request;
    const { method, path, answer: accept } = endpoints[endpoint];
    const url = new URL(baseUrl);
    url.pathname = url.pathname.replace(/\/+$/, '') + path;
    for (const [name, value] of Object.entries(query ?? {})) url.searchParams.set(name, value);
    const sentKey = method === 'GET' ? undefined : this.#idempotencyKeyOf(request);
    const json = JSON.stringify(body);
    const headers: Record<string, string> = {
      Accept: accept,
      ...this.#authorizationOf(request),
      ...(sentKey === undefined ? {} : { [requestHeaders.idempotencyKey]: sentKey }),
      ...(body === undefined || contentType === null ? {} : { 'Content-Type': contentType }),
    };
    const limit = AbortSignal.timeout(answerMs);
    try {
      const response = await fetch(url, {
        method,
        headers,
        redirect: 'manual',
        signal: limit,
        // Bytes, because fetch would add a Content-Type of its own to a text.
        ...(body === undefined ? {} : { body: new Uint8Array(Buffer.from(bytes?.(json) ?? json)) }),
      });
      const text = await response.text();
      const { status } = response;
      // A replay or a conflict shows that an earlier request was admitted.
      if ([200, 402, 409].includes(status)) for (const name of namesOf(request)) this.#enabled.add(name);
      if (endpoint !== 'balance') this.#answered = this.time();
      this.last = { request, sentKey, status, headers: response.headers, text, json: toJson(text) };
      return this.last;
    } catch (error) {
      const { cause, message } = error as Error;
      const { code, message: deeper } = (cause ?? {}) as NodeJS.ErrnoException;
      const why = limit.aborted ? ` within ${answerMs / 1000} seconds` : `: ${code ?? deeper ?? message}`;
      throw new RowError(`no complete answer${why}`, undefined, error);
    }
  }

  #idempotencyKeyOf({ idempotencyKey: label }: Request): string | undefined {
    if (label === null) return undefined;
    if (typeof label !== 'string') return crypto.randomUUID().padEnd(label ?? 0, 'x');
    const key = this.#labelled.get(label) ?? crypto.randomUUID();
    this.#labelled.set(label, key);
    return key;
  }

  #authorizationOf({ endpoint, apiKey = 'main', authorization, keyHeader }: Request): Record<string, string> {
    if (authorization !== undefined) return { [requestHeaders.authorization]: authorization };
    if (apiKey === 'none') return {};
    const key = apiKey === 'unknown' ? `unknown-${crypto.randomUUID()}` : this.#options.keys[apiKey];
    if (key === undefined) throw new MissingKey(`needs the API key "${apiKey}"`);
    const form = keyHeader ?? endpoints[endpoint].keyHeader;
    return form === 'bearer'
      ? { [requestHeaders.authorization]: `Bearer ${key}` }
      : { [requestHeaders.apiKey]: key };
  }
}

/** The operation, and the type in it that can be enabled separately. */
function namesOf({ endpoint, body }: Request): string[] {
  const asked = memberOf(body, 'entity_type') ?? memberOf(body, 'contact_type');
  const type = [...entityTypes, ...contactTypes].find((one) => one === asked);
  return type === undefined ? [endpoint] : [endpoint, `${endpoint} ${type}`];
}

/** Undefined for what is not JSON. */
export function toJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** The task ID in an answer of create_task. */
export function searchIdOf(answer: Answer): string {
  const id = memberOf(answer.json, 'leads_search_id');
  if (answer.status !== 200 || typeof id !== 'string')
    throw notTried(`create_task created no task: ${answer.status}`, answer);
  return id;
}

export function creditsOf(answer: Answer): number {
  const credits = numberIn(answer.json, 'available_credits');
  if (Number.isNaN(credits)) throw notTried('available_credits of the balance is not a number', answer);
  return credits;
}

/** The status of a task in an answer. */
export function statusOf({ json }: Answer) {
  return {
    status: memberOf(json, 'status.status'),
    ready: numberIn(json, 'status.ready_count'),
    verified: numberIn(json, 'status.verified_count'),
  };
}

export function hasEnded(answer: Answer): boolean {
  return terminalTaskStates.some((state) => state === statusOf(answer).status);
}
