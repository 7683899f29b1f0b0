import { readFile } from 'node:fs/promises';
import { Argument, type Command } from 'commander';
import { toMinutes } from '../../clock.ts';
import { readProfileNames } from '../../config/settings.ts';
import type { Context } from '../../context.ts';
import { readHistoryRecord } from '../../operations/journal/history.ts';
import { readNewest } from '../../operations/journal/operation-index.ts';
import type { StoredOperation } from '../../operations/journal/stored.ts';
import { isTask } from '../../operations/kinds.ts';
import { readLists } from '../../operations/only-new/lists.ts';
import { toKnownTasks } from '../../operations/task/known.ts';
import { countOf } from '../../operations/wording.ts';
import { checkOneOf } from '../../requests/closed-list.ts';
import { defineCommand } from '../command.ts';
import { type Candidate, type KnownKind, shells, toCompletion, toReplies, wordsIn } from '../completion.ts';
import { argumentOf } from '../options/options.ts';
import { findPackageFile } from '../package-file.ts';

/** The program with the command loaded that the words are about. */
type CreateProgram = (context: Context, words: readonly string[]) => Promise<Command>;

/** The constructor of a command that completes the command lines of this program. */
export function createCompletionOf(createProgram: CreateProgram) {
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
        const script = await findPackageFile('completions', `leadpipe.${shell}`);
        return void stream.write(await readFile(script, 'utf8'));
      }
      const words = wordsIn(shell, typed);
      const { prefix, candidates } = toCompletion(await createProgram(context, words), words);
      if (candidates === 'file') return void stream.write('files\n');
      const known = typeof candidates === 'string' ? await readCandidates(context, candidates) : candidates;
      stream.write(['words', ...toReplies(shell, known, prefix, typed), ''].join('\n'));
    },
  });
}

/** More than this nobody reads after a press of Tab. */
const newest = 50;

/** What this machine knows of a kind; files are the shell's. Throws ConfigurationError, LocalIoError. */
async function readCandidates(context: Context, kind: Exclude<KnownKind, 'file'>): Promise<Candidate[]> {
  const { config, state } = context.directories;
  switch (kind) {
    case 'profile':
      return (await readProfileNames(config)).map((value) => ({ value, meaning: '' }));
    case 'list':
      return (await readLists(state, () => {})).map(({ list, leads }) => ({
        value: list,
        meaning: countOf(leads),
      }));
    case 'leads-search-id':
      return toKnownTasks(await readSome(context, isTask)).flatMap(({ leads_search_id, ...task }) => {
        const meaning = [task.entity_type, task.state, task.objective].filter((one) => one !== null);
        return leads_search_id === null ? [] : [{ value: leads_search_id, meaning: meaning.join(', ') }];
      });
    case 'operation-id':
      return await Promise.all(
        (await readSome(context, () => true)).reverse().map(async (operation) => {
          const record = await readHistoryRecord(state, operation);
          const { command, operation_id, state: end, subject, time } = record;
          const day = time === null ? null : toMinutes(new Date(time), context.zone).slice(0, 10);
          const facts = [command, end, day, subject].filter((one) => one !== null);
          return { value: operation_id, meaning: facts.join(', ') };
        }),
      );
  }
}

async function readSome(context: Context, isMeant: (kind: string) => boolean): Promise<StoredOperation[]> {
  const some: StoredOperation[] = [];
  for await (const operation of readNewest(context, isMeant)) {
    if (some.unshift(operation) === newest) break;
  }
  return some;
}
