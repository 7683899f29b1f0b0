import type { Command, Option } from 'commander';
import { toExitCodes } from '../exit-codes.ts';
import { helpOf, isShared, outcomesOf } from '../help.ts';
import type { Topic } from '../topics/topics.ts';

/** The manual page before it has a form. */
export interface Manual {
  readonly name: string;
  readonly version: string;
  readonly blocks: readonly ManualBlock[];
}

export interface NamedTopic {
  readonly name: string;
  readonly topic: Topic;
}

export type ManualBlock =
  | { readonly kind: 'section' | 'command' | 'paragraph'; readonly text: string }
  | { readonly kind: 'item'; readonly term: string; readonly text: string }
  /** Lines that are neither filled nor broken. */
  | { readonly kind: 'lines'; readonly lines: readonly string[] };

/** Pure: the manual page of a program with all its commands loaded, from the definitions that its help is made of. */
export function toManual(program: Command, topics: readonly NamedTopic[], version: string): Manual {
  const help = helpOf(program);
  const blocks: ManualBlock[] = [
    section('Name'),
    paragraph(`leadpipe - ${program.description().replace(/\.$/, '').replace(/^F/, 'f')}`),
    section('Synopsis'),
    paragraph('leadpipe <command> [options] [arguments]'),
    section('Description'),
    ...(help?.remarks ?? []).map(paragraph),
    section('Commands'),
    ...program.commands.flatMap(commandBlocks),
    ...topics.flatMap(topicBlocks),
    section('Examples'),
    lines(help?.examples ?? []),
  ];
  return { name: program.name(), version, blocks };
}

/** A group is said in a few words, and its commands follow it. */
function commandBlocks(command: Command): ManualBlock[] {
  const help = helpOf(command);
  const { lists = [], examples = [], output = [], remarks = [] } = help ?? {};
  const helper = command.createHelp();
  const isGroup = command.commands.length > 0;
  const shared = command.options.filter(isShared).map(({ long, flags }) => long ?? flags);
  const codes = toExitCodes(outcomesOf(command)).map(({ code }) => code);
  const own: ManualBlock[] = [
    ...command.registeredArguments.map((one) => item([one.name(), helper.argumentDescription(one)])),
    ...command.options.filter((one) => !isShared(one)).map(optionItem),
    ...(shared.length === 0
      ? []
      : [paragraph(`It also takes these options, which stand below: ${shared.join(', ')}.`)]),
    ...(output.length === 0 ? [] : [paragraph('Output:'), lines(output)]),
    paragraph('Examples:'),
    lines(examples),
    paragraph(`Exit status: ${codes.join(', ')}.`),
  ];
  return [
    { kind: 'command', text: helper.commandUsage(command) },
    paragraph(command.description()),
    ...(isGroup ? [] : own),
    ...lists.flatMap(({ heading, rows }) => [paragraph(`${heading}:`), ...rows.map(item)]),
    ...remarks.map(paragraph),
    ...command.commands.flatMap(commandBlocks),
  ];
}

function topicBlocks({ name, topic: { parts } }: NamedTopic): ManualBlock[] {
  const blocks = parts.flatMap((part) => {
    if (typeof part === 'string') return [paragraph(part)];
    return 'lines' in part
      ? [lines(part.lines)]
      : [paragraph(`${part.heading}:`), ...part.rows.map(([term, text]) => item([term.trim(), text]))];
  });
  // Manual pages have a name of their own for these.
  return [section(name === 'exit-codes' ? 'exit status' : name), ...blocks];
}

function optionItem(option: Option): ManualBlock {
  const choices = option.argChoices === undefined ? '' : `; one of ${option.argChoices.join(', ')}`;
  return item([option.flags, `${option.description}${choices}`]);
}

function section(text: string): ManualBlock {
  return { kind: 'section', text };
}

function paragraph(text: string): ManualBlock {
  return { kind: 'paragraph', text };
}

function item([term, text]: readonly [string, string]): ManualBlock {
  return { kind: 'item', term, text };
}

function lines(texts: readonly string[]): ManualBlock {
  return { kind: 'lines', lines: texts.flatMap((text) => text.split('\n')) };
}
