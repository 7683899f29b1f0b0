import { Argument, Command } from 'commander';
import type { Context } from '../../context.ts';
import { checkOneOf } from '../../requests/closed-list.ts';
import { toCompletion } from '../completion/completion.ts';
import { type Shell, shellForms, shells, toReplies } from '../completion/shells.ts';
import { readCandidates } from '../completion/sources.ts';
import { addHelp, type CommandHelp } from '../help.ts';
import { argumentOf } from '../options/options.ts';

type CreateProgram = (context: Context, words: readonly string[]) => Promise<Command>;

const help: CommandHelp = {
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
};

export function createCompletionCommand(context: Context, createProgram: CreateProgram): Command {
  const command = new Command('completion')
    .description('Prints a script for your shell. With it, the Tab key completes leadpipe commands.')
    .addArgument(argumentOf('<shell>', shells))
    .addArgument(new Argument('[typed...]', 'used by the script: the words typed so far'));
  return addHelp(command, help).action((shell: string, typed: readonly string[]) =>
    runCompletion(context, createProgram, checkOneOf('shell', shell, shells), typed),
  );
}

async function runCompletion(
  context: Context,
  createProgram: CreateProgram,
  shell: Shell,
  typed: readonly string[],
): Promise<void> {
  const { script, words: toWords } = shellForms[shell];
  const { stream } = context.stdout;
  if (typed.length === 0) return void stream.write(script);
  const words = toWords(typed);
  const { prefix, candidates } = toCompletion(await createProgram(context, words), words);
  if (candidates === 'file') return void stream.write('files\n');
  const known = typeof candidates === 'string' ? await readCandidates(context, candidates) : candidates;
  stream.write(['words', ...toReplies(shell, known, prefix, typed), ''].join('\n'));
}
