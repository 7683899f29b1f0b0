import { type JSONRPCMessage, serializeMessage } from '@modelcontextprotocol/server';
import { StdioServerTransport, serveStdio } from '@modelcontextprotocol/server/stdio';
import type { Context } from '../context.ts';
import { createRawJson } from './raw-json.ts';
import { createSession, type McpOptions } from './session.ts';

/** Serves the client with the SDK; `answered` is the request that has had its answer. */
export async function runStdio(
  context: Context,
  options: McpOptions,
  answered: string | number | undefined,
): Promise<void> {
  const { stdin, stdout, signal } = context;
  const raw = createRawJson();
  const session = createSession(context, options, raw);
  const transport = new RawTransport(stdin.stream, stdout.stream);
  let answeredId = answered;
  transport.toText = (message) => {
    if (answeredId !== undefined && 'result' in message && message.id === answeredId) {
      answeredId = undefined;
      return undefined;
    }
    return raw.restore(serializeMessage(message));
  };
  const gone = new Promise<void>((resolve) => {
    stdin.stream.once('end', resolve).once('close', resolve);
    stdout.stream.once('close', resolve);
    signal.addEventListener('abort', () => resolve(), { once: true });
    if (signal.aborted || stdin.stream.readableEnded) resolve();
  });
  const server = serveStdio(() => session.createServer(), {
    transport,
    onerror: (error) => options.say(error.message),
  });
  await gone;
  await session.close();
  await server.close();
}

/** The SDK's transport, with the last word on what a message looks like. */
class RawTransport extends StdioServerTransport {
  toText: (message: JSONRPCMessage) => string | undefined = serializeMessage;
  readonly #output: Context['stdout']['stream'];

  constructor(input: Context['stdin']['stream'], output: Context['stdout']['stream']) {
    super(input, output);
    this.#output = output;
  }

  override async send(message: JSONRPCMessage): Promise<void> {
    const text = this.toText(message);
    if (text === undefined || this.#output.write(text)) return;
    await new Promise<void>((resolve) => {
      this.#output.once('drain', resolve).once('close', resolve);
    });
  }
}
