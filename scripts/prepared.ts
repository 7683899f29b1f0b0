import { Writable } from 'node:stream';
import type { Command } from 'commander';
import { defaultWidth, topicNames } from '../src/cli/help.ts';
import { createProgram, runProgram } from '../src/cli/program.ts';
import { topicTexts } from '../src/cli/topics.ts';
import type { Context } from '../src/context.ts';
import { toManual, toPlainText, toRoff } from './manual-page.ts';
import { referenceSchema, toReference } from './reference.ts';

/**
 * The texts that the build stores in dist/, by file name, so that printing one only takes reading a file: the help of every command for a terminal of
 * the default width (by the words of the command; for a topic, `help` and its name), the help for programs with its schema, and the manual page.
 */
export async function prepare(version: string): Promise<Record<string, string>> {
  const program = await createProgram(toContext(version, () => {}));
  const topics = topicNames.map((name) => ({ name, topic: topicTexts[name] }));
  const helps: Record<string, string> = {};
  const print = async (name: string, argv: readonly string[]): Promise<void> => {
    let printed = '';
    await runProgram(
      toContext(version, (text) => {
        printed += text;
      }),
      argv,
    );
    helps[name] = printed;
  };
  for (const words of commandsOf(program)) await print(words.join(' '), [...words, '--help']);
  for (const { name } of topics) await print(`help ${name}`, ['help', name]);
  const manual = toManual(program, topics, version);
  return {
    'help.json': JSON.stringify(helps),
    'reference.json': `${JSON.stringify(toReference(program))}\n`,
    'help.schema.json': `${JSON.stringify(referenceSchema, null, 2)}\n`,
    'leadpipe.1': toRoff(manual),
    'leadpipe.txt': toPlainText(manual, defaultWidth),
  };
}

function commandsOf(command: Command, words: readonly string[] = []): (readonly string[])[] {
  return [words, ...command.commands.flatMap((sub) => commandsOf(sub, [...words, sub.name()]))];
}

/** Only the parts of the context that help uses. */
function toContext(version: string, write: (text: string) => void): Context {
  const stream = new Writable({
    write(text: Buffer, _encoding, done) {
      write(text.toString('utf8'));
      done();
    },
  });
  return { version, stdout: { stream, isTerminal: false, columns: undefined } } as unknown as Context;
}
