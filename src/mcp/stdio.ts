import type { Readable, Writable } from 'node:stream';
import {
  deserializeMessage,
  isJSONRPCNotification,
  isJSONRPCRequest,
  type JSONRPCMessage,
  type RequestId,
} from '@modelcontextprotocol/server';
import { StdioServerTransport, serveStdio as serve } from '@modelcontextprotocol/server/stdio';
import { wait } from '../clock.ts';
import type { Context } from '../context.ts';
import { UsageError } from '../errors.ts';
import { createSession, type McpOptions } from './session.ts';

/** For so long, what is under way goes on when the client has gone: it is paid for. */
const graceMs = 5000;
/** And for so long when the process is told to end, which it has to within a second. */
const lastMs = 600;
/** Bytes: far more than any call needs. */
const longestLine = 10 * 1024 ** 2;

/**
 * Serves one client on standard input and output, until it goes away or `context.signal` aborts. Throws UsageError for a client
 * whose lines can't be read.
 */
export async function serveStdio(context: Context, options: McpOptions): Promise<void> {
  const { clock, stdin, stdout, signal } = context;
  const session = createSession(context, options);
  const transport = new AnsweringTransport(stdin.stream, stdout.stream, options.say);
  signal.addEventListener('abort', () => transport.leave(), { once: true });
  if (signal.aborted) transport.leave();
  const server = serve(() => session.createServer(), {
    transport,
    onerror: (error) => options.say(error.message),
  });
  await transport.gone;
  const over = new AbortController();
  const patience = wait(clock, graceMs, AbortSignal.any([signal, over.signal])).then(() =>
    signal.aborted ? wait(clock, lastMs, over.signal) : undefined,
  );
  await Promise.race([transport.answered(), patience]);
  over.abort();
  await session.close();
  await server.close();
  if (transport.failure !== undefined) throw transport.failure;
}

/**
 * The SDK's transport gives up what is under way when its input ends, and passes over lines that it can't read. This one stays
 * until what was asked is answered, and says what is wrong with a line.
 */
class AnsweringTransport extends StdioServerTransport {
  /** What ended it, where that was the client's fault. */
  failure: UsageError | undefined;
  /** Tells that nobody asks for more. */
  leave: () => void = () => {};
  readonly gone: Promise<void>;
  readonly #output: Writable;
  readonly #say: (line: string) => void;
  readonly #unanswered = new Set<RequestId>();
  #settled = (): void => {};
  /** The beginning of a line. */
  #rest = Buffer.alloc(0);

  constructor(input: Readable, output: Writable, say: (line: string) => void) {
    super(input, output);
    this.#output = output;
    this.#say = say;
    this.gone = new Promise((resolve) => {
      this.leave = resolve;
    });
    // Each message that waits for a slow client listens to it.
    output.setMaxListeners(0);
    output.once('close', this.leave);
  }

  override _onstdinclose = (): void => this.leave();
  override _onstdouterror = (): void => this.leave();

  override _ondata = (chunk: Buffer): void => {
    if (this.failure !== undefined) return;
    const text = Buffer.concat([this.#rest, chunk]);
    let from = 0;
    for (let end = text.indexOf('\n', this.#rest.length); end !== -1; end = text.indexOf('\n', from)) {
      const line = text.toString('utf8', from, end);
      from = end + 1;
      if (line.trim() !== '') this.#take(line);
    }
    this.#rest = text.subarray(from);
    if (this.#rest.length <= longestLine) return;
    const most = `${longestLine / 1024 ** 2} MiB`;
    this.failure = new UsageError(`the client sent a line of more than ${most}, and no more of it is read`);
    this.leave();
  };

  override async send(message: JSONRPCMessage): Promise<void> {
    const sent = super.send(message);
    if (!('method' in message) && message.id !== undefined) this.#settle(message.id);
    await sent;
  }

  /** Resolves when all that was asked has its answer. */
  async answered(): Promise<void> {
    if (this.#unanswered.size === 0) return;
    await new Promise<void>((resolve) => {
      this.#settled = resolve;
    });
  }

  #settle(id: RequestId): void {
    if (this.#unanswered.delete(id) && this.#unanswered.size === 0) this.#settled();
  }

  #take(line: string): void {
    let message: JSONRPCMessage;
    try {
      message = deserializeMessage(line);
    } catch (error) {
      const [what, code] =
        error instanceof SyntaxError ? ['not JSON', -32_700] : ['not a message of the protocol', -32_600];
      this.#say(`the client sent a line that is ${what}; it was left out`);
      // The SDK's type has no answer to what has no ID.
      const refusal = { jsonrpc: '2.0', id: null, error: { code, message: `this line is ${what}` } };
      this.#output.write(`${JSON.stringify(refusal)}\n`);
      return;
    }
    // One that listens is never answered.
    if (isJSONRPCRequest(message) && message.method !== 'subscriptions/listen') {
      this.#unanswered.add(message.id);
    } else if (isJSONRPCNotification(message) && message.method === 'notifications/cancelled') {
      this.#settle(message.params?.requestId as RequestId);
    }
    this.onmessage?.(message);
  }
}
