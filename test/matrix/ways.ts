import { connect, type Socket } from 'node:net';
import type { Endpoint } from '../../src/contract/endpoints.ts';
import {
  chunk,
  errorAnswer,
  lastChunk,
  type RawRequest,
  streamStart,
  wholeAnswer,
} from '../helpers/fault-server.ts';

/** A request on its way to the service. */
export interface Transit {
  readonly socket: Socket;
  readonly endpoint: Endpoint;
  /** Lets the service do it, to the end; resolves to its answer. */
  deliver(): Promise<Buffer>;
}

/** What happens to a request on its way. */
export type Way = (transit: Transit) => void | Promise<void>;

/** Sends a request to the service over a connection of its own; resolves to all that comes back. */
export function deliverTo(url: string, { method, path, headers, body }: RawRequest): Promise<Buffer> {
  const { port, hostname, host } = new URL(url);
  const lines = Object.entries({ ...headers, host, connection: 'close' }).map(
    ([name, value]) => `${name}: ${value}`,
  );
  return new Promise((resolve, reject) => {
    const pieces: Buffer[] = [];
    const socket = connect(Number(port), hostname, () =>
      socket.write(`${[`${method} ${path} HTTP/1.1`, ...lines].join('\r\n')}\r\n\r\n${body}`),
    );
    socket.on('data', (piece) => pieces.push(piece));
    socket.on('end', () => resolve(Buffer.concat(pieces))).on('error', reject);
  });
}

/** The request arrives, and so does its answer. */
export const through: Way = async ({ socket, deliver }) => void socket.end(await deliver());

/** A proxy answers; the service never gets the request. */
export function instead(answer: string | Buffer | ((endpoint: Endpoint) => string)): Way {
  return ({ socket, endpoint }) =>
    void socket.write(typeof answer === 'function' ? answer(endpoint) : answer);
}

/** The service does it; what comes back is something else. */
export function after(way: Way): Way {
  return async (transit) => {
    await transit.deliver();
    await way(transit);
  };
}

export const reset: Way = ({ socket }) => void socket.resetAndDestroy();
export const hangUp: Way = ({ socket }) => void socket.end();
export const silence: Way = () => {};

export function envelope(status: number, type: string, headers: readonly string[] = []): Way {
  return instead(errorAnswer(`${status} X`, type, 'as the service says', headers));
}

export function status(code: number, headers: readonly string[] = [], body = ''): Way {
  return instead(wholeAnswer(`${code} X`, 'text/html', body, headers));
}

/** A 200 of the promised content type with this body, whole. */
export function body(text: string, headers: readonly string[] = []): Way {
  return instead((endpoint) => wholeAnswer('200 OK', endpoint.answer, text, headers));
}

const mebibyte = chunk(Buffer.alloc(1024 * 1024, 'x'));

/** A 200 whose body is longer than any cap: a JSON body of 64 MiB, a frame of 16 Mi characters. */
export const endless: Way = ({ socket, endpoint }) => {
  const stream = endpoint.answer === 'text/event-stream';
  socket.write(`HTTP/1.1 200 OK\r\nContent-Type: ${endpoint.answer}\r\nTransfer-Encoding: chunked\r\n\r\n`);
  socket.write(chunk(stream ? 'data: "' : '"'));
  let left = stream ? 17 : 65;
  const more = (): void => {
    while (left-- > 0) if (!socket.write(mebibyte)) return void socket.once('drain', more);
    socket.write(lastChunk);
  };
  more();
};

/** The frames of the service's stream, changed on their way, then the end of the body unless `end` says otherwise. */
export function changed(
  change: (frames: readonly string[]) => readonly string[],
  end: (socket: Socket) => void = (socket) => void socket.write(lastChunk),
): Way {
  return async ({ socket, deliver }) => {
    const frames = toBody(await deliver()).split(/(?<=\n\n)/);
    socket.write(streamStart(change(frames)));
    end(socket);
  };
}

/** The body of a chunked answer. */
function toBody(answer: Buffer): string {
  const pieces: Buffer[] = [];
  for (let at = answer.indexOf('\r\n\r\n') + 4; ; ) {
    const line = answer.indexOf('\r\n', at);
    const size = Number.parseInt(answer.toString('latin1', at, line), 16);
    if (!(size > 0)) return Buffer.concat(pieces).toString('utf8');
    pieces.push(answer.subarray(line + 2, line + 2 + size));
    at = line + 2 + size + 2;
  }
}
