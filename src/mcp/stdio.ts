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

/** Time for running purchases to finish after the client has left, since they are paid for. */
const graceMs = 5000;
/** As above after a signal: the process must end within a second. */
const signalGraceMs = 600;
/** Maximum characters of a line; far more than a call needs. */
const longestLine = 10 * 1024 ** 2;

/**
 * Serves one client on standard input and output, until it disconnects or `context.signal` aborts. The SDK's own transport would drop running
 * calls when the input ends, and skip invalid lines. Throws UsageError for a line that is too long.
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
      say(`the client sent a line that is ${what}; it was ignored`);
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
    signal.aborted ? wait(clock, signalGraceMs, over.signal) : undefined,
  );
  if (unanswered.size > 0) await Promise.race([once(answers, 'all'), patience]);
  over.abort();
  await session.close();
  await server.close();
  if (failure instanceof UsageError) throw failure;
}

/** Some clients send null for omitted members, or the arguments as a JSON string. The SDK refuses both. */
function repaired(message: unknown): unknown {
  if (!isObject(message)) return message;
  const { params, ...rest } = message;
  if (params === null) return rest;
  if (!isObject(params)) return message;
  const given = Object.fromEntries(Object.entries(params).filter(([, value]) => value !== null));
  const read = fromText(given.arguments);
  return { ...rest, params: isObject(read) ? { ...given, arguments: read } : given };
}

/** The lines of the input. The last one may lack its line end. */
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
      throw new UsageError(`the client sent a line of more than ${max}; the server stops reading`);
    }
  }
  yield rest;
}
