import type { Context } from '../context.ts';
import { greet } from './greeting.ts';
import type { McpOptions } from './session.ts';

/** Serves one client on standard input and output, until it goes away or `context.signal` aborts. */
export async function serveStdio(context: Context, options: McpOptions): Promise<void> {
  const { stdin, stdout, signal, version } = context;
  const answered = await greet(stdin.stream, stdout.stream, version, signal);
  const { runStdio } = await import('./stdio-server.ts');
  await runStdio(context, options, answered);
}
