import type { Argument, Command, CommanderError } from 'commander';
import { settingNames, wordsOf } from '../../config/settings.ts';
import { streamEntityTypes } from '../../contract/types.ts';
import { UsageError } from '../../errors.ts';
import { nearest } from '../../requests/closed-list.ts';
import { entityWords } from '../../requests/entity-search.ts';
import { helpOf } from '../help.ts';
import { shellWord } from './shell-word.ts';

/** Arguments that are a text of the user's own: what is not in quotes becomes several of them. */
const texts = ['objective', 'query', 'entity-context', 'target'];

/** Names that nobody knows by heart, and the command that lists them. */
const listedBy: Readonly<Record<string, string>> = {
  'operation-id': 'leadpipe history',
  'leads-search-id': 'leadpipe task list',
};

/** What people type for a command of another name. */
const nearCommands: Readonly<Record<string, string>> = {
  login: 'leadpipe auth login',
  logout: 'leadpipe auth logout',
  whoami: 'leadpipe auth status',
  status: 'leadpipe task status',
  run: 'leadpipe task run',
  ls: 'leadpipe history',
  list: 'leadpipe history',
  show: 'leadpipe history show',
  resume: 'leadpipe history resume',
  usage: 'leadpipe history totals',
  credits: 'leadpipe balance',
  find: 'leadpipe search',
  email: 'leadpipe contact email',
  phone: 'leadpipe contact phone',
  ask: 'leadpipe research',
  scrape: 'leadpipe extract',
  version: 'leadpipe --version',
  upgrade: 'npm install --global leadpipe@latest',
};

/** Options of other programs, and what they are called here. */
const nearOptions: Readonly<Record<string, string>> = {
  '-n': '--limit',
  '-l': '--limit',
  '--max': '--limit',
  '--count': '--limit',
  '--out': '--output',
  '--json': '--format json',
  '--csv': '--format csv',
};

/** Pure: what is meant by a word that is no command of this group; `words` begin with it. */
export function meantIn(group: Command, words: readonly string[]): Readonly<Record<string, string>> {
  const [word = '', value] = words;
  if (group.name() === 'config' && settingNames.some((name) => name === word))
    return {
      [word]: `leadpipe config ${value === undefined ? 'get' : 'set'} ${words.slice(0, 2).join(' ')}`,
    };
  if (group.parent !== null) return {};
  const names = group.commands.map((one) => one.name());
  const isNear = nearest(word, names) !== undefined;
  const type = isNear ? undefined : nearest(word, streamEntityTypes, entityWords);
  return { ...(type === undefined ? {} : { [word]: `leadpipe search ${type}` }), ...nearCommands };
}

/**
 * Pure: the two likeliest mistakes with arguments, and the command line as it was probably meant: a text that is not in
 * quotes, and one in the place of the type that stands before it. Undefined where it is neither.
 */
export function toCorrection(command: Command, argv: readonly string[]): UsageError | undefined {
  const known = command.registeredArguments;
  const text = known.at(-1);
  if (text === undefined || !texts.includes(text.name())) return undefined;
  const { path, operands, options, areTogether } = toParts(command, argv);
  const line = (...words: readonly string[]): string =>
    ['leadpipe', ...path, ...words.map(quoted), ...options.map(shellWord)].join(' ');
  const type = known.length > 1 ? known[0] : undefined;
  const [first] = operands;
  if (
    type !== undefined &&
    first !== undefined &&
    !isOf(type, first) &&
    operands.length !== 2 &&
    areTogether
  ) {
    const whole = operands.join(' ');
    const choices = type.argChoices?.join(', ');
    return new UsageError(
      `${nameOf(type)} is missing: it comes before ${nameOf(text)}`,
      `It must be one of: ${choices}.\nFor example: ${line(likelyType(type, whole), whole)}`,
    );
  }
  if (operands.length > known.length) {
    const own = operands.slice(0, known.length - 1);
    // A list with a blank after a comma also looks like one argument too many: joining it to the text would be wrong.
    const advice = areTogether
      ? `You probably meant: ${line(...own, operands.slice(own.length).join(' '))}`
      : 'Write a text in quotes ("…"), and a list without spaces: name,website.';
    return new UsageError('too many arguments: a text of several words needs quotes', advice);
  }
  const missing = known.find((one, at) => one.required && operands[at] === undefined);
  return missing === undefined ? undefined : toMissing(command, missing);
}

/** Pure: the error of an argument that is not there, with the first example of the command. */
export function toMissing(command: Command, argument: Argument): UsageError {
  const list = listedBy[argument.name()];
  const { argChoices } = argument;
  const choices = argChoices === undefined ? '' : `It must be one of: ${argChoices.join(', ')}.\n`;
  const example = `${choices}For example: ${helpOf(command)?.examples[0].split('\n')[0]}`;
  return new UsageError(
    `${nameOf(argument)} is missing`,
    list === undefined ? example : `\`${list}\` lists them.`,
  );
}

/**
 * What commander found wrong, said as every other error is. An option that stands in the wrong place names the
 * commands that have it; for that, and then only, the whole program is loaded, by `programOf` without words.
 */
export async function toUsageError(
  error: CommanderError,
  argv: readonly string[],
  programOf: (words?: readonly string[]) => Promise<Command>,
): Promise<UsageError> {
  const command = namedIn(await programOf(argv), argv);
  const [message = '', advice] = error.message.replace(/^error: /, '').split('\n');
  const suggestion = advice?.replace(/^\((.*)\)$/, '$1');
  const [, name = ''] = /'([^']+)'/s.exec(message) ?? [];
  switch (error.code) {
    case 'commander.missingArgument':
    case 'commander.excessArguments': {
      const missing = command.registeredArguments.find((one) => one.required && one.name() === name);
      const correction = toCorrection(command, argv) ?? toMissingValue(command, argv);
      if (correction !== undefined) return correction;
      if (missing !== undefined) return toMissing(command, missing);
      if (command.name() === 'login')
        return new UsageError(
          'login takes no arguments',
          'It asks for the API key. A script can give it: leadpipe auth login < key.txt',
        );
      break;
    }
    case 'commander.unknownOption':
      return await toUnknownOption(command, argv, name, suggestion, programOf);
    case 'commander.optionMissingArgument':
      return new UsageError(`the value of ${name} is missing`);
  }
  // As in every other message.
  return new UsageError(message.replace(/'([^'\n]*)'/g, '"$1"'), suggestion);
}

async function toUnknownOption(
  command: Command,
  argv: readonly string[],
  typed: string,
  suggestion: string | undefined,
  programOf: () => Promise<Command>,
): Promise<UsageError> {
  // What was typed after the = may be a key.
  const [unknown = ''] = typed.split('=');
  const has = (flag: string | undefined): boolean => command.options.some(({ long }) => long === flag);
  const said = `unknown option "${unknown}"`;
  const near = nearOptions[unknown];
  const isSecret = /key|token|secret/.test(unknown);
  if (has(near?.split(' ')[0])) return new UsageError(said, `Did you mean ${near}?`);
  if (typed !== unknown && has(unknown))
    return new UsageError(`${unknown} takes no value`, `Write it alone: ${unknown}`);
  const text = argv.find((word) => word.startsWith('-') && word.endsWith(typed.slice(1)));
  if (typed === unknown && /\s/.test(typed) && !isSecret && text !== undefined && !argv.includes('--')) {
    const { path, operands, options } = toParts(command, argv, text);
    const at = operands.indexOf(text);
    const words = [...path, ...operands.slice(0, at).map(quoted), ...options.map(shellWord), '--'];
    const line = ['leadpipe', ...words, ...operands.slice(at).map(quoted)].join(' ');
    if (texts.includes(command.registeredArguments.at(-1)?.name() ?? ''))
      return new UsageError(
        said,
        `A text that begins with - needs -- before it. You probably meant: ${line}`,
      );
  }
  const owners = ownersOf(unknown, await programOf());
  if (owners.length > 0) {
    const more = owners.length > 4 ? ' and others' : '';
    return new UsageError(said, `It is an option of ${owners.slice(0, 4).join(', ')}${more}.`);
  }
  const keyHint =
    'No option takes the API key: other users could read it. Run `leadpipe auth login`, or set LEADPIPE_API_KEY.';
  return new UsageError(said, isSecret ? keyHint : suggestion);
}

/** Pure: of a setting that is named without a value, the example is about it; undefined for anything else. */
function toMissingValue(command: Command, argv: readonly string[]): UsageError | undefined {
  const setting = command.name() === 'set' ? settingNames.find((one) => argv.includes(one)) : undefined;
  if (setting === undefined) return undefined;
  const examples: Readonly<Record<string, string>> = {
    base_url: 'https://api.example.com',
    ca_file: 'ca.pem',
  };
  const value = wordsOf(setting)[0] ?? examples[setting] ?? '60';
  return new UsageError('the value is missing', `For example: leadpipe config set ${setting} ${value}`);
}

/** The words of a command line, apart; `text` is an argument, whatever it begins with. */
function toParts(command: Command, argv: readonly string[], text?: string) {
  const path: string[] = [];
  for (let at: Command | null = command; at?.parent; at = at.parent) path.unshift(at.name());
  const operands: string[] = [];
  const options: string[] = [];
  const places: number[] = [];
  const words = argv.slice(path.length);
  for (let at = 0; at < words.length; at++) {
    const word = words[at] as string;
    if (word.length > 1 && word.startsWith('-') && word !== text) {
      options.push(word);
      const option = command.options.find(({ long, short }) => word === long || word === short);
      if (option?.required && at + 1 < words.length) options.push(words[++at] as string);
    } else {
      operands.push(word);
      places.push(at);
    }
  }
  const areTogether = places.every((place, index) => place === (places[0] as number) + index);
  return { path, operands, options, areTogether };
}

function isOf({ argChoices = [] }: Argument, word: string): boolean {
  return argChoices.includes(word) || nearest(word, argChoices, entityWords) !== undefined;
}

/** The type that a text speaks of, else the first that people want. */
function likelyType({ argChoices = [] }: Argument, text: string): string {
  const spoken = text.split(/[^\p{L}\p{N}_]+/u).flatMap((word) => {
    const one = word.toLowerCase().replace(/ies$/, 'y').replace(/s$/, '');
    return argChoices.filter((choice) => choice === one || choice === entityWords[one]);
  });
  const target = text.includes('/') ? 'github_repo_stargazers' : 'company';
  const usual = /^https?:/.test(text) ? 'web2list' : target;
  return spoken[0] ?? argChoices.find((choice) => choice === usual) ?? argChoices[0] ?? '';
}

/** As the output and the documents write it. */
function nameOf(argument: Argument): string {
  const name = argument.name();
  return `the ${name === 'leads-search-id' ? 'leads_search_id' : name.replaceAll('-', ' ').replace(/\bid$/, 'ID')}`;
}

/** As people write it, where every shell takes it so. */
function quoted(word: string): string {
  return /^[\w.,:/@-]+$/.test(word) || /["$`\\!%\n]/.test(word) ? shellWord(word) : `"${word}"`;
}

/** Pure: the command that the first words name. */
function namedIn(command: Command, words: readonly string[]): Command {
  const sub = command.commands.find((one) => one.name() === words[0]);
  return sub === undefined ? command : namedIn(sub, words.slice(1));
}

/** Pure: the commands that have an option of this name, such as `task run`. */
function ownersOf(flag: string, command: Command, path = ''): string[] {
  const own = command.options.some((option) => option.long === flag || option.short === flag);
  return [
    ...(own && path !== '' ? [path] : []),
    ...command.commands.flatMap((sub) => ownersOf(flag, sub, `${path} ${sub.name()}`.trim())),
  ];
}
