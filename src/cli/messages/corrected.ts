import type { Argument, Command } from 'commander';
import { UsageError } from '../../errors.ts';
import { nearest } from '../../requests/closed-list.ts';
import { entityWords } from '../../requests/entity-search.ts';
import { helpOf } from '../help.ts';
import { shellWord } from './shell-word.ts';

/** Arguments that are a text of the user's own: what is not in quotes becomes several of them. */
const texts = ['objective', 'query', 'entity-context', 'target'];

/**
 * Pure: the two likeliest mistakes with arguments, and the command line as it was probably meant: a text that is not in
 * quotes, and one in the place of the type that stands before it. Undefined where it is neither.
 */
export function toCorrection(command: Command, argv: readonly string[]): UsageError | undefined {
  const known = command.registeredArguments;
  const text = known.at(-1);
  if (text === undefined || !texts.includes(text.name())) return undefined;
  const { path, operands, options, areTogether } = toParts(command, argv);
  const type = known.length > 1 ? known[0] : undefined;
  const [first] = operands;
  const isTypeMissing = type !== undefined && first !== undefined && !isOf(type, first);
  const line = (...words: readonly string[]) =>
    `leadpipe ${[...path, ...words.map(quoted), ...options.map(shellWord)].join(' ')}`;
  if (isTypeMissing && operands.length !== 2 && areTogether) {
    const whole = operands.join(' ');
    return new UsageError(
      `${nameOf(type)} is missing: it comes before ${nameOf(text)}`,
      `It must be one of: ${type.argChoices?.join(', ')}.\nFor example: ${line(likelyType(type, whole), whole)}`,
    );
  }
  if (operands.length > known.length) {
    const own = operands.slice(0, known.length - 1);
    const why = `too many arguments: a text of several words needs quotes`;
    const meant = line(...own, operands.slice(own.length).join(' '));
    const advice = 'Write a text in quotes ("…"), and a list without spaces: name,website.';
    return new UsageError(why, areTogether ? `You probably meant: ${meant}` : advice);
  }
  const missing = known.find((one, at) => one.required && operands[at] === undefined);
  return missing === undefined ? undefined : toMissing(command, missing);
}

/** Pure: the command line with `--` before a text that begins like an option. Undefined where no text can stand. */
export function toDashed(command: Command, argv: readonly string[], text: string): string | undefined {
  const [head = ''] = text.split(/\s/);
  const isOption = command.options.some(({ long, short }) => head === long || head === short);
  if (isOption || argv.includes('--') || !texts.includes(command.registeredArguments.at(-1)?.name() ?? '')) {
    return undefined;
  }
  const { path, operands, options } = toParts(command, argv, text);
  const at = operands.indexOf(text);
  const words = [...path, ...operands.slice(0, at).map(quoted), ...options.map(shellWord), '--'];
  return `leadpipe ${[...words, ...operands.slice(at).map(quoted)].join(' ')}`;
}

/** Names that nobody knows by heart, and the command that lists them. */
const listedBy: Readonly<Record<string, string>> = {
  'operation-id': 'leadpipe history',
  'leads-search-id': 'leadpipe task list',
};

/** Pure: the error of an argument that is not there, with the first example of the command. */
export function toMissing(command: Command, argument: Argument): UsageError {
  const list = listedBy[argument.name()];
  if (list !== undefined) return new UsageError(`${nameOf(argument)} is missing`, `\`${list}\` lists them.`);
  const choices =
    argument.argChoices === undefined ? '' : `It must be one of: ${argument.argChoices.join(', ')}.\n`;
  return new UsageError(
    `${nameOf(argument)} is missing`,
    `${choices}For example: ${helpOf(command)?.examples[0].split('\n')[0]}`,
  );
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
  // A list with a blank after a comma also looks like one argument too many: joining it to the text would be wrong.
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
  const usual = /^https?:/.test(text)
    ? 'web2list'
    : text.includes('/')
      ? 'github_repo_stargazers'
      : 'company';
  return spoken[0] ?? argChoices.find((choice) => choice === usual) ?? argChoices[0] ?? '';
}

/** As the output and the documents write it. */
function spokenName(name: string): string {
  return name === 'leads-search-id' ? 'leads_search_id' : name.replaceAll('-', ' ').replace(/\bid$/, 'ID');
}

function nameOf(argument: Argument): string {
  return `the ${spokenName(argument.name())}`;
}

/** As people write it, where every shell takes it so. */
function quoted(word: string): string {
  return /^[\w.,:/@-]+$/.test(word) || /["$`\\!%\n]/.test(word) ? shellWord(word) : `"${word}"`;
}
