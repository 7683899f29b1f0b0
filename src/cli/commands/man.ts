import { Command } from 'commander';
import type { Context } from '../../context.ts';
import { addHelp, type CommandHelp, usualWidth } from '../help.ts';
import { topicRows } from '../topics/topics.ts';

type CreateWholeProgram = (context: Context) => Promise<Command>;

const help: CommandHelp = {
  examples: ['leadpipe man', 'leadpipe man | man -l -'],
  output: ['text on a terminal; otherwise the page as roff source, for man and groff'],
  outcomes: ['complete', 'usage', 'reader_closed'],
};

export function createManCommand(context: Context, createWholeProgram: CreateWholeProgram): Command {
  const command = new Command('man').description('Prints the manual page.');
  return addHelp(command, help).action(() => runMan(context, createWholeProgram));
}

async function runMan(context: Context, createWholeProgram: CreateWholeProgram): Promise<void> {
  const { isTerminal, columns, stream } = context.stdout;
  const [{ toManual }, { toRoff }, { toPlainText }] = await Promise.all([
    import('../manual/manual.ts'),
    import('../manual/roff.ts'),
    import('../manual/text.ts'),
  ]);
  const topics = topicRows.map(async ({ name, load }) => ({ name, topic: await load() }));
  const manual = toManual(await createWholeProgram(context), await Promise.all(topics), context.version);
  stream.write(isTerminal ? toPlainText(manual, columns ?? usualWidth) : toRoff(manual));
}
