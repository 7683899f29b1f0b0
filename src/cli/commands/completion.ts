import { readFile } from 'node:fs/promises';
import { Argument, type Command, type Option } from 'commander';
import { toMinutes } from '../../clock.ts';
import { readSettingsFile, wordsOf } from '../../config/settings.ts';
import type { Context } from '../../context.ts';
import { isTask } from '../../operations/kinds/kinds.ts';
import { readNewest } from '../../operations/known-operations.ts';
import { readLists } from '../../operations/only-new/lists.ts';
import type { Operation } from '../../operations/operation.ts';
import { readHistoryRecord } from '../../operations/report/history.ts';
import { toKnownTasks } from '../../operations/report/tasks.ts';
import { countOf } from '../../operations/wording.ts';
import { toTerminalText } from '../../output/clean.ts';
import { checkOneOf } from '../../requests/within-limits.ts';
import { defineCommand } from '../command.ts';
import { isShared, topics } from '../help.ts';
import { optionsBelow, optionsOf, takesValue } from '../options/leading.ts';
import { argumentOf } from '../options/option-builders.ts';
import { findPackageFile } from '../package-file.ts';

/** The shells, with the file extensions of their scripts. */
const scripts = { bash: 'bash', zsh: 'zsh', fish: 'fish', powershell: 'ps1' } as const;

type Shell = keyof typeof scripts;

const shells = Object.keys(scripts) as Shell[];

type Candidate = readonly [value: string, meaning: string];

/** Kinds of values found on this machine, or completed by the shell (files). A kind is named like the placeholder that takes it. */
const knownKinds = ['file', 'profile', 'leads-search-id', 'list', 'operation-id'] as const;
type KnownKind = (typeof knownKinds)[number];

/**
 * Creates the completion command. `createProgram` loads the command that is being typed. The shell scripts (completions/leadpipe.*) run
 * `leadpipe completion <shell> -- <words>`, so they never go stale. It prints `words` and one candidate per line, or `files` if the shell
 * should complete file names. An error prints nothing on stdout; the scripts hide stderr.
 */
export function createCompletionOf(
  createProgram: (context: Context, words: readonly string[]) => Promise<Command>,
) {
  return defineCommand({
    name: 'completion',
    description: 'Prints a script for your shell. With it, the Tab key completes leadpipe commands.',
    arguments: [
      argumentOf('<shell>', shells),
      new Argument('[typed...]', 'used by the script: the words typed so far'),
    ],
    examples: ['eval "$(leadpipe completion bash)"', 'leadpipe completion zsh > _leadpipe'],
    output: ['a script for the shell'],
    outcomes: ['complete', 'usage', 'configuration', 'local_io'],
    lists: [
      {
        heading: 'To load it in every new shell',
        rows: [
          ['bash', 'add to ~/.bashrc: eval "$(leadpipe completion bash)"'],
          [
            'zsh',
            'add to ~/.zshrc, after compinit: eval "$(leadpipe completion zsh)"; or save the script as `_leadpipe` in a folder of $fpath',
          ],
          ['fish', 'leadpipe completion fish > ~/.config/fish/completions/leadpipe.fish'],
          ['powershell', 'add to $PROFILE: leadpipe completion powershell | Out-String | Invoke-Expression'],
        ],
      },
    ],
    remarks: [
      'It completes commands, help topics, options, entity and extraction types, formats, settings, and the profiles, tasks, lists and purchases of this machine. Nothing is sent.',
    ],
    async run(context, given: string, typed: readonly string[]) {
      const shell = checkOneOf('shell', given, shells);
      const { stream } = context.stdout;
      if (typed.length === 0) {
        const script = await findPackageFile('completions', `leadpipe.${scripts[shell]}`);
        return void stream.write(await readFile(script, 'utf8'));
      }
      // The last word is incomplete.
      const words = readLine(shell, typed);
      const { prefix = '', candidates } = toCompletion(await createProgram(context, words), words);
      if (candidates === 'file') return void stream.write('files\n');
      const known = typeof candidates === 'string' ? await readCandidates(context, candidates) : candidates;
      stream.write(['words', ...toReplies(shell, known, prefix, typed), ''].join('\n'));
    },
  });
}

/** Maximum number of candidates from the history. */
const newest = 50;

/** Reads the known profiles, lists, task IDs or operation IDs of this machine, for completion. Throws ConfigurationError, LocalIoError. */
async function readCandidates(context: Context, kind: Exclude<KnownKind, 'file'>): Promise<Candidate[]> {
  const { config, state } = context.directories;
  switch (kind) {
    case 'profile':
      return Object.keys((await readSettingsFile(config)).profiles).map((name) => toCandidate(name));
    case 'list':
      return (await readLists(state, () => {})).map(({ list, leads }) => [list, countOf(leads)]);
    case 'leads-search-id':
      return toKnownTasks(await readSome(context, isTask)).flatMap(({ leads_search_id: id, ...task }) =>
        id === null ? [] : [toCandidate(id, task.entity_type, task.state, task.objective)],
      );
    case 'operation-id':
      return await Promise.all(
        (await readSome(context, () => true)).reverse().map(async (operation) => {
          const record = await readHistoryRecord(operation);
          const { command, operation_id, state: end, subject, time } = record;
          const day = time === null ? null : toMinutes(new Date(time), context.zone).slice(0, 10);
          return toCandidate(operation_id, command, end, day, subject);
        }),
      );
  }
}

function toCandidate(value: string, ...facts: readonly (string | null)[]): Candidate {
  return [value, facts.filter((fact) => fact !== null).join(', ')];
}

async function readSome(context: Context, isMeant: (kind: string) => boolean): Promise<Operation[]> {
  const some: Operation[] = [];
  for await (const operation of readNewest(context, isMeant)) {
    if (some.unshift(operation) === newest) break;
  }
  return some;
}

interface Completion {
  /** The part of the word before the value, such as `--format=`. */
  readonly prefix?: string;
  readonly candidates: readonly Candidate[] | KnownKind;
}

/** Pure: all completions of the last word, not yet filtered by what is typed. */
function toCompletion(program: Command, words: readonly string[]): Completion {
  const { command, awaiting, operands, isAfterDashes, isHelp } = parseWords(program, words.slice(0, -1));
  const last = words.at(-1) ?? '';
  if (awaiting !== undefined) return valuesOf(awaiting, '', last);
  if (last.startsWith('-') && !isAfterDashes) {
    const prefix = /^--[^=]+=/.exec(last)?.[0] ?? '';
    const option = optionOf(command, prefix.slice(0, -1));
    if (option !== undefined) return valuesOf(option, prefix, last.slice(prefix.length));
    const options = visibleIn(command);
    return { candidates: options.map(({ description, flags, long }) => [long ?? flags, description]) };
  }
  if (command.commands.length > 0 && operands.length === 0) {
    const rows = command.commands.map((one): Candidate => [one.name(), one.summary()]);
    const more = isHelp && command.parent === null ? Object.entries(topics) : [];
    return { candidates: [...rows, ...more] };
  }
  const argument = command.registeredArguments[operands.length];
  if (isHelp || argument === undefined) return { candidates: [] };
  // The allowed values depend on the setting, the first argument.
  if (argument.name() === 'value')
    return { candidates: wordsOf(operands[0] ?? '').map((word) => toCandidate(word)) };
  return valuesOf(argument, '', last);
}

/** Follows the words through the command definitions. `awaiting` is the option whose value comes next. */
function parseWords(program: Command, words: readonly string[]) {
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

/** The option of this name, if it takes a value; before a command, the option of any command. */
function optionOf(command: Command, name: string): Option | undefined {
  return optionsBelow(command).find(
    (option) => (option.long === name || option.short === name) && takesValue(option),
  );
}

/** Options allowed here: its own; for a group also the shared options of its commands. */
function visibleIn(command: Command): readonly Option[] {
  const own = optionsOf(command);
  const shared = command.commands.length === 0 ? [] : optionsBelow(command).filter(isShared);
  return [...new Map([...own, ...shared].map((option) => [option.flags, option])).values()];
}

function valuesOf(part: Argument | Option, prefix: string, typed: string): Completion {
  if (part.argChoices !== undefined)
    return { prefix, candidates: part.argChoices.map((value) => toCandidate(value)) };
  if (typed.startsWith('@')) return { prefix: `${prefix}@`, candidates: 'file' };
  const placeholder = 'flags' in part ? /[<[]([^\]>]+)/.exec(part.flags)?.[1] : part.name();
  return { prefix, candidates: knownKinds.find((kind) => kind === placeholder) ?? [] };
}

/** Pure: the answer to a shell's script. */
function toReplies(
  shell: Shell,
  candidates: readonly Candidate[],
  prefix: string,
  given: readonly string[],
): string[] {
  const toReply = {
    bash: (value: string) => readBashLine(given).reply(prefix + value),
    // zsh puts -- before the meaning, even before an empty one.
    zsh: (value: string, meaning: string) => value.replace(/[\\:]/g, '\\$&') + (meaning && `:${meaning}`),
    fish: (value: string, meaning: string) => `${prefix}${value}\t${meaning}`,
    // The other shells filter by prefix themselves.
    powershell: (value: string, meaning: string) =>
      `${prefix}${value}`.startsWith(readLine('powershell', given).at(-1) ?? '')
        ? `${quotedForPowerShell(prefix + value)}\t${meaning}`
        : undefined,
  }[shell];
  return candidates
    .filter(([value]) => value === toTerminalText(value))
    .map(([value, meaning]) => toReply(value, toTerminalText(meaning)))
    .filter((reply) => reply !== undefined);
}

/** Pure: the words after `leadpipe`, from the form in which the shell's script passes them. */
function readLine(shell: Shell, typed: readonly string[]): readonly string[] {
  if (shell === 'bash') return readBashLine(typed).words;
  // The script passes an empty word as a space, and a quoted word with its quotes.
  return shell === 'powershell' ? typed.with(-1, (typed.at(-1) ?? '').trim().replace(/^["']/, '')) : typed;
}

function quotedForPowerShell(text: string): string {
  return /^[\w.:/=-]+$/.test(text) ? text : `'${text.replaceAll("'", "''")}'`;
}

/**
 * Pure: parses a bash command line up to the cursor. Bash also splits words at `breaks` (`=`, `:`), keeps the quotes as typed, and inserts
 * the reply verbatim in place of the last piece only.
 */
export function readBashLine([line = '', breaks = '']: readonly string[]) {
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
    /** The words after the name of the command. The last one is incomplete. */
    words: [...words.slice(1), last],
    /** The text that completes the last word to this value; undefined if that is not possible. */
    reply: (value: string) => (value.startsWith(last) ? quoted(value.slice(pieceAt), quote) : undefined),
  };
}

/** Pure: the text escaped for this quote character ('' for none); undefined if that is not possible. */
function quoted(text: string, quote: string): string | undefined {
  if (quote === '"') return text.replace(/["\\$`]/g, '\\$&');
  if (quote === "'") return text.includes("'") ? undefined : text;
  return text.replace(/[^\w@%+=:,./\u0080-\u{10ffff}-]/gu, '\\$&');
}
