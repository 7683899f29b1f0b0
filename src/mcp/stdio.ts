import { EventEmitter, once } from 'node:events';
import { finished, type Readable } from 'node:stream';
import {
  isJSONRPCNotification,
  isJSONRPCRequest,
  type JSONRPCMessage,
  parseJSONRPCMessage,
  type RequestId,
  serializeMessage,
  type Transport,
} from '@modelcontextprotocol/server';
import { serveStdio as serve } from '@modelcontextprotocol/server/stdio';
import { wait } from '../clock.ts';
import type { Context } from '../context.ts';
import { UsageError } from '../errors.ts';
import { isObject } from '../json/object.ts';
import { createSession } from './session.ts';
import { fromText, type McpOptions } from './tool.ts';

/** How long running purchases continue when the client has left: they are paid for. */
const graceMs = 5000;
/** The same when the process is told to end, which must happen within a second. */
const lastMs = 600;
/** Characters; far more than a call needs. */
const longestLine = 10 * 1024 ** 2;

/**
 * Serves one client on standard input and output, until it goes away or `context.signal` aborts. The SDK's own transport gives up
 * what is in progress when its input ends, and passes over lines that it can't read. Throws UsageError for a client whose lines can't
 * be read.
 */
export async function serveStdio(context: Context, options: McpOptions): Promise<void> {
  const { clock, signal } = context;
  const { stream: output } = context.stdout;
  const { say } = options;
  const session = createSession(context, options);
  const unanswered = new Set<RequestId | undefined>();
  const answers = new EventEmitter();
  const settle = (id: RequestId | undefined): void => {
    if (unanswered.delete(id) && unanswered.size === 0) answers.emit('all');
  };
  const transport: Transport = {
    start: async () => {},
    async send(message) {
      output.write(serializeMessage(message));
      if (!('method' in message)) settle(message.id);
    },
    async close() {
      const { onclose } = transport;
      transport.onclose = undefined;
      onclose?.();
    },
  };
  const take = (line: string): void => {
    let message: JSONRPCMessage;
    try {
      message = parseJSONRPCMessage(repaired(JSON.parse(line)));
    } catch (error) {
      const [what, code] =
        error instanceof SyntaxError ? ['not JSON', -32_700] : ['not a message of the protocol', -32_600];
      say(`the client sent a line that is ${what}; it was left out`);
      const refusal = { jsonrpc: '2.0', id: null, error: { code, message: `this line is ${what}` } };
      output.write(`${JSON.stringify(refusal)}\n`);
      return;
    }
    // `subscriptions/listen` is never answered.
    if (isJSONRPCRequest(message) && message.method !== 'subscriptions/listen') unanswered.add(message.id);
    else if (isJSONRPCNotification(message) && message.method === 'notifications/cancelled')
      settle(message.params?.requestId as RequestId);
    transport.onmessage?.(message);
  };
  const read = async (): Promise<void> => {
    for await (const line of linesOf(context.stdin.stream)) if (line.trim() !== '') take(line);
  };

  const server = serve(() => session.createServer(), { transport, onerror: ({ message }) => say(message) });
  const stopped = signal.aborted ? undefined : once(signal, 'abort');
  const closed = new Promise<void>((resolve) => finished(output, () => resolve()));
  const failure: unknown = await Promise.race([read(), closed, stopped]).then(
    () => undefined,
    (error: unknown) => error,
  );
  const over = new AbortController();
  const patience = wait(clock, graceMs, AbortSignal.any([signal, over.signal])).then(() =>
    signal.aborted ? wait(clock, lastMs, over.signal) : undefined,
  );
  if (unanswered.size > 0) await Promise.race([once(answers, 'all'), patience]);
  over.abort();
  await session.close();
  await server.close();
  if (failure instanceof UsageError) throw failure;
}

/** Some clients send null for what is left out, or arguments as a text of JSON. The SDK refuses both. */
function repaired(message: unknown): unknown {
  if (!isObject(message)) return message;
  const { params, ...rest } = message;
  if (params === null) return rest;
  if (!isObject(params)) return message;
  const given = Object.fromEntries(Object.entries(params).filter(([, value]) => value !== null));
  const read = fromText(given.arguments);
  return { ...rest, params: isObject(read) ? { ...given, arguments: read } : given };
}

/** The last line may have no end. */
async function* linesOf(input: Readable): AsyncGenerator<string> {
  let rest = '';
  for await (const piece of input.setEncoding('utf8') as AsyncIterable<string>) {
    const [first = '', ...lines] = piece.split('\n');
    rest += first;
    for (const line of lines) {
      yield rest;
      rest = line;
    }
    if (rest.length > longestLine) {
      const max = `${longestLine / 1024 ** 2} MiB`;
      throw new UsageError(`the client sent a line of more than ${max}, and no more of it is read`);
    }
  }
  yield rest;
}
