import { type Clock, wait } from '../clock.ts';
import { type EndpointName, endpoints, type KeyHeader, requestHeaders } from '../contract/endpoints.ts';
import { contactTypes, entityTypes, taskStates, terminalTaskStates } from '../contract/types.ts';
import { LeadpipeError, stoppedBy } from '../errors.ts';
import { isObject } from '../json/object.ts';
import { memberOf, numberIn, quoted } from './shapes.ts';

/** The API keys that rows need besides the main one. Rows whose key is missing are left out. */
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

/** Why a row does not pass. If the `answer` is 402 or 503, the row may be excused, since these say nothing about the rule. */
export class RowError extends Error {
  override readonly name = 'RowError';
  readonly answer: Answer | undefined;

  constructor(message: string, answer?: Answer, cause?: unknown) {
    super(message, { cause });
    this.answer = answer;
  }
}

export function notTried(why: string, answer?: Answer): RowError {
  return new RowError(`could not be tried: ${why}`, answer);
}

export interface ServiceOptions {
  readonly fetch: typeof globalThis.fetch;
  readonly clock: Clock;
  readonly baseUrl: URL;
  readonly keys: Keys;
  readonly newKey: () => string;
  readonly signal: AbortSignal;
  readonly userAgent: string;
  /** The header for the key, if it is not the one that the interface lists first for each endpoint. */
  readonly keyHeader?: KeyHeader | undefined;
  readonly secondsFor: (endpoint: EndpointName) => number;
  readonly trace?: ((line: string) => void) | undefined;
  /** The most milliseconds between two polls of a task or the balance. The first polls come sooner. */
  readonly pollMs: number;
}

/** The first pauses between polls, as parts of the longest one. */
const firstPauses = [0.1, 0.2, 0.5];
/** How often to poll for what may never happen, and for what ends at some time. */
const mostPolls = { few: 60, many: 1200 };
/** For how many of the longest pauses the balance must stay the same: after a request that was never seen to be charged, and at least. */
const quietPauses = { unseen: 3, least: 0.3 };

/** Sends the requests of rows, without any checks or retries, and waits for what rows need. */
export class TestedService {
  readonly #options: ServiceOptions;
  readonly #labelled = new Map<string, string>();
  /** Operations, and types that are enabled one by one, that answered with another status than 503. */
  readonly #enabled = new Set<string>();
  /** By endpoint, the longest time between an answer and the change of the balance. */
  readonly #slowest = new Map<EndpointName, number>();
  /** What can still change the balance, and whether it was admitted; and the time of the last answer. */
  readonly #moving = new Map(Object.keys(endpoints).map((name) => [name as EndpointName, false]));
  #answered: number;
  #steady: number | undefined;
  /** The last answer, or the one that a row checks. */
  last: Answer | undefined;

  constructor(options: ServiceOptions) {
    this.#options = options;
    this.#answered = this.time();
  }

  /** Milliseconds from a fixed moment. */
  time(): number {
    return this.#options.clock.monotonic();
  }

  /** Waits without sending anything. */
  async pause(ms: number): Promise<void> {
    await wait(this.#options.clock, ms, this.#options.signal);
  }

  /** Throws LeadpipeError when the run was stopped. */
  throwIfStopped(): void {
    const { signal } = this.#options;
    if (signal.aborted) throw new LeadpipeError(stoppedBy(signal), 'the check was stopped');
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
    let polls = 0;
    const last = await this.#poll(mostPolls.few, { endpoint: 'balance' }, (answer) => {
      const isWanted = wanted(creditsOf(answer));
      if (isWanted && polls > 0) this.#learn(this.time() - this.#answered);
      polls += 1;
      return isWanted;
    });
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
      const left = since + this.#quietMs() - this.time();
      if (left <= 0) {
        // A request that changed nothing was free, or is slower than all others.
        if (this.#steady !== undefined && last !== this.#steady) this.#learn(since - this.#answered);
        else if (this.#slowest.size > 0) this.#learn(Math.max(...this.#slowest.values()));
        this.#moving.clear();
        this.#steady = last;
        return now;
      }
      await this.pause(Math.min(this.#pauseAfter(polls), left));
    }
    throw notTried('the balance keeps changing');
  }

  #learn(ms: number): void {
    for (const [name, isAdmitted] of this.#moving)
      if (isAdmitted) this.#slowest.set(name, Math.max(ms, this.#slowest.get(name) ?? 0));
  }

  /** How long the balance must stay the same: longer than any settlement of this kind took. */
  #quietMs(): number {
    const { pollMs } = this.#options;
    const times = [...this.#moving.keys()].map((name) => {
      const ms = this.#slowest.get(name);
      return ms === undefined ? quietPauses.unseen * pollMs : Math.max(quietPauses.least * pollMs, 2 * ms);
    });
    return Math.max(0, ...times);
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
    const { clock, signal, trace, baseUrl, secondsFor } = this.#options;
    const { endpoint, query, body, bytes, contentType = 'application/json' } = request;
    const { method, path, answer: accept } = endpoints[endpoint];
    const url = new URL(baseUrl);
    url.pathname = url.pathname.replace(/\/+$/, '') + path;
    for (const [name, value] of Object.entries(query ?? {})) url.searchParams.set(name, value);
    const sentKey = method === 'GET' ? undefined : this.#idempotencyKeyOf(request);
    const json = JSON.stringify(body);
    const headers: Record<string, string> = {
      Accept: accept,
      'User-Agent': this.#options.userAgent,
      ...this.#authorizationOf(request),
      ...(sentKey === undefined ? {} : { [requestHeaders.idempotencyKey]: sentKey }),
      ...(body === undefined || contentType === null ? {} : { 'Content-Type': contentType }),
    };
    const limit = new AbortController();
    const seconds = secondsFor(endpoint);
    const cancel = clock.after(seconds * 1000, () => limit.abort());
    trace?.(`> ${method} ${url.href}`);
    try {
      const response = await this.#options.fetch(url, {
        method,
        headers,
        redirect: 'manual',
        signal: AbortSignal.any([limit.signal, signal]),
        // Bytes, because fetch would add a Content-Type of its own to a text.
        ...(body === undefined ? {} : { body: new Uint8Array(Buffer.from(bytes?.(json) ?? json)) }),
      });
      const text = await response.text();
      const { status } = response;
      trace?.(`< ${status}`);
      // A replay or a conflict shows that an earlier request was admitted.
      if ([200, 402, 409].includes(status)) for (const name of namesOf(request)) this.#enabled.add(name);
      if (method === 'POST') this.#moving.set(endpoint, this.#moving.get(endpoint) || status === 200);
      if (endpoint !== 'balance') this.#answered = this.time();
      this.last = { request, sentKey, status, headers: response.headers, text, json: toJson(text) };
      return this.last;
    } catch (error) {
      this.throwIfStopped();
      const { cause, message } = error as Error;
      const { code, message: deeper } = (cause ?? {}) as NodeJS.ErrnoException;
      const why = limit.signal.aborted ? ` within ${seconds} seconds` : `: ${code ?? deeper ?? message}`;
      throw new RowError(`no complete answer${why}`, undefined, error);
    } finally {
      cancel();
    }
  }

  #idempotencyKeyOf({ idempotencyKey: label }: Request): string | undefined {
    if (label === null) return undefined;
    if (typeof label !== 'string') return this.#options.newKey().padEnd(label ?? 0, 'x');
    const key = this.#labelled.get(label) ?? this.#options.newKey();
    this.#labelled.set(label, key);
    return key;
  }

  #authorizationOf({ endpoint, apiKey = 'main', authorization, keyHeader }: Request): Record<string, string> {
    if (authorization !== undefined) return { [requestHeaders.authorization]: authorization };
    if (apiKey === 'none') return {};
    const { keys, newKey } = this.#options;
    const key = apiKey === 'unknown' ? `unknown-${newKey()}` : (keys[apiKey] ?? '');
    const form = keyHeader ?? this.#options.keyHeader ?? endpoints[endpoint].keyHeader;
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
