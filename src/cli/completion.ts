import type { Argument, Command, Option } from 'commander';
import { wordsOf } from '../config/settings.ts';
import { toTerminalText } from '../output/clean.ts';
import { topics } from './help.ts';

export interface Candidate {
  readonly value: string;
  readonly meaning: string;
}

/** What this machine knows, or what the shell does: files. Named as the arguments and options that take it are. */
export const knownKinds = ['file', 'profile', 'leads-search-id', 'list', 'operation-id'] as const;
export type KnownKind = (typeof knownKinds)[number];

export interface Completion {
  /** What the word begins with before the value, such as `--format=`. */
  readonly prefix: string;
  readonly candidates: readonly Candidate[] | KnownKind;
}

/** Where in the definitions the words before the last one lead. */
interface Place {
  readonly command: Command;
  /** The option whose value comes next. */
  readonly awaiting: Option | undefined;
  readonly operands: readonly string[];
  readonly isAfterDashes: boolean;
  readonly isHelp: boolean;
}

/** Pure: what the last of the words can become, whatever it begins with. */
export function toCompletion(program: Command, words: readonly string[]): Completion {
  const { command, awaiting, operands, isAfterDashes, isHelp } = toPlace(program, words.slice(0, -1));
  const last = words.at(-1) ?? '';
  if (awaiting !== undefined) return valuesOf(awaiting, '', last);
  if (last.startsWith('-') && !isAfterDashes) {
    const prefix = /^--[^=]+=/.exec(last)?.[0] ?? '';
    const option = optionOf(command, prefix.slice(0, -1));
    if (option !== undefined) return valuesOf(option, prefix, last.slice(prefix.length));
    return { prefix: '', candidates: command.createHelp().visibleOptions(command).map(toOptionCandidate) };
  }
  if (command.commands.length > 0 && operands.length === 0) {
    const rows = command.commands.map((one) => ({ value: one.name(), meaning: one.summary() }));
    const more = Object.entries(topics).map(([value, meaning]) => ({ value, meaning }));
    const candidates = isHelp && command.parent === null ? [...rows, ...more] : rows;
    return { prefix: '', candidates };
  }
  const argument = command.registeredArguments[operands.length];
  if (isHelp || argument === undefined) return { prefix: '', candidates: [] };
  // The one argument whose values depend on another: the value of a setting.
  const values = argument.name() === 'value' ? wordsOf(operands[0] ?? '') : [];
  if (values.length > 0) return { prefix: '', candidates: values.map((value) => ({ value, meaning: '' })) };
  return valuesOf(argument, '', last);
}

function toPlace(program: Command, words: readonly string[]): Place {
  let command = program;
  let awaiting: Option | undefined;
  const operands: string[] = [];
  let isAfterDashes = false;
  let isHelp = false;
  for (const word of words) {
    const sub = command.commands.find((one) => one.name() === word);
    if (awaiting !== undefined) awaiting = undefined;
    else if (isAfterDashes) operands.push(word);
    else if (word === '--') isAfterDashes = true;
    else if (word.length > 1 && word.startsWith('-')) awaiting = optionOf(command, word);
    else if (sub !== undefined) command = sub;
    else if (word === 'help' && command.commands.length > 0) isHelp = true;
    else operands.push(word);
  }
  return { command, awaiting, operands, isAfterDashes, isHelp };
}

/** The option of this name, if it takes a value. */
function optionOf(command: Command, name: string): Option | undefined {
  return command.options.find(
    (option) => (option.long === name || option.short === name) && (option.required || option.optional),
  );
}

function valuesOf(part: Argument | Option, prefix: string, typed: string): Completion {
  if (part.argChoices !== undefined) {
    return { prefix, candidates: part.argChoices.map((value) => ({ value, meaning: '' })) };
  }
  if (typed.startsWith('@')) return { prefix: `${prefix}@`, candidates: 'file' };
  const placeholder = 'flags' in part ? /[<[]([^\]>]+)/.exec(part.flags)?.[1] : part.name();
  return { prefix, candidates: knownKinds.find((kind) => kind === placeholder) ?? [] };
}

function toOptionCandidate(option: Option): Candidate {
  return { value: option.long ?? option.flags, meaning: option.description };
}

export const shells = ['bash', 'zsh', 'fish'] as const;
export type Shell = (typeof shells)[number];

/*
 * The script of each shell (completions/leadpipe.*) asks leadpipe itself, so that none goes stale: `leadpipe completion <shell> --
 * <what is typed>` answers with the line `words` and a candidate on each further line, or with `files`, where the shell's own
 * completion of files is wanted. An error answers nothing on stdout, and is not shown in the middle of the user's line.
 */

/** Pure: the words of what a script says was typed, the unfinished one last. */
export function wordsIn(shell: Shell, given: readonly string[]): readonly string[] {
  return shell === 'bash' ? readBashLine(given).words : given;
}

/** Pure: what leadpipe answers to a script. */
export function toReplies(
  shell: Shell,
  candidates: readonly Candidate[],
  prefix: string,
  given: readonly string[],
): string[] {
  const toReply = {
    bash: ({ value }: Candidate) => readBashLine(given).reply(prefix + value),
    // zsh puts a -- before the meaning, also where there is none.
    zsh: ({ value, meaning }: Candidate) =>
      value.replace(/[\\:]/g, '\\$&') + (meaning === '' ? '' : `:${meaning}`),
    fish: ({ value, meaning }: Candidate) => `${prefix}${value}\t${meaning}`,
  }[shell];
  return candidates
    .filter(({ value }) => value === toTerminalText(value))
    .map(({ value, meaning }) => toReply({ value, meaning: toTerminalText(meaning) }))
    .filter((reply) => reply !== undefined);
}

interface BashLine {
  /** After the name of the command; the last one is the unfinished one. */
  readonly words: readonly string[];
  /** What bash has to be given to complete the last word to this value; undefined when it can't become it. */
  reply(value: string): string | undefined;
}

/**
 * Pure: a line of bash up to the cursor. Bash hands its completions words that are cut at `breaks` too (`=`, `:`) and
 * quoted as they were typed, and puts a reply in the place of the last piece only, as it is.
 */
export function readBashLine([line = '', breaks = '']: readonly string[]): BashLine {
  const words: string[] = [];
  let word: string | undefined;
  let quote = '';
  let pieceAt = 0;
  for (let at = 0; at < line.length; at++) {
    const char = line[at] as string;
    const isQuote = quote === '' ? char === '"' || char === "'" : char === quote;
    if (isQuote) {
      quote = quote === '' ? char : '';
      word ??= '';
      pieceAt = word.length;
    } else if (char === '\\' && quote !== "'") {
      word = (word ?? '') + (line[++at] ?? '');
    } else if (quote === '' && /\s/.test(char)) {
      if (word !== undefined) words.push(word);
      word = undefined;
      pieceAt = 0;
    } else {
      word = (word ?? '') + char;
      if (quote === '' && breaks.includes(char)) pieceAt = word.length;
    }
  }
  const last = word ?? '';
  return {
    words: [...words.slice(1), last],
    reply: (value) => (value.startsWith(last) ? quoted(value.slice(pieceAt), quote) : undefined),
  };
}

/** Pure: a text for a place inside this quote, or outside of any; undefined where it can't stand. */
function quoted(text: string, quote: string): string | undefined {
  if (quote === '"') return text.replace(/["\\$`]/g, '\\$&');
  if (quote === "'") return text.includes("'") ? undefined : text;
  return text.replace(/[^\w@%+=:,./\u0080-\u{10ffff}-]/gu, '\\$&');
}
