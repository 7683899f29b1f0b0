import { type Command, Help } from 'commander';
import type { Outcome } from '../errors.ts';
import { toExitCodes } from './exit-codes.ts';

/** What a command's help says below its options, and the manual page with it. */
export interface CommandHelp {
  /** Command lines that run as they stand, one after the other; a long one goes on after a backslash. */
  readonly examples: readonly [string, string];
  /** The shape of what goes to stdout. A group has none of its own. */
  readonly output?: readonly string[];
  /** How it can end; for a group, as its commands can. */
  readonly outcomes?: readonly Outcome[];
  readonly lists?: readonly HelpList[];
  /** Paragraphs at the end. */
  readonly remarks?: readonly string[];
}

/** Names and what they mean, under a heading. */
export interface HelpList {
  readonly heading: string;
  readonly rows: readonly (readonly [name: string, meaning: string])[];
}

const helps = new WeakMap<Command, CommandHelp>();

/** Where there is no terminal. */
export const usualWidth = 80;

/** Adds the help to the command. */
export function addHelp(command: Command, help: CommandHelp): Command {
  helps.set(command, help);
  return command.addHelpText('after', () =>
    toHelpText(command, help, command.configureOutput().getOutHelpWidth?.() ?? usualWidth),
  );
}

export function helpOf(command: Command): CommandHelp | undefined {
  return helps.get(command);
}

/** How a command can end; a group, as any of its commands. */
export function outcomesOf(command: Command): readonly Outcome[] {
  return helpOf(command)?.outcomes ?? [...new Set(command.commands.flatMap(outcomesOf))];
}

function toHelpText(command: Command, help: CommandHelp, width: number): string {
  const helper = new Help();
  helper.prepareContext({ helpWidth: width });
  const list = ({ heading, rows }: HelpList): string[] => {
    const widest = Math.max(...rows.map(([name]) => name.length));
    return [
      '',
      `${heading}:`,
      ...rows.map(([name, meaning]) => helper.formatItem(name, widest, meaning, helper)),
    ];
  };
  const { lists = [], examples, output = [], remarks = [] } = help;
  const exitCodes = toExitCodes(outcomesOf(command)).map(
    ({ code, meaning }) => [String(code).padStart(3), meaning] as const,
  );
  return [
    ...lists.flatMap(list),
    '',
    'Examples:',
    ...examples.map((line) => `  $ ${line.replaceAll('\n', '\n    ')}`),
    ...(output.length === 0 ? [] : ['', 'Output shape:']),
    ...output.map((line) => `  ${helper.boxWrap(line, width - 4).replaceAll('\n', '\n    ')}`),
    ...list({ heading: 'Exit codes', rows: exitCodes }),
    ...remarks.flatMap((remark) => ['', helper.boxWrap(remark, width)]),
  ].join('\n');
}
