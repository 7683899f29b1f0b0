import { type Argument, Command, type Option } from 'commander';
import type { Context } from '../context.ts';
import { addHelp, type CommandHelp } from './help.ts';
import { addSharedOptions, type SharedOptions } from './options/shared-options.ts';

/** The help of a command or a group, above its options. */
interface Described extends CommandHelp {
  readonly name: string;
  /** For the list of its group. The program's own list is in program.ts. */
  readonly summary?: string;
  readonly description: string;
}

interface CommandDefinition<Given extends unknown[]> extends Described {
  readonly arguments?: readonly Argument[];
  /** Its own options. */
  readonly options?: readonly Option[];
  /** The options that it shares with other commands. */
  readonly takes?: readonly SharedOptions[];
  /** Gets the arguments, the options and, last, the command. */
  run(context: Context, ...given: Given): Promise<void>;
}

type CreateCommand = (context: Context) => Command;

/** The constructor of a command. */
export function defineCommand<Given extends unknown[]>(definition: CommandDefinition<Given>): CreateCommand {
  return (context) => {
    const command = describe(definition);
    for (const argument of definition.arguments ?? []) command.addArgument(argument);
    for (const option of definition.options ?? []) command.addOption(option);
    addSharedOptions(command, definition.takes ?? []);
    return command.action((...given) => definition.run(context, ...(given as Given)));
  };
}

/** The constructor of a group of commands. `defaultCommand` runs where none is named. */
export function defineGroup(
  definition: Described,
  commands: readonly CreateCommand[],
  defaultCommand?: CreateCommand,
): CreateCommand {
  return (context) => {
    const group = describe(definition);
    for (const create of commands)
      group.addCommand(create(context), { isDefault: create === defaultCommand });
    return group;
  };
}

function describe({ name, summary, description, ...help }: Described): Command {
  const command = new Command(name).description(description);
  return addHelp(summary === undefined ? command : command.summary(summary), help);
}
