import { serializeMessage } from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import { wait } from '../clock.ts';
import type { Context } from '../context.ts';
import { UsageError } from '../errors.ts';
import { LineTransport } from './line-transport.ts';
import { createRawJson } from './raw-json.ts';
import { createSession, type McpOptions } from './session.ts';

/** For so long, what is under way goes on when the client has gone: it is paid for. */
const graceMs = 5000;
/** And for so long when the process is told to end, which it has to within a second. */
const lastMs = 600;

/** Serves the client with the SDK; `answered` is the request that has had its answer. Throws UsageError for a client whose lines can't be read. */
export async function runStdio(
  context: Context,
  options: McpOptions,
  answered: string | number | undefined,
): Promise<void> {
  const { clock, stdin, stdout, signal } = context;
  const raw = createRawJson();
  const session = createSession(context, options, raw);
  let failure: UsageError | undefined;
  let leave = (): void => {};
  const gone = new Promise<void>((resolve) => {
    leave = resolve;
  });
  const transport = new LineTransport(stdin.stream, stdout.stream, {
    bad: options.say,
    tooLong(bytes) {
      failure = new UsageError(
        `the client sent a line of more than ${bytes / 1024 ** 2} MiB, and no more of it is read`,
      );
      leave();
    },
  });
  let answeredId = answered;
  transport.toText = (message) => {
    if (answeredId !== undefined && 'result' in message && message.id === answeredId) {
      answeredId = undefined;
      return undefined;
    }
    return raw.restore(serializeMessage(message));
  };
  stdin.stream.once('end', leave).once('close', leave).once('error', leave);
  stdout.stream.once('close', leave);
  signal.addEventListener('abort', leave, { once: true });
  if (signal.aborted || stdin.stream.readableEnded) leave();
  const server = serveStdio(() => session.createServer(), {
    transport,
    onerror: (error) => options.say(error.message),
  });
  await gone;
  await withinGrace(transport.end());
  await session.close();
  await server.close();
  if (failure !== undefined) throw failure;

  async function withinGrace(work: Promise<void>): Promise<void> {
    const over = new AbortController();
    const patience = wait(clock, graceMs, AbortSignal.any([signal, over.signal])).then(() =>
      signal.aborted ? wait(clock, lastMs, over.signal) : undefined,
    );
    await Promise.race([work, patience]);
    over.abort();
  }
}
