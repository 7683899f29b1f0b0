import type { Context } from '../../context.ts';
import { indented } from '../../json/indent.ts';
import { objectOf, toLine } from '../../json/text.ts';
import type { Preview } from '../../transport/request.ts';

/** Prints the request of a dry run as one JSON object: indented on a terminal, on one line otherwise. */
export function printPreview(context: Context, { body, ...head }: Preview): void {
  const { stream, isTerminal } = context.stdout;
  const members = Object.entries(head).map(([name, value]) => [name, JSON.stringify(value)] as const);
  // As the text that would go out; what a terminal would obey is escaped.
  const shown = objectOf([...members, ['body', body ?? 'null']]);
  stream.write(`${isTerminal ? [...indented(shown)].join('') : toLine(shown)}\n`);
}
