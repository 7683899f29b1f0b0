import { Command, CommanderError } from 'commander';
import type { Context } from '../context.ts';
import { UsageError } from '../errors.ts';
import { exitCodeOf } from './exit-codes.ts';
import { reportError } from './report.ts';

interface CommandRow {
  readonly name: string;
  readonly summary: string;
  /** Does something without a subcommand: the others say what is in them, as the program does. */
  readonly acts?: true;
  load(context: Context): Promise<Command>;
}

/** Every command, in the order of the help. Only the one that is asked for is loaded. */
const commandRows: readonly CommandRow[] = [
  {
    name: 'search',
    summary: 'find leads; they are printed as they are found',
    load: async (context) => (await import('./commands/search.ts')).createSearchCommand(context),
  },
  {
    name: 'task',
    summary: 'the same search as a task: run, create, status, fetch, wait, resume, list',
    load: async (context) => (await import('./commands/task.ts')).createTaskCommand(context),
  },
  {
    name: 'contact',
    summary: 'look up an email address or a phone number',
    load: async (context) => (await import('./commands/contact.ts')).createContactCommand(context),
  },
  {
    name: 'research',
    summary: 'answer a question, with citations',
    load: async (context) => (await import('./commands/research.ts')).createResearchCommand(context),
  },
  {
    name: 'enrich',
    summary: 'fill the fields of a schema for someone or something',
    load: async (context) => (await import('./commands/enrich.ts')).createEnrichCommand(context),
  },
  {
    name: 'extract',
    summary: 'followers, stargazers, contributors, or a list from a page',
    load: async (context) => (await import('./commands/extract.ts')).createExtractCommand(context),
  },
  {
    name: 'balance',
    summary: 'credits available now',
    load: async (context) => (await import('./commands/balance.ts')).createBalanceCommand(context),
  },
  {
    name: 'history',
    summary: 'what was bought on this machine, and its answers again for nothing',
    acts: true,
    load: async (context) => (await import('./commands/history.ts')).createHistoryCommand(context),
  },
  {
    name: 'conformance',
    summary: 'check a service against the interface, a row per rule',
    load: async (context) => (await import('./commands/conformance.ts')).createConformanceCommand(context),
  },
  {
    name: 'serve',
    summary: 'the local service, on 127.0.0.1, for any client',
    load: async (context) => (await import('./commands/serve.ts')).createServeCommand(context),
  },
];

const description = 'Find leads: people, companies, creators, stores.';

const firstSteps = `
Examples:
  $ leadpipe search company "seed-stage fintech in Berlin" --local
  $ leadpipe search person "CTOs of healthtech startups in London" -o leads.csv

Without an account, --local answers from fictional leads. With one, set LEADPIPE_BASE_URL and LEADPIPE_API_KEY.
\`leadpipe <command> --help\` shows the options, the output and the exit codes of a command.`;

/** Runs a command line; returns the exit code. Never throws. */
export async function runProgram(context: Context, argv: readonly string[]): Promise<number> {
  try {
    const program = await createProgram(context, argv);
    await program.parseAsync([...argv], { from: 'user' });
    return exitCodeOf('complete');
  } catch (error) {
    if (error instanceof CommanderError && error.exitCode === 0) return exitCodeOf('complete');
    return reportThrown(context, error instanceof CommanderError ? toUsageError(error) : error, argv);
  }
}

/** Reports whatever was thrown, as the command line asks for it; returns the exit code. */
export function reportThrown(context: Context, error: unknown, argv: readonly string[]): number {
  return reportError(context, error, {
    jsonErrors: argv.includes('--json-errors'),
    verbose: argv.includes('--verbose') || argv.includes('-v'),
  });
}

async function createProgram(context: Context, argv: readonly string[]): Promise<Command> {
  const program = new Command('leadpipe')
    .description(description)
    .version(context.version, '-V, --version', 'print the version')
    .helpOption('-h, --help', 'print help')
    .addHelpText('after', firstSteps)
    .exitOverride()
    .configureOutput({
      writeOut: (text) => context.stdout.stream.write(text),
      // Commander's errors are reported like all others.
      writeErr: () => {},
      getOutHelpWidth: () => context.stdout.columns ?? 80,
      getOutHasColors: () => false,
    });
  const words = argv.filter((word) => !word.startsWith('-'));
  const chosen = words[0] === 'help' ? words[1] : words[0];
  for (const row of commandRows) {
    const command = row.name === chosen ? await row.load(context) : new Command(row.name);
    adopt(program, command.summary(row.summary));
    program.addCommand(command);
    if (command.commands.length > 0 && argv.length === 1 && !row.acts) command.help();
  }
  if (argv.length === 0) program.help();
  return program;
}

/** Settings are inherited by hand: commander does so only for commands that it makes itself. */
function adopt(parent: Command, command: Command): void {
  command.copyInheritedSettings(parent);
  for (const sub of command.commands) adopt(command, sub);
}

function toUsageError(error: CommanderError): UsageError {
  const [message = '', suggestion] = error.message.replace(/^error: /, '').split('\n');
  return new UsageError(message, suggestion?.replace(/^\((.*)\)$/, '$1'));
}
