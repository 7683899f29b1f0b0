/** Makes the manual page from the definitions of the help texts. */
import { type Command, Help, type Option } from 'commander';
import { toExitCodes } from '../src/cli/exit-codes.ts';
import { helpOf, isShared, outcomesOf, type Topic, toColumnsText, toCostText } from '../src/cli/help.ts';
import { toOptionText } from '../src/cli/options/facts.ts';

/** The content of the manual page, before it becomes roff or plain text. */
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

/** Pure: the manual page of a program with all its commands loaded. */
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

/** A group gets only its description, followed by its commands. */
function commandBlocks(command: Command): ManualBlock[] {
  const help = helpOf(command);
  const { cost, lists = [], examples = [], output = [], remarks = [] } = help ?? {};
  const csv = help === undefined ? '' : toColumnsText(help);
  const helper = command.createHelp();
  const isGroup = command.commands.length > 0;
  const shared = command.options.filter(isShared).map(({ long, flags }) => long ?? flags);
  const codes = toExitCodes(outcomesOf(command)).map(({ code }) => code);
  const own: ManualBlock[] = [
    ...command.registeredArguments.map((one) => item([one.name(), helper.argumentDescription(one)])),
    ...command.options.filter((one) => !isShared(one)).map(optionItem),
    ...(shared.length === 0
      ? []
      : [paragraph(`It also takes these options, described below: ${shared.join(', ')}.`)]),
    ...(output.length === 0 ? [] : [paragraph('Output:'), lines(output)]),
    ...(csv === '' ? [] : [paragraph(`CSV columns: ${csv}.`)]),
    ...(cost === undefined ? [] : [paragraph(`Cost: ${toCostText(cost)}.`)]),
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

function topicBlocks({ name, topic }: NamedTopic): ManualBlock[] {
  const blocks = topic.flatMap((part) => {
    if (typeof part === 'string') return [paragraph(part)];
    return 'lines' in part
      ? [lines(part.lines)]
      : [paragraph(`${part.heading}:`), ...part.rows.map(([term, text]) => item([term.trim(), text]))];
  });
  // Manual pages have their own name for exit codes.
  return [section(name === 'exit-codes' ? 'exit status' : name), ...blocks];
}

function optionItem(option: Option): ManualBlock {
  return item([option.flags, toOptionText(option)]);
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

/** Pure: the source of the page, in the macros of man(7), which man-db, groff and mandoc read. */
export function toRoff({ name, version, blocks }: Manual): string {
  const title = `.TH ${name.toUpperCase()} 1 "" "${escaped(`${name} ${version}`)}" "${escaped(name)}"`;
  // No hyphenation and no justification: people copy from this page.
  return `${[title, '.nh', '.ad l', ...blocks.flatMap(toRoffLines)].join('\n')}\n`;
}

function toRoffLines(block: ManualBlock): string[] {
  switch (block.kind) {
    case 'section':
      return [`.SH ${escaped(block.text.toUpperCase())}`];
    case 'command':
      return [`.SS ${escaped(block.text)}`];
    case 'paragraph':
      return ['.PP', textLine(block.text)];
    case 'item':
      return ['.TP', `\\fB${escaped(block.term)}\\fR`, textLine(block.text)];
    case 'lines':
      return ['.RS 2', '.nf', ...block.lines.map(textLine), '.fi', '.RE'];
  }
}

/** Escapes a dot or a quote at the start, which would make the line a roff request. */
function textLine(text: string): string {
  return /^[.']/.test(text) ? `\\&${escaped(text)}` : escaped(text);
}

const glyphs: Readonly<Record<string, string>> = {
  '\\': '\\(rs',
  // Unescaped, these become typographic hyphens, quotes and accents, which break commands that are copied.
  '-': '\\-',
  "'": '\\(aq',
  '"': '\\(dq',
  '`': '\\(ga',
  '^': '\\(ha',
  '~': '\\(ti',
  // Output devices without this character would leave a gap.
  '…': '...',
};

function escaped(text: string): string {
  return text.replace(
    /[\\\-'"`^~]|[^\0-\x7f]/gu,
    (char) =>
      glyphs[char] ?? `\\[u${(char.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}]`,
  );
}

/** Width of the column of terms; a longer term gets its own line. */
const besides = 6;

/** Pure: the page as plain text, with lines of this many columns. */
export function toPlainText({ blocks }: Manual, width: number): string {
  const texts = blocks.map(
    (block, at) => (isClose(blocks[at - 1], block) ? '' : '\n') + toBlockText(block, width),
  );
  return `${texts.join('\n')}\n`;
}

/** Whether the two blocks have no empty line between them. */
function isClose(before: ManualBlock | undefined, { kind }: ManualBlock): boolean {
  if (before === undefined || kind === 'lines') return true;
  if (before.kind === 'section') return kind !== 'command';
  return kind === 'item' ? before.kind === 'item' : kind === 'paragraph' && before.kind === 'command';
}

function toBlockText(block: ManualBlock, width: number): string {
  switch (block.kind) {
    case 'section':
      return block.text.toUpperCase();
    case 'command':
      return filled(block.text, 2, width);
    case 'paragraph':
      return filled(block.text, 4, width);
    case 'item': {
      const meaning = filled(block.text, 4 + besides, width);
      return block.term.length < besides
        ? `    ${block.term.padEnd(besides)}${meaning.trimStart()}`
        : `${filled(block.term, 4, width)}\n${meaning}`;
    }
    case 'lines':
      return block.lines.map((line) => `      ${line}`).join('\n');
  }
}

function filled(text: string, indent: number, width: number): string {
  const margin = ' '.repeat(indent);
  return margin + new Help().boxWrap(text, width - indent).replaceAll('\n', `\n${margin}`);
}
