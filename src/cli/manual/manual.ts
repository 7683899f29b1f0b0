import type { Command, Option } from 'commander';
import { exitCodes, toExitCodes } from '../exit-codes.ts';
import { helpOf, outcomesOf } from '../help.ts';
import { groups } from '../options/options.ts';

/** The manual page before it has a form. */
export interface Manual {
  readonly name: string;
  readonly version: string;
  readonly blocks: readonly ManualBlock[];
}

export type ManualBlock =
  | { readonly kind: 'section' | 'command' | 'paragraph'; readonly text: string }
  | { readonly kind: 'item'; readonly term: string; readonly text: string }
  /** Lines that are neither filled nor broken. */
  | { readonly kind: 'lines'; readonly lines: readonly string[] };

const environment: readonly (readonly [name: string, meaning: string])[] = [
  ['LEADPIPE_API_KEY', 'the API key; used before a stored one'],
  ['LEADPIPE_BASE_URL', 'address of the service, where --base-url does not give it'],
  ['LEADPIPE_PROFILE', 'the profile, where --profile does not name it'],
  ['LEADPIPE_CREDENTIAL_STORE', 'where keys are kept: keychain or file'],
  ['LEADPIPE_CONFIG_DIR', 'the folder of settings'],
  ['LEADPIPE_STATE_DIR', 'the folder of operations'],
  ['NO_COLOR, FORCE_COLOR', 'no colours; colours where there is no terminal, too'],
  ['HTTPS_PROXY, ALL_PROXY, HTTP_PROXY, NO_PROXY', 'the proxy, and for which hosts there is none'],
  ['NODE_EXTRA_CA_CERTS', 'a file of further certificate authorities (PEM)'],
];

const files: readonly (readonly [path: string, meaning: string])[] = [
  ['~/.config/leadpipe/config.json', 'settings, by profile; no keys'],
  [
    '~/.config/leadpipe/credentials.json',
    'which key is stored where, and those keys that are not in the keychain',
  ],
  ['~/.local/state/leadpipe/operations/', 'what was bought, and the answers that are kept'],
];

/** Pure: the manual page of a program with all its commands loaded, from the definitions that its help is made of. */
export function toManual(program: Command, version: string): Manual {
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
    section('Options of several commands'),
    ...sharedOptions(leavesOf(program)).map(optionItem),
    section('Environment'),
    ...environment.map(item),
    section('Files'),
    paragraph('On Linux; `leadpipe config path` prints where they are. Folders are 0700, files 0600.'),
    ...files.map(item),
    section('Exit status'),
    ...Object.values(exitCodes).map(({ code, meaning }) => item([String(code), meaning])),
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
    ...(shared.length === 0 ? [] : [paragraph(`Of the options of several commands: ${shared.join(', ')}.`)]),
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

/** Each once, however many commands have it, in the order of their groups. */
function sharedOptions(leaves: readonly Command[]): Option[] {
  const shared = leaves.flatMap((leaf) => leaf.options).filter(isShared);
  const inOrder = Object.values(groups).flatMap((group) =>
    shared.filter((one) => one.helpGroupHeading === group),
  );
  return inOrder.filter(({ flags }, at) => inOrder.findIndex((one) => one.flags === flags) === at);
}

function isShared({ helpGroupHeading }: Option): boolean {
  return Object.values<string | undefined>(groups).includes(helpGroupHeading);
}

function leavesOf(command: Command): Command[] {
  return command.commands.length === 0 ? [command] : command.commands.flatMap(leavesOf);
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
