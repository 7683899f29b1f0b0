import type { Context } from '../context.ts';
import type { Preview } from '../transport/request.ts';

/** Prints the request of a dry run as one JSON object: indented on a terminal, on one line otherwise. */
export function printPreview(context: Context, preview: Preview): void {
  const { body, ...head } = preview;
  const shown = { ...head, body: body === undefined ? null : JSON.parse(body) };
  context.stdout.stream.write(`${JSON.stringify(shown, null, context.stdout.isTerminal ? 2 : 0)}\n`);
}
