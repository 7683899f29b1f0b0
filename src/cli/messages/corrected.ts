import type { Argument, Command, CommanderError } from 'commander';
import { settingNames } from '../../config/settings.ts';
import { streamEntityTypes } from '../../contract/types.ts';
import { UsageError } from '../../errors.ts';
import { nearest } from '../../requests/closed-list.ts';
import { entityWords } from '../../requests/entity-search.ts';
import { helpOf } from '../help.ts';
import { shellWord } from './quoted.ts';

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
  if (group.name() === 'config' && settingNames.some((name) => name === word)) {
    return {
      [word]: `leadpipe config ${value === undefined ? 'get' : 'set'} ${words.slice(0, 2).join(' ')}`,
    };
  }
  if (group.parent !== null) return {};
  const isNear =
    nearest(
      word,
      group.commands.map((one) => one.name()),
    ) !== undefined;
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
  const { areTogether, operands, toLine } = toParts(command, argv);
  const [first] = operands;
  const type = known.length > 1 ? known[0] : undefined;
  const isType = first === undefined || type === undefined || isOf(type, first);
  if (!isType && operands.length !== 2 && areTogether) {
    const whole = operands.join(' ');
    return new UsageError(
      `${nameOf(type)} is missing: it comes before ${nameOf(text)}`,
      `${choicesOf(type)}For example: ${toLine([likelyType(type, whole), whole])}`,
    );
  }
  if (operands.length > known.length) {
    const own = operands.slice(0, known.length - 1);
    // A list with a blank after a comma also looks like one argument too many: joining it to the text would be wrong.
    const advice = areTogether
      ? `You probably meant: ${toLine([...own, operands.slice(own.length).join(' ')])}`
      : 'Write a text in quotes ("…"), and a list without spaces: name,website.';
    return new UsageError('too many arguments: a text of several words needs quotes', advice);
  }
  const missing = known.find((one, at) => one.required && operands[at] === undefined);
  return missing && toMissing(command, missing);
}

/** Pure: the error of an argument that is not there, with the first example of the command. */
export function toMissing(command: Command, argument: Argument): UsageError {
  const list = listedBy[argument.name()];
  const example = `${choicesOf(argument)}For example: ${helpOf(command)?.examples[0].split('\n')[0]}`;
  return new UsageError(
    `${nameOf(argument)} is missing`,
    list === undefined ? example : `\`${list}\` lists them.`,
  );
}

/**
 * What commander found wrong, said as every other error is. An option that stands in the wrong place names the
 * commands that have it; for that, and then only, the whole program is loaded.
 */
export async function toUsageError(
  error: CommanderError,
  program: Command,
  argv: readonly string[],
  loadAll: () => Promise<Command>,
): Promise<UsageError> {
  const command = namedIn(program, argv);
  const [message = '', advice] = error.message.replace(/^error: /, '').split('\n');
  const suggestion = advice?.replace(/^\((.*)\)$/, '$1');
  const [, name = ''] = /'([^']+)'/s.exec(message) ?? [];
  switch (error.code) {
    case 'commander.unknownOption':
      return await toUnknownOption(command, name, suggestion, loadAll);
    case 'commander.optionMissingArgument':
      return new UsageError(`the value of ${name} is missing`);
    case 'commander.missingArgument':
    case 'commander.excessArguments': {
      const missing = command.registeredArguments.find((one) => one.required && one.name() === name);
      const correction = toCorrection(command, argv) ?? (missing && toMissing(command, missing));
      if (correction !== undefined) return correction;
      if (command.name() !== 'login') break;
      return new UsageError(
        'login takes no arguments',
        'It asks for the API key. A script can give it: leadpipe auth login < key.txt',
      );
    }
  }
  // As in every other message.
  return new UsageError(message.replace(/'([^'\n]*)'/g, '"$1"'), suggestion);
}

async function toUnknownOption(
  command: Command,
  typed: string,
  suggestion: string | undefined,
  loadAll: () => Promise<Command>,
): Promise<UsageError> {
  // What was typed after the = may be a key.
  const [unknown = ''] = typed.split('=');
  const toError = (advice?: string) => new UsageError(`unknown option "${unknown}"`, advice);
  const has = (flag: string | undefined): boolean => command.options.some(({ long }) => long === flag);
  const near = nearOptions[unknown];
  if (has(near?.split(' ')[0])) return toError(`Did you mean ${near}?`);
  if (typed !== unknown && has(unknown)) {
    return new UsageError(`${unknown} takes no value`, `Write it alone: ${unknown}`);
  }
  if (/key|token|secret/.test(unknown)) {
    return toError(
      'No option takes the API key: other users could read it. Run `leadpipe auth login`, or set LEADPIPE_API_KEY.',
    );
  }
  if (/\s/.test(unknown)) {
    return toError(`A text that begins with - comes last, with -- before it: … -- ${quoted(unknown)}`);
  }
  const owners = ownersOf(unknown, await loadAll());
  const more = owners.length > 4 ? ' and others' : '';
  return toError(
    owners.length === 0 ? suggestion : `It is an option of ${owners.slice(0, 4).join(', ')}${more}.`,
  );
}

function toParts(command: Command, argv: readonly string[]) {
  const path: string[] = [];
  for (let at: Command | null = command; at?.parent; at = at.parent) path.unshift(at.name());
  const words = argv.slice(path.length);
  const operands = command.args;
  const first = words.indexOf(operands[0] ?? '');
  const options = words.filter((word) => !operands.includes(word)).map(shellWord);
  return {
    operands,
    areTogether: operands.every((word, at) => words[first + at] === word),
    toLine: (own: readonly string[]) => ['leadpipe', ...path, ...own.map(quoted), ...options].join(' '),
  };
}

function isOf({ argChoices = [] }: Argument, word: string): boolean {
  return argChoices.includes(word) || nearest(word, argChoices, entityWords) !== undefined;
}

function choicesOf({ argChoices }: Argument): string {
  return argChoices === undefined ? '' : `It must be one of: ${argChoices.join(', ')}.\n`;
}

/** The type that a text speaks of, else the first that people want. */
function likelyType({ argChoices = [] }: Argument, text: string): string {
  const words = text.toLowerCase().split(/[^\p{L}\p{N}_]+/u);
  const spoken = words.map((word) => word.replace(/ies$/, 'y').replace(/s$/, ''));
  const usual = /^https?:/.test(text)
    ? 'web2list'
    : text.includes('/')
      ? 'github_repo_stargazers'
      : 'company';
  const likely = [...spoken.flatMap((word) => [word, entityWords[word] ?? '']), usual];
  return likely.find((one) => argChoices.includes(one)) ?? argChoices[0] ?? '';
}

/** As the output and the documents write it. */
function nameOf(argument: Argument): string {
  const name = argument.name();
  return `the ${name === 'leads-search-id' ? 'leads_search_id' : name.replaceAll('-', ' ').replace(/\bid$/, 'ID')}`;
}

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
