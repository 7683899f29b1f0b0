import type { Argument, Command, CommanderError } from 'commander';
import { settingNames } from '../../config/settings.ts';
import { streamEntityTypes } from '../../contract/types.ts';
import { UsageError } from '../../errors.ts';
import { nearest, wordsOf } from '../../requests/closed-list.ts';
import { entityWords } from '../../requests/entity-search.ts';
import { helpOf } from '../help.ts';
import { optionsBelow, optionsOf } from '../options/leading.ts';
import { commandOfBody, commandOfOperation, toOwnLine } from './interface-words.ts';
import { shellWord } from './proposed.ts';
import { toFlag, undoSmartPunctuation } from './smart-punctuation.ts';

/** Arguments that are the user's own text. Without quotes they become several arguments. */
const texts = ['objective', 'query', 'entity-context', 'target'];

/** Arguments that are IDs, with the command that lists them. */
const listedBy: Readonly<Record<string, string>> = {
  'operation-id': 'leadpipe history',
  'leads-search-id': 'leadpipe task list',
};

/** Words that people type for a command of another name. */
const nearCommands: Readonly<Record<string, string>> = {
  login: 'leadpipe auth login',
  logout: 'leadpipe auth logout',
  whoami: 'leadpipe auth status',
  status: 'leadpipe task status',
  run: 'leadpipe task run',
  ls: 'leadpipe history',
  list: 'leadpipe history',
  show: 'leadpipe history show',
  usage: 'leadpipe history totals',
  spent: 'leadpipe history totals',
  spend: 'leadpipe history totals',
  cost: 'leadpipe history totals',
  costs: 'leadpipe history totals',
  credits: 'leadpipe balance',
  find: 'leadpipe search',
  export: 'leadpipe history show -o leads.csv',
  save: 'leadpipe history show -o leads.csv',
  download: 'leadpipe history show -o leads.csv',
  lookup: 'leadpipe contact',
  price: 'leadpipe help money',
  prices: 'leadpipe help money',
  set: 'leadpipe config set',
  init: 'leadpipe auth login',
  setup: 'leadpipe auth login',
  signup: 'leadpipe auth login',
  register: 'leadpipe auth login',
  hilfe: 'leadpipe help',
  aide: 'leadpipe help',
  ayuda: 'leadpipe help',
  email: 'leadpipe contact email',
  phone: 'leadpipe contact phone',
  ask: 'leadpipe research',
  scrape: 'leadpipe extract',
  upgrade: 'npm install --global leadpipe@latest',
  update: 'npm install --global leadpipe@latest',
  version: 'leadpipe --version',
};

/** Options of other programs, and what they are called here: an option, or a command of its own. */
const nearOptions: Readonly<Record<string, string>> = {
  '-n': '--limit',
  '-l': '--limit',
  '--max': '--limit',
  '--count': '--limit',
  '--number': '--limit',
  '--out': '--output',
  '--file': '--output',
  '--save': '--output',
  '--csv': '--format csv',
  '--table': '--format table',
  '--markdown': '--format md',
  '--excel': '--output leads.xlsx',
  '--xlsx': '--output leads.xlsx',
  '--silent': '--quiet',
  '--budget': '--max-credits',
  '--max-cost': '--max-credits',
  '--max-price': '--max-credits',
  '--enrich-fields': '--field',
  '--field': '--enrich-fields',
  '--continue': 'leadpipe resume',
  '--resume': 'leadpipe resume',
};

/** Pure: suggestions for a wrong word, the first of `words`: the commands that it could mean. */
export function suggestionsFor(group: Command, words: readonly string[]): Readonly<Record<string, string>> {
  const [word = '', value] = words;
  if (group.name() === 'config' && settingNames.some((name) => name === word)) {
    return {
      [word]: `leadpipe config ${value === undefined ? 'get' : 'set'} ${words.slice(0, 2).join(' ')}`,
    };
  }
  if (toFlag(word) !== undefined) {
    const line = undoSmartPunctuation([...pathOf(group), ...words]);
    return { [word]: ['leadpipe', ...line.map(shellWord)].join(' ') };
  }
  // Many programs have a `resume` in each group. Here, one command resumes everything.
  if (group.parent !== null) return { resume: 'leadpipe resume' };
  const own = commandOfOperation(word) ?? commandOfBody(word);
  if (own !== undefined) return { [word]: toOwnLine(own, commandOfBody(word) ? words : words.slice(1)) };
  const names = group.commands.map((one) => one.name());
  const type = nearest(word, names) === undefined ? nearest(word, streamEntityTypes, entityWords) : undefined;
  return { ...(type === undefined ? {} : { [word]: `leadpipe search ${type}` }), ...nearCommands };
}

/** Pure: the error for an argument that is a whole JSON request, with the command line for it; undefined if there is none. */
export function toJsonArgumentError(command: Command, argv: readonly string[]): UsageError | undefined {
  const isOurs = (word: string): boolean => commandOfBody(word) !== undefined;
  if (!command.args.some(isOurs)) return undefined;
  const line = toOwnLine(pathOf(command).join(' '), argv.slice(pathOf(command).length));
  return new UsageError("a JSON request can't be used as an argument", `You probably meant: ${line}`);
}

/**
 * Pure: the error for quotes or hyphens that a chat has changed, with the original command line. An argument may begin with a dash or a quote,
 * so it is undefined unless the dash hides an option, or the arguments don't fit the command.
 */
export function toPunctuationError(
  command: Command,
  argv: readonly string[],
  fits: boolean,
): UsageError | undefined {
  const flags = command.args.flatMap((word) => toFlag(word) ?? []);
  const hasOption = optionsOf(command).some(({ long, short }) =>
    [long, short].some((one) => one && flags.includes(one)),
  );
  const plain = undoSmartPunctuation(argv);
  if (!hasOption && (fits || plain.join(' ') === argv.join(' '))) return undefined;
  return new UsageError(
    'a chat or a word processor has changed the quotes or hyphens of this command',
    `You probably meant: leadpipe ${plain.map(shellWord).join(' ')}`,
  );
}

/**
 * Pure: the error for wrong arguments, with the probable command line: a text without quotes, a text in place of the type, or a missing
 * argument. Undefined for anything else.
 */
export function toCorrection(command: Command, argv: readonly string[]): UsageError | undefined {
  const { args: operands, registeredArguments: known } = command;
  const missing = known.find((one, place) => one.required && operands[place] === undefined);
  const [type, text] = [known.at(-2), known.at(-1)];
  if (text === undefined || !texts.includes(text.name())) return missing && toMissing(command, missing);
  const at = argv.findIndex((_, start) => operands.every((word, n) => argv[start + n] === word));
  const lineWith = (words: readonly string[]): string =>
    ['leadpipe', ...argv.toSpliced(at, operands.length, ...words).map(shellWord)].join(' ');
  const [first] = operands;
  const types = type?.argChoices ?? [];
  const isType = first === undefined || types.includes(first) || nearest(first, types, entityWords);
  if (type !== undefined && !isType && operands.length !== 2 && at >= 0) {
    const whole = operands.join(' ');
    const example = `${choicesOf(type)}For example: ${lineWith([likelyType(types, whole), whole])}`;
    return new UsageError(`${nameOf(type)} is missing: it comes before ${nameOf(text)}`, example);
  }
  if (operands.length <= known.length) return missing && toMissing(command, missing);
  const own = operands.slice(0, known.length - 1);
  // A list with a space after a comma also looks like one argument too many. Joining it to the text would be wrong.
  const advice =
    at < 0
      ? 'Write a text in quotes ("…"), and a list without spaces: name,website.'
      : `You probably meant: ${lineWith([...own, operands.slice(own.length).join(' ')])}`;
  return new UsageError('too many arguments: a text of several words needs quotes', advice);
}

/** Pure: the error of a missing argument, with the command that lists its values, or else an example. */
function toMissing(command: Command, argument: Argument): UsageError {
  const list = listedBy[argument.name()];
  const example = `${choicesOf(argument)}For example: ${helpOf(command)?.examples[0].split('\n')[0]}`;
  return new UsageError(
    `${nameOf(argument)} is missing`,
    list === undefined ? example : `\`${list}\` lists them.`,
  );
}

/** A UsageError for an error of commander. `loadAll` is only called to find the commands that have an unknown option. */
export async function toUsageError(
  error: CommanderError,
  program: Command,
  argv: readonly string[],
  loadAll: () => Promise<Command>,
): Promise<UsageError> {
  const command = namedIn(program, argv);
  const [message = '', advice] = error.message.replace(/^error: /, '').split('\n');
  const [, name = ''] = /'([^']+)'/s.exec(message) ?? [];
  const suggestion = advice?.replace(/^\((.*)\)$/, '$1');
  if (error.code === 'commander.unknownOption')
    return await toUnknownOption(command, name, argv, suggestion, loadAll);
  if (error.code === 'commander.optionMissingArgument')
    return new UsageError(`the value of ${name} is missing`);
  const isOfArguments = /missingArgument$|excessArguments$/.test(error.code);
  const correction = isOfArguments
    ? (toJsonArgumentError(command, argv) ??
      toPunctuationError(command, argv, false) ??
      toCorrection(command, argv))
    : undefined;
  const example = suggestion ?? `For example: ${helpOf(command)?.examples.at(-1)}`;
  // Double quotes, as in other messages.
  return correction ?? new UsageError(message.replace(/'([^'\n]*)'/g, '"$1"'), example);
}

async function toUnknownOption(
  command: Command,
  typed: string,
  argv: readonly string[],
  suggestion: string | undefined,
  loadAll: () => Promise<Command>,
): Promise<UsageError> {
  // The part after = may be a key, and is not shown.
  const [unknown = ''] = typed.split('=');
  const has = (flag: string | undefined): boolean => command.options.some(({ long }) => long === flag);
  const near = nearOptions[unknown];
  if (typed !== unknown && has(unknown)) return new UsageError(`${unknown} takes no value`);
  const argument = command.registeredArguments.find(
    (one) => `--${one.name()}` === unknown.replaceAll('_', '-'),
  );
  if (argument !== undefined) {
    const line = toOwnLine(pathOf(command).join(' '), argv.slice(pathOf(command).length));
    return new UsageError(`${nameOf(argument)} is an argument, not an option`, `You probably meant: ${line}`);
  }
  const isGroup = command.commands.length > 0;
  const below = isGroup ? optionsBelow(command) : [];
  const flags = [...new Set(below.flatMap(({ long, short }) => [long, short]))].filter(
    (one) => one !== undefined,
  );
  if (flags.includes(unknown)) {
    const names = command.commands.map((one) => one.name());
    return new UsageError('the command is missing', `One of: ${names.join(', ')}.`);
  }
  const meant = nearest(unknown, flags);
  const [named] = near?.split(' ') ?? [];
  const advice =
    named === 'leadpipe' || has(named)
      ? `Did you mean ${near}?`
      : /key|token|secret/.test(unknown)
        ? 'No option takes the API key: other users could read it. Run `leadpipe auth login`, or set LEADPIPE_API_KEY.'
        : /\s/.test(unknown)
          ? `A text that begins with - comes last, with -- before it: … -- ${shellWord(unknown)}`
          : (ownersIn(await loadAll(), unknown) ??
            (meant && `Did you mean ${meant}?`) ??
            suggestion ??
            `To see the options: leadpipe ${[...pathOf(command), '--help'].join(' ')}`);
  return new UsageError(`unknown option "${unknown}"`, advice);
}

/** Pure: the commands that have this option; undefined where none has. */
function ownersIn(program: Command, flag: string): string | undefined {
  const owners = program.commands
    .flatMap((one) => [one, ...one.commands])
    .filter(({ options }) => options.some(({ long, short }) => flag === long || flag === short))
    .map((one) => (one.parent === program ? one.name() : `${one.parent?.name()} ${one.name()}`));
  if (owners.length === 0) return undefined;
  return `It is an option of ${owners.slice(0, 4).join(', ')}${owners.length > 4 ? ' and others' : ''}.`;
}

function choicesOf({ argChoices }: Argument): string {
  return argChoices === undefined ? '' : `It must be one of: ${argChoices.join(', ')}.\n`;
}

/** The type that the text mentions, else the most common one. */
function likelyType(types: readonly string[], text: string): string {
  const spoken = wordsOf(text).map((word) => entityWords[word] ?? word);
  const page = /^https?:/.test(text) ? 'web2list' : text.includes('/') ? 'github_repo_stargazers' : 'company';
  const likely = [...spoken, page, ...types];
  return likely.find((one) => types.includes(one)) ?? '';
}

/** The name as the output and the documents write it. */
function nameOf(argument: Argument): string {
  const name = argument.name();
  return `the ${name === 'leads-search-id' ? 'leads_search_id' : name.replaceAll('-', ' ').replace(/\bid$/, 'ID')}`;
}

/** The words that name the command. */
function pathOf(command: Command): string[] {
  return command.parent === null ? [] : [...pathOf(command.parent), command.name()];
}

/** Pure: the command that the first words name. */
function namedIn(command: Command, words: readonly string[]): Command {
  const sub = command.commands.find((one) => one.name() === words[0]);
  return sub === undefined ? command : namedIn(sub, words.slice(1));
}
