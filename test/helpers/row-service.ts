import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { contactResult, creditBalance } from './bodies.ts';
import { listening } from './listening.ts';

export interface RowServiceOptions {
  /** Milliseconds that an answer takes. */
  readonly latencyMs?: number;
  /** An answer to these bytes also waits for this. */
  readonly gate?: (body: string) => Promise<void> | undefined;
  /** Requests at once; more are refused with 429. */
  readonly mostAtOnce?: number;
  /** As long as this is true, every request is refused with 429. */
  readonly isBusy?: () => boolean;
  /** Every answer is charged, and is no JSON. */
  readonly garbled?: true;
  /** Every answer is charged, and preceded by an unrequested head. */
  readonly announces?: boolean;
  /** Every answer is called this. */
  readonly contentType?: string;
  /** The Retry-After header of a refusal. */
  readonly retryAfter?: string;
  /** Objectives that are refused with 422, as long as they are in here. */
  readonly refused?: ReadonlySet<string>;
  /** Objectives whose answers are lost after they were charged, as long as they are in here. */
  readonly lost?: ReadonlySet<string>;
  /** Every answer is that nothing was found; a contact has this text in its place. */
  readonly nothing?: true | string;
  /** The first request of each row is answered with 500, and nothing is charged. */
  readonly stumbles?: true;
  /**
   * A server in front of the service answers every second request with one of these statuses, each in turn, and a page of its own. Every
   * fourth of those requests was carried out before.
   */
  readonly front?: readonly number[];
  /** Credits of the account: 402 when they are used up. */
  readonly credits?: number;
}

/** A gate for all requests, or for those that have a word in them. */
export function createGate(word = '') {
  let open = (): void => {};
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { gate: (body: string) => (body.includes(word) ? opened : undefined), open };
}

export type RowService = Awaited<ReturnType<typeof startRowService>>;

/** Answers of every kind without anything in them. */
function foundNothing(content: true | string, contactType: string | undefined, objective: string): object {
  if (contactType !== undefined)
    return contactResult(contactType, objective, content === true ? null : content);
  return { success: true, data: [], answer: { shoe: null, Result: '', Citations: [] } };
}

/** A service that looks up contacts, researches, enriches and extracts, and keeps books. */
export async function startRowService(options: RowServiceOptions = {}) {
  const { latencyMs = 1, mostAtOnce = 1000, credits = Number.POSITIVE_INFINITY } = options;
  const charged = new Map<string, string>();
  const refusals = new Map<number, number>();
  const stumbledOver = new Set<string>();
  let requests = 0;
  let requestsOfAll = 0;
  let connections = 0;
  let fronts = 0;
  let open = 0;
  let most = 0;

  function send(response: ServerResponse, body: object | string, status = 200, headers = {}): void {
    const head = {
      'content-type': options.contentType ?? 'application/json',
      'x-request-id': `req_${requests}`,
      ...headers,
    };
    response.writeHead(status, head);
    response.end(typeof body === 'string' ? body : JSON.stringify(body));
  }

  const sendPage = (response: ServerResponse, status: number): void =>
    send(response, '<html>nginx</html>', status, { 'content-type': 'text/html' });

  function refuse(response: ServerResponse, status: number, type: string, headers = {}): void {
    refusals.set(status, (refusals.get(status) ?? 0) + 1);
    send(response, { error: { type, message: `refused: ${type}` } }, status, headers);
  }

  async function answer(request: IncomingMessage, response: ServerResponse, body: string): Promise<void> {
    requestsOfAll++;
    if (request.url === '/v1/credit/balance') {
      return send(response, creditBalance(Number.isFinite(credits) ? credits - charged.size : 1_000_000));
    }
    const key = String(request.headers['idempotency-key']);
    requests++;
    if (open >= mostAtOnce || options.isBusy?.()) {
      return refuse(response, 429, 'concurrency_limit', { 'retry-after': options.retryAfter ?? '0' });
    }
    open++;
    most = Math.max(most, open);
    const front = requests % 2 === 1 ? options.front?.[fronts % options.front.length] : undefined;
    try {
      await new Promise((resolve) => setTimeout(resolve, latencyMs));
      await options.gate?.(body);
      if (front !== undefined && fronts++ % 4 !== 3) return sendPage(response, front);
      if (options.refused?.has(JSON.parse(body).objective)) {
        return refuse(response, 422, 'invalid_request_error');
      }
      if (options.stumbles && !stumbledOver.has(key)) {
        stumbledOver.add(key);
        return refuse(response, 500, 'internal_error');
      }
      if (charged.has(key)) return refuse(response, 409, 'request_already_exists');
      if (charged.size >= credits) return refuse(response, 402, 'insufficient_credits');
      charged.set(key, body);
      if (front !== undefined) return sendPage(response, front);
      if (options.announces) response.writeContinue();
      if (options.garbled) return send(response, '<paid for>');
      if (options.lost?.has(JSON.parse(body).objective)) return void request.socket.destroy();
      const { contact_type, objective, entity_context, target, query } = JSON.parse(body);
      if (options.nothing) return send(response, foundNothing(options.nothing, contact_type, objective));
      if (target !== undefined) return send(response, { success: true, data: [{ id: 1 }] });
      if (query !== undefined)
        return send(response, { success: true, answer: { Result: `of ${query}`, Citations: [] } });
      if (entity_context !== undefined) {
        // The city of rows with an x is not known.
        const answer = { city: 'Berlin', ...(entity_context.includes('x') ? {} : { size: 3 }) };
        return send(response, { success: true, answer });
      }
      const content = `${objective.toLowerCase().replace(/\W+/g, '.')}@example.com`;
      send(response, contactResult(contact_type, objective, content));
    } finally {
      open--;
    }
  }

  const server = createServer((request, response) => {
    const pieces: Buffer[] = [];
    request.on('data', (piece) => pieces.push(piece));
    request.on('end', () => void answer(request, response, Buffer.concat(pieces).toString()));
  });
  server.keepAliveTimeout = 60_000;
  server.on('connection', () => connections++);
  return {
    ...(await listening(server)),
    /** What was charged, by idempotency key. */
    charged,
    /** Every request for an answer that came, refused ones too. */
    requests: () => requests,
    /** Every request of whatever kind. */
    requestsOfAll: () => requestsOfAll,
    /** Connections that were opened. */
    connections: () => connections,
    /** Maximum number of requests in progress at once. */
    most: () => most,
    refusals,
  };
}
