import { type Clock, wait } from '../clock.ts';
import { type EndpointName, endpoints, type KeyHeader, requestHeaders } from '../contract/endpoints.ts';
import { contactTypes, entityTypes, taskStates, terminalTaskStates } from '../contract/types.ts';
import { LeadpipeError, stoppedBy } from '../errors.ts';
import { isObject } from '../json/object.ts';
import { memberOf, numberIn, quoted } from './shapes.ts';

/** The API keys that rows ask for beside the main one; rows whose key is missing are left out. */
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
  readonly bytes?: (json: string) => string | Uint8Array;
  /** null leaves the header out. */
  readonly contentType?: string | null;
  /**
   * A label: requests with the same one share a key, that is new in every run. Without a label each POST gets a key
   * of its own, of so many characters where it is a number; null leaves the header out.
   */
  readonly idempotencyKey?: string | number | null;
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

/** Why a row does not pass, in words; an `answer` that is not as wanted may excuse it: 402 and 503 say nothing of the rule. */
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
  /** Where the form that the document lists first for each endpoint is not the one to use. */
  readonly keyHeader?: KeyHeader | undefined;
  readonly secondsFor: (endpoint: EndpointName) => number;
  readonly trace?: ((line: string) => void) | undefined;
  /** The most milliseconds between two polls of a task or the balance; the first few follow sooner. */
  readonly pollMs: number;
}

/** The first pauses between polls, as parts of the longest: what is quick is soon over, and what is slow is not asked often. */
const firstPauses = [0.1, 0.2, 0.5];
/** Of what may never come, and of what ends some time. */
const mostPolls = { few: 60, many: 1200 };
/** For how many of the longest pauses the balance must not have moved: after what was never seen to be charged, and at least. */
const quietPauses = { unseen: 3, least: 0.3 };

/** One way from a row to the wire, on which nothing is checked or followed, and what rows wait for. */
export class TestedService {
  readonly #options: ServiceOptions;
  readonly #labelled = new Map<string, string>();
  /** What answered other than with 503: operations, and with them the types that are enabled one by one. */
  readonly #enabled = new Set<string>();
  /** How long after an answer the balance moved at most, by what had been asked for. */
  readonly #slowest = new Map<EndpointName, number>();
  /** What can still move the balance, since it was steady, and whether it was admitted; and when the last answer came. */
  readonly #moving = new Map(Object.keys(endpoints).map((name) => [name as EndpointName, false]));
  #answered: number;
  #steady: number | undefined;
  /** The answer that came last, or that a row looks at. */
  last: Answer | undefined;

  constructor(options: ServiceOptions) {
    this.#options = options;
    this.#answered = this.time();
  }

  /** Milliseconds from a fixed moment. */
  time(): number {
    return this.#options.clock.monotonic();
  }

  /** Lets so much time pass without a request. */
  async pause(ms: number): Promise<void> {
    await wait(this.#options.clock, ms, this.#options.signal);
  }

  /** Throws LeadpipeError once the run was stopped; the signal says how it ends. */
  throwIfStopped(): void {
    const { signal } = this.#options;
    if (signal.aborted) throw new LeadpipeError(stoppedBy(signal), 'the check was stopped');
  }

  /** Whether the same was answered, by the operation or for its type. */
  isEnabled(request: Request): boolean {
    return this.#enabled.has(namesOf(request).at(-1) as string);
  }

  /** A task of an earlier row may still run: where there is no room, nothing was admitted, and it is sent again. */
  async send(request: Request): Promise<Answer> {
    const isMain = (request.apiKey ?? 'main') === 'main';
    return await this.#poll(mostPolls.few, request, ({ status }) => status !== 429 || !isMain);
  }

  /** An answer with one of these statuses; throws RowError for any other. */
  async accepted(request: Request, ...statuses: readonly number[]): Promise<Answer> {
    const answer = await this.send(request);
    const wanted = statuses.length > 0 ? statuses : [200];
    if (wanted.includes(answer.status)) return answer;
    throw new RowError(`${request.endpoint}: ${answer.status} instead of ${wanted.join(' or ')}`, answer);
  }

  /** The status of a task once it is as wanted, or the task has ended. */
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

  /** The balance as soon as it is as wanted, or the last one where it does not become so. */
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

  /** The credits of the balance once nothing moves it any more. */
  async steadyBalance(): Promise<number> {
    let since = this.#answered;
    let last = this.#steady;
    for (let polls = 0; polls < mostPolls.many; polls++) {
      const now = creditsOf(await this.send({ endpoint: 'balance' }));
      if (now !== last) since = this.time();
      last = now;
      const left = since + this.#quietMs() - this.time();
      if (left <= 0) {
        // What moved nothing has cost nothing: it may be as slow as others, if any were seen.
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

  /** How long the balance must not have moved: longer than any settlement of this kind that was seen. */
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

  /** Asks until it is enough, or was asked often enough. */
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
        // Bytes and not a text, to which fetch would add a Content-Type of its own.
        ...(body === undefined ? {} : { body: new Uint8Array(Buffer.from(bytes?.(json) ?? json)) }),
      });
      const text = await response.text();
      const { status } = response;
      trace?.(`< ${status}`);
      // A replay or a conflict comes from an earlier request that was admitted.
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

/** The operation, and the type in it that is enabled by itself. */
function namesOf({ endpoint, body }: Request): string[] {
  const asked = memberOf(body, 'entity_type') ?? memberOf(body, 'contact_type');
  const type = [...entityTypes, ...contactTypes].find((one) => one === asked);
  return type === undefined ? [endpoint] : [endpoint, `${endpoint} ${type}`];
}

/** Undefined for what is none. */
export function toJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** The task that an answer of create_task names. */
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

/** What a status says of a task. */
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
