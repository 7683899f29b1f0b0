import { type Command, Help, type Option } from 'commander';
import type { Outcome } from '../errors.ts';
import type { PriceName } from '../operations/prices.ts';
import { toExitCodes, toOwnOutcomes } from './exit-codes.ts';
import { optionFactsOf } from './options/facts.ts';
import { optionsOf } from './options/leading.ts';

/** The part of a command's help and of the manual page below the options. */
export interface CommandHelp {
  /** Command lines that work as they are, one after the other. A long one continues after a backslash. */
  readonly examples: readonly [string, string];
  /** The shape of what goes to stdout. A group has none. */
  readonly output?: readonly string[];
  /** Its CSV columns. `moreColumns` describes those that depend on the request. */
  readonly columns?: () => readonly string[];
  readonly moreColumns?: string;
  /** Its cost, and the settings of its price. Without it, the command is free. */
  readonly cost?: { readonly text: string; readonly settings: readonly PriceName[] };
  /** Its outcomes; a group has those of its commands. */
  readonly outcomes?: readonly Outcome[];
  readonly lists?: readonly HelpList[];
  /** Paragraphs at the end. */
  readonly remarks?: readonly string[];
}

/** Names and their meanings, under a heading. */
export interface HelpList {
  readonly heading: string;
  readonly rows: readonly (readonly [name: string, meaning: string])[];
}

/** Headings of the options that several commands share. `help options` explains them in one place. */
export const groups = {
  list: 'Many at once, with --input:',
  task: 'The task:',
  output: 'Output:',
  buying: 'Buying:',
  connection: 'Connection:',
  messages: 'Messages:',
} as const;

/** The topics of `help`, in their order. Their texts are in topics.ts. */
export const topics = {
  environment: 'variables and files that leadpipe reads, and which one is used',
  'exit-codes': 'how a command can end, and what to do then',
  formats: 'table, JSONL, CSV …; JSONL and --json-errors for programs',
  'local-service': 'switches and API keys of `leadpipe serve`',
  money: 'what costs credits, and how not to pay too much, or twice',
  options: 'the options that several commands take',
} as const;

export type TopicName = keyof typeof topics;

export const topicNames = Object.keys(topics) as TopicName[];

/** A string is a paragraph, filled to the width; `lines` stay as they are. */
export type Topic = readonly (string | HelpList | { readonly lines: readonly string[] })[];

const helps = new WeakMap<Command, CommandHelp>();

/**
 * Minimum width of the meanings beside the options; below it they are not wrapped. Commander's default of 40 would not wrap in 60 columns.
 */
export const minWidthToWrap = 20;

export const defaultWidth = 80;

export function addHelp(command: Command, help: CommandHelp): Command {
  helps.set(command, help);
  return command.addHelpText('after', () =>
    toHelpText(command, help, command.configureOutput().getOutHelpWidth?.() ?? defaultWidth),
  );
}

export function helpOf(command: Command): CommandHelp | undefined {
  return helps.get(command);
}

/** The outcomes of a command; of a group, those of its commands. */
export function outcomesOf(command: Command): readonly Outcome[] {
  return helpOf(command)?.outcomes ?? [...new Set(command.commands.flatMap(outcomesOf))];
}

export function isShared({ helpGroupHeading }: Option): boolean {
  return Object.values<string | undefined>(groups).includes(helpGroupHeading);
}

/** Pure: true if the help of its command explains this option. Others are only named there; `help options` explains them. */
export function isExplained(option: Option): boolean {
  return !isShared(option) || optionFactsOf(option).common === true;
}

/** Pure: groups items by heading as commander does, but with all shared options except those for lists under one heading. */
export function groupShared<Item extends Command | Option>(
  all: Item[],
  shown: Item[],
  headingOf: (item: Item) => string,
): Map<string, Item[]> {
  const isMerged = (heading: string): boolean =>
    heading !== groups.list && Object.values<string>(groups).includes(heading);
  return new Help().groupItems(all, shown, (item) => {
    const heading = headingOf(item);
    return isMerged(heading) ? 'Shared options:' : heading;
  });
}

/** Pure: a topic of `help`, for a terminal with this many columns. */
export function toTopicText(topic: Topic, width: number): string {
  const helper = createHelper(width);
  const blocks = topic.map((part) => {
    if (typeof part === 'string') return [helper.boxWrap(part, width)];
    return 'lines' in part ? part.lines.map((line) => `  ${line}`) : listLines(helper, part);
  });
  return `${blocks.map((lines) => lines.join('\n')).join('\n\n')}\n`;
}

/** The widest name that has its meaning on the same line. */
const widestBeside = 28;

function listLines(helper: Help, { heading, rows }: HelpList): string[] {
  const widths = rows.map(([name]) => name.length).filter((width) => width <= widestBeside);
  const widest = Math.max(0, ...widths);
  const items = rows.map(([name, meaning]) => {
    const item = helper.formatItem(name.length > widest ? '' : name, widest, meaning, helper);
    return name.length > widest ? `  ${name}\n${item}` : item;
  });
  return [`${heading}:`, ...items];
}

function createHelper(width: number): Help {
  const helper = new Help();
  helper.minWidthToWrap = minWidthToWrap;
  helper.prepareContext({ helpWidth: width });
  return helper;
}

/** Pure: the columns of a command's CSV, for people; empty for one that prints no records. */
export function toColumnsText({ columns, moreColumns }: CommandHelp): string {
  return [...(columns?.() ?? []), ...(moreColumns === undefined ? [] : [moreColumns])].join(', ');
}

/** Pure: what a command costs, for people. */
export function toCostText({ settings, text }: NonNullable<CommandHelp['cost']>): string {
  return settings.length === 0 ? text : `${text} (${settings.join(', ')})`;
}

function toHelpText(command: Command, help: CommandHelp, width: number): string {
  const helper = createHelper(width);
  const hanging = (line: string, columns: number): string =>
    helper.boxWrap(line, width - columns - 2).replaceAll('\n', `\n${' '.repeat(columns + 2)}`);
  const filled = (lines: readonly string[]): string[] => lines.map((line) => `  ${hanging(line, 2)}`);
  const { cost, examples, lists = [], output = [], remarks = [] } = help;
  const csv = toColumnsText(help);
  const codes = toExitCodes(toOwnOutcomes(outcomesOf(command)));
  const named = optionsOf(command).filter((option) => !isExplained(option));
  const more = `More options (leadpipe help options explains them): ${named.map(({ long }) => long).join(', ')}`;
  return [
    ...(named.length === 0 ? [] : ['', hanging(more, 0)]),
    ...lists.flatMap((list) => ['', ...listLines(helper, list)]),
    '',
    'Examples:',
    ...examples.map((line) => `  $ ${line.replaceAll('\n', '\n    ')}`),
    ...(output.length === 0 ? [] : ['', 'Output shape:']),
    ...filled([...output, ...(csv === '' ? [] : [`csv: ${csv}`])]),
    ...(cost === undefined ? [] : ['', hanging(`Cost: ${toCostText(cost)}`, 0)]),
    ...(command.parent === null
      ? []
      : [
          '',
          codes.length === 0
            ? 'Exit codes: see leadpipe help exit-codes'
            : 'Exit codes (leadpipe help exit-codes has all of them):',
        ]),
    ...codes.map(({ code, meaning }) => `  ${String(code).padStart(3)}  ${meaning}`),
    ...remarks.flatMap((remark) => ['', helper.boxWrap(remark, width)]),
  ].join('\n');
}
