import type { Command } from 'commander';
import { createProgram } from '../../src/cli/program.ts';
import type { Context } from '../../src/context.ts';

/** The names of all commands that take these options, such as `task run`. */
export async function commandsWith(...options: readonly `--${string}`[]): Promise<string[]> {
  const program = await createProgram({ version: '0.0.0', stdout: {} } as Context);
  const namesIn = (command: Command, path: readonly string[]): string[] =>
    command.commands.flatMap((sub) => {
      const own = [...path, sub.name()];
      const has = options.every((one) => sub.options.some(({ long }) => long === one));
      return [...(has ? [own.join(' ')] : []), ...namesIn(sub, own)];
    });
  return namesIn(program, []);
}
