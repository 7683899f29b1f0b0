import { createServer, type Socket } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { listening } from './listening.ts';

export interface RawRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

export type Answer = (socket: Socket, request: RawRequest) => void | Promise<void>;

export type FaultServer = Awaited<ReturnType<typeof startFaultServer>>;

/** A raw TCP server: it writes bytes, so that it can break every rule of HTTP. */
export async function startFaultServer(answer: Answer, host = '127.0.0.1') {
  const requests: RawRequest[] = [];
  let connections = 0;
  const server = createServer((socket) => {
    connections++;
    socket.on('error', () => {});
    let received = Buffer.alloc(0);
    socket.on('data', (bytes) => {
      received = Buffer.concat([received, bytes]);
      for (;;) {
        const request = toRequest(received);
        if (request === undefined) return;
        received = received.subarray(request.size);
        requests.push(request);
        void answer(socket, request);
      }
    });
  });
  return {
    ...(await listening(server, host)),
    requests,
    /** TCP connections accepted so far. */
    connections: () => connections,
  };
}

function toRequest(bytes: Buffer): (RawRequest & { size: number }) | undefined {
  const end = bytes.indexOf('\r\n\r\n');
  if (end === -1) return undefined;
  const [first = '', ...lines] = bytes.subarray(0, end).toString('latin1').split('\r\n');
  const [method = '', path = ''] = first.split(' ');
  const pairs = lines.map((line) => [line, line.indexOf(':')] as const);
  const headers = Object.fromEntries(
    pairs.map(([line, at]) => [line.slice(0, at).toLowerCase(), line.slice(at + 1).trim()]),
  );
  const size = end + 4 + Number(headers['content-length'] ?? 0);
  if (bytes.length < size) return undefined;
  return { method, path, headers, body: bytes.subarray(end + 4, size).toString('utf8'), size };
}

export const streamHead =
  'HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nX-Request-Id: req_test\r\nTransfer-Encoding: chunked\r\n\r\n';

/** One piece of a chunked body. */
export function chunk(bytes: Uint8Array | string): Buffer {
  const body = Buffer.from(bytes);
  return Buffer.concat([Buffer.from(`${body.length.toString(16)}\r\n`), body, Buffer.from('\r\n')]);
}

export const lastChunk = '0\r\n\r\n';

/** The head of a stream, and these frames in one piece. */
export function streamStart(frames: string | readonly string[]): Buffer {
  return Buffer.concat([Buffer.from(streamHead), chunk([frames].flat().join(''))]);
}

/** A stream of these frames, to its end. */
export function wholeStream(frames: string | readonly string[]): Buffer {
  return Buffer.concat([streamStart(frames), Buffer.from(lastChunk)]);
}

/** Answers each search with frames of its own, one at a time; a stream whose frames lack the end is cut. */
export function startSearchServer(
  toFrames: (request: RawRequest) => readonly string[],
  pauseMs = 0,
): Promise<FaultServer> {
  return startFaultServer(async (socket, request) => {
    if (request.method === 'GET') return void socket.write(notFound);
    const frames = toFrames(request);
    socket.write(streamHead);
    for (const one of frames) {
      socket.write(chunk(one));
      await pause(pauseMs);
    }
    socket.end(frames.at(-1) === streamEnd ? lastChunk : '');
  });
}

/** A whole answer with a length. */
export function wholeAnswer(
  status: string,
  type: string,
  body: string,
  more: readonly string[] = [],
): string {
  const headers = [`Content-Type: ${type}`, `Content-Length: ${Buffer.byteLength(body)}`, ...more];
  return `HTTP/1.1 ${status}\r\n${headers.join('\r\n')}\r\n\r\n${body}`;
}

/** A whole answer of JSON: a text of it, or a value. */
export function jsonAnswer(body: string | object, headers: readonly string[] = []): string {
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  return wholeAnswer('200 OK', 'application/json', text, headers);
}

export function errorAnswer(
  status: string,
  type: string,
  message: string,
  headers: readonly string[] = [],
): string {
  return wholeAnswer(status, 'application/json', JSON.stringify({ error: { type, message } }), headers);
}

/** The service's answer for an unknown task. */
export const notFound = errorAnswer('404 Not Found', 'not_found', 'no such task');

/** A frame of the stream. */
export function frame(payload: unknown): string {
  return `data: ${typeof payload === 'string' ? payload : JSON.stringify(payload)}\n\n`;
}

const streamEnd = frame('[DONE]');

/** The frames of a whole search, from the entities of each batch, given as JSON text. */
export function searchFrames(
  batches: readonly (readonly string[])[],
  stop_reason = 'limit',
  leads_search_id = 'ls_test',
): string[] {
  let total = 0;
  const frames = batches.map((entities, index) => {
    total += entities.length;
    return frame(
      `{"object":"entity_search_batch","leads_search_id":"${leads_search_id}","batch_index":${index + 1},` +
        `"count":${entities.length},"cum_count":${total},"entities":[${entities.join(',')}]}`,
    );
  });
  const done = { object: 'entity_search_done', leads_search_id, cum_count: total, stop_reason, finish: true };
  return [...frames, frame(done), streamEnd];
}

/** Searches are cut behind their first two leads; nothing of them can be read as a task. */
export const cutting: Answer = (socket, { method }) => {
  if (method === 'GET') return void socket.end(notFound);
  const [first = ''] = searchFrames([['{"name":"A"}', '{"name":"B"}']]);
  socket.write(streamStart(first));
  setTimeout(() => socket.destroy(), 50);
};
