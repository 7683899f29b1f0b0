import type { Readable, Writable } from 'node:stream';
import {
  deserializeMessage,
  isJSONRPCNotification,
  isJSONRPCRequest,
  type JSONRPCMessage,
  serializeMessage,
  type Transport,
} from '@modelcontextprotocol/server';
import { isObject } from '../json/object.ts';

/** Far more than any call needs. */
const longestLine = 10 * 1024 * 1024;
const newline = 0x0a;

/** What goes wrong with the lines of a client. */
export interface LineListener {
  /** A line was left out. */
  bad(what: string): void;
  /** A line is so long that nothing more can be read. */
  tooLong(bytes: number): void;
}

/** A message on each line, with the last word on what a message looks like. */
export class LineTransport implements Transport {
  onmessage: Transport['onmessage'];
  onclose: Transport['onclose'];
  onerror: Transport['onerror'];
  toText: (message: JSONRPCMessage) => string | undefined = serializeMessage;
  readonly #input: Readable;
  readonly #output: Writable;
  readonly #listener: LineListener;
  /** The beginning of a line. */
  #pieces: Buffer[] = [];
  #size = 0;
  /** The requests that have no answer yet. */
  readonly #unanswered = new Set<string | number>();
  #settled: () => void = () => {};
  #hasEnded = false;

  constructor(input: Readable, output: Writable, listener: LineListener) {
    this.#input = input;
    this.#output = output;
    this.#listener = listener;
  }

  async start(): Promise<void> {
    this.#input.on('data', this.#read);
  }

  async close(): Promise<void> {
    this.#input.off('data', this.#read);
    this.#input.pause();
    this.onclose?.();
  }

  /** Resolves when all that was asked has its answer: nobody asks for more, or wants to hear how it goes. */
  async end(): Promise<void> {
    this.#hasEnded = true;
    if (this.#unanswered.size === 0) return;
    await new Promise<void>((resolve) => {
      this.#settled = resolve;
    });
  }

  async send(message: JSONRPCMessage): Promise<void> {
    const isAnswer = !('method' in message);
    if (this.#hasEnded && !isAnswer) return;
    const text = this.toText(message);
    const isThrough = text === undefined || this.#output.write(text);
    if (isAnswer && message.id !== undefined) this.#settle(message.id);
    if (isThrough) return;
    await new Promise<void>((resolve) => {
      this.#output.once('drain', resolve).once('close', resolve);
    });
  }

  #settle(id: string | number): void {
    if (this.#unanswered.delete(id) && this.#unanswered.size === 0) this.#settled();
  }

  #read = (chunk: Buffer): void => {
    let from = 0;
    for (let end = chunk.indexOf(newline); end !== -1; end = chunk.indexOf(newline, from)) {
      const line = Buffer.concat([...this.#pieces, chunk.subarray(from, end)]).toString('utf8');
      this.#pieces = [];
      this.#size = 0;
      from = end + 1;
      if (line.trim() !== '') this.#take(line);
    }
    this.#pieces.push(chunk.subarray(from));
    this.#size += chunk.length - from;
    if (this.#size <= longestLine) return;
    this.#pieces = [];
    this.#input.off('data', this.#read);
    this.#listener.tooLong(longestLine);
  };

  #take(line: string): void {
    let message: JSONRPCMessage;
    try {
      message = deserializeMessage(line);
    } catch (error) {
      this.#refuse(line, error instanceof SyntaxError);
      return;
    }
    // One that listens is never answered.
    if (isJSONRPCRequest(message) && message.method !== 'subscriptions/listen') {
      this.#unanswered.add(message.id);
    } else if (isJSONRPCNotification(message) && message.method === 'notifications/cancelled') {
      this.#settle(message.params?.requestId as string | number);
    }
    this.onmessage?.(message);
  }

  /** The SDK's type has no answer to what has no ID. */
  #refuse(line: string, isNoJson: boolean): void {
    const what = isNoJson ? 'not JSON' : 'not a message of the protocol';
    this.#listener.bad(`the client sent a line that is ${what}; it was left out`);
    const given: unknown = isNoJson ? undefined : JSON.parse(line);
    const id = isObject(given) && isId(given.id) && typeof given.method === 'string' ? given.id : null;
    const error = { code: isNoJson ? -32_700 : -32_600, message: `this line is ${what}` };
    this.#output.write(`${JSON.stringify({ jsonrpc: '2.0', id, error })}\n`);
  }
}

function isId(value: unknown): value is string | number {
  return typeof value === 'string' || Number.isSafeInteger(value);
}
