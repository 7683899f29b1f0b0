import { type Argument, Command, type Option } from 'commander';
import type { Context } from '../context.ts';
import { addHelp, type CommandHelp } from './help.ts';
import { addSharedOptions, type SharedOptions } from './options/shared-options.ts';

/** The help of a command or a group, above its options. */
interface Described extends CommandHelp {
  readonly name: string;
  /** Shown in the list of its group; summaries of top-level commands are in program.ts. */
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

/** Returns a function that creates the command. */
export function defineCommand<Given extends unknown[]>(definition: CommandDefinition<Given>): CreateCommand {
  return (context) => {
    const command = describe(definition);
    for (const argument of definition.arguments ?? []) command.addArgument(argument);
    for (const option of definition.options ?? []) command.addOption(option);
    addSharedOptions(command, definition.takes ?? []);
    return command.action((...given) => definition.run(context, ...(given as Given)));
  };
}

/** Returns a function that creates a group of commands. `defaultCommand` runs if none is named. */
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
