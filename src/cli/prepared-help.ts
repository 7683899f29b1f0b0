import { Writable } from 'node:stream';
import type { Command } from 'commander';
import type { Context } from '../context.ts';
import { createWholeProgram, runProgram } from './program.ts';
import { topicRows } from './topics/topics.ts';

/**
 * Every help as it is where there is no terminal: by the words of its command, and a topic's by `help` and its name. The
 * build stores them, so that whoever asks for one waits for no more than a file.
 */
export async function prepareHelps(version: string): Promise<Record<string, string>> {
  const texts: Record<string, string> = {};
  for (const words of commandsOf(await createWholeProgram(toContext(version, () => {})))) {
    await print(words.join(' '), [...words, '--help']);
  }
  for (const { name } of topicRows) await print(`help ${name}`, ['help', name]);
  return texts;

  async function print(name: string, argv: readonly string[]): Promise<void> {
    texts[name] = '';
    const context = toContext(version, (text) => {
      texts[name] += text;
    });
    await runProgram(context, argv);
  }
}

function commandsOf(command: Command, words: readonly string[] = []): (readonly string[])[] {
  return [words, ...command.commands.flatMap((sub) => commandsOf(sub, [...words, sub.name()]))];
}

/** All that help asks for. */
function toContext(version: string, write: (text: string) => void): Context {
  const stream = new Writable({
    write(text: Buffer, _encoding, done) {
      write(text.toString('utf8'));
      done();
    },
  });
  return { version, stdout: { stream, isTerminal: false, columns: undefined } } as unknown as Context;
}
