import type { Argument, Command, Option } from 'commander';
import { wordsOf } from '../../config/settings.ts';
import { topicRows } from '../topics/topics.ts';

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
    const topics = topicRows.map(({ name, summary }) => ({ value: name, meaning: summary }));
    const candidates = isHelp && command.parent === null ? [...rows, ...topics] : rows;
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
