import { Command, CommanderError, Help } from 'commander';
import type { Context } from '../context.ts';
import { type Outcome, UsageError } from '../errors.ts';
import { checkOneOf } from '../requests/closed-list.ts';
import { exitCodeOf, exitCodes } from './exit-codes.ts';
import { addHelp, type CommandHelp, fewestToWrap, isShared, toTopicText, usualWidth } from './help.ts';
import type { Ran } from './messages/hints.ts';
import { topicRows } from './topics/topics.ts';

interface CommandRow {
  readonly name: string;
  readonly summary: string;
  /** Does something without a subcommand: the others say what is in them, as the program does. */
  readonly acts?: true;
  load(context: Context): Promise<Command>;
}

/** Every command, in the order of the help. Only the one that is asked for is loaded. */
export const commandRows: readonly CommandRow[] = [
  {
    name: 'search',
    summary: 'find leads; they are printed as they are found',
    load: async (context) => (await import('./commands/search.ts')).createSearchCommand(context),
  },
  {
    name: 'task',
    summary: 'find leads with a task: run, create, status, fetch, wait, resume, list',
    load: async (context) => (await import('./commands/task.ts')).createTaskCommand(context),
  },
  {
    name: 'contact',
    summary: 'look up an email address or a phone number',
    load: async (context) => (await import('./commands/contact.ts')).createContactCommand(context),
  },
  {
    name: 'research',
    summary: 'answer a question, with its sources',
    load: async (context) => (await import('./commands/research.ts')).createResearchCommand(context),
  },
  {
    name: 'enrich',
    summary: 'find facts about a person, a company or anything else',
    load: async (context) => (await import('./commands/enrich.ts')).createEnrichCommand(context),
  },
  {
    name: 'extract',
    summary: 'list followers, stargazers or contributors, or a list from a page',
    load: async (context) => (await import('./commands/extract.ts')).createExtractCommand(context),
  },
  {
    name: 'balance',
    summary: 'the credits that you can spend now',
    load: async (context) => (await import('./commands/balance.ts')).createBalanceCommand(context),
  },
  {
    name: 'auth',
    summary: 'API keys: login, logout, status, list, switch, remove',
    load: async (context) => (await import('./commands/auth.ts')).createAuthCommand(context),
  },
  {
    name: 'config',
    summary: 'settings: list, get, set, unset, path',
    load: async (context) => (await import('./commands/config.ts')).createConfigCommand(context),
  },
  {
    name: 'history',
    summary: 'what this machine bought; print answers again for free',
    acts: true,
    load: async (context) => (await import('./commands/history.ts')).createHistoryCommand(context),
  },
  {
    name: 'doctor',
    summary: 'check this machine, the settings and the connection to the service',
    load: async (context) => (await import('./commands/doctor.ts')).createDoctorCommand(context),
  },
  {
    name: 'conformance',
    summary: 'test whether a service follows the interface',
    load: async (context) => (await import('./commands/conformance.ts')).createConformanceCommand(context),
  },
  {
    name: 'serve',
    summary: 'run the local service on 127.0.0.1, for any client',
    load: async (context) => (await import('./commands/serve.ts')).createServeCommand(context),
  },
  {
    name: 'mcp',
    summary: 'run a server that lets agents use these commands as tools (MCP)',
    load: async (context) => (await import('./commands/mcp.ts')).createMcpCommand(context),
  },
  {
    name: 'skill',
    summary: 'print or install the skill for agents',
    load: async (context) => (await import('./commands/skill.ts')).createSkillCommand(context),
  },
  {
    name: 'completion',
    summary: 'print a script that lets bash, zsh or fish complete leadpipe',
    load: async (context) =>
      (await import('./commands/completion.ts')).createCompletionCommand(context, createProgram),
  },
  {
    name: 'man',
    summary: 'print the manual page',
    load: async (context) => (await import('./commands/man.ts')).createManCommand(context),
  },
];

const description = 'Find leads: people, companies, creators, stores.';

const help: CommandHelp = {
  examples: [
    'leadpipe search company "seed-stage fintech in Berlin" --local',
    'leadpipe search person "healthtech CTOs in London" --local -o leads.csv',
  ],
  outcomes: Object.keys(exitCodes) as Outcome[],
  lists: [{ heading: 'Topics', rows: topicRows.map(({ name, summary }) => [`help ${name}`, summary]) }],
  remarks: [
    'Without an account: add --local, which is free and answers with fictional leads. With an account: `leadpipe auth login` asks for the address of the service and for your API key.',
    '`leadpipe <command> --help` shows the options, the output and the exit codes of a command.',
  ],
};

/** Runs a command line; returns the exit code. Never throws. */
export async function runProgram(context: Context, given: readonly string[]): Promise<number> {
  let ran: Ran | undefined;
  // Behind a command it is --verbose.
  const argv = given.length === 1 && given[0] === '-v' ? ['--version'] : given;
  try {
    const topic = argv[0] === 'help' ? topicRows.find(({ name }) => name === argv[1]) : undefined;
    if (topic !== undefined) {
      const { columns = usualWidth, stream } = context.stdout;
      stream.write(toTopicText(await topic.load(), columns));
      return exitCodeOf('complete');
    }
    const program = await createProgram(context, argv);
    program.hook('preAction', async (_, action) => {
      const options = action.opts();
      ran = { args: action.args, options, has: (name) => action.options.some(({ long }) => long === name) };
      if (action.args.length === 0) return;
      const { toCorrection } = await import('./messages/corrected.ts');
      const correction = toCorrection(action, argv);
      if (correction !== undefined) throw correction;
    });
    await program.parseAsync(await toCommandLine(program, argv), { from: 'user' });
    return exitCodeOf('complete');
  } catch (error) {
    if (!(error instanceof CommanderError)) return await reportThrown(context, error, argv, ran);
    if (error.exitCode === 0) return exitCodeOf('complete');
    const { toUsageError } = await import('./messages/corrected.ts');
    return await reportThrown(
      context,
      await toUsageError(error, argv, (words) =>
        words === undefined ? createWholeProgram(context) : createProgram(context, words),
      ),
      argv,
    );
  }
}

/** Reports whatever was thrown, as the command line asks for it; returns the exit code. */
export async function reportThrown(
  context: Context,
  error: unknown,
  argv: readonly string[],
  ran?: Ran,
): Promise<number> {
  const { reportError } = await import('./messages/report.ts');
  return reportError(context, error, {
    ran,
    color: !argv.includes('--no-color'),
    jsonErrors: argv.includes('--json-errors'),
    // A mistyped command line has no stack that says anything.
    verbose: !(error instanceof UsageError) && (argv.includes('--verbose') || argv.includes('-v')),
  });
}

/** The program with the one command loaded that the words are about. */
function createProgram(context: Context, words: readonly string[]): Promise<Command> {
  const chosen = words[0] === 'help' ? words[1] : words[0];
  return assemble(context, (name) => name === chosen);
}

/** The program with every command loaded, for what tells of all of them. */
export function createWholeProgram(context: Context): Promise<Command> {
  return assemble(context, () => true);
}

async function assemble(context: Context, isWanted: (name: string) => boolean): Promise<Command> {
  const program = new Command('leadpipe')
    .description(description)
    .version(context.version, '-V, --version', 'print the version (or -v alone)')
    .helpOption('-h, --help', 'print help')
    // `help` is made an option of the command it asks about.
    .helpCommand(false)
    .exitOverride()
    .configureHelp({
      argumentDescription: ({ description: text }) => text,
      subcommandTerm: (command) => command.name(),
      minWidthToWrap: fewestToWrap,
      // Not in `visibleOptions`, which mistyped ones are compared with.
      formatHelp(command, helper) {
        const visibleOptions = (one: Command) =>
          helper.visibleOptions(one).filter((option) => !isShared(option));
        const shown = Object.assign(Object.create(helper), { visibleOptions });
        return Help.prototype.formatHelp.call(this, command, shown);
      },
    })
    .configureOutput({
      writeOut: (text) => context.stdout.stream.write(text),
      // Commander's errors are reported like all others.
      writeErr: () => {},
      getOutHelpWidth: () => context.stdout.columns ?? usualWidth,
      getOutHasColors: () => false,
    });
  for (const row of commandRows) {
    const command = isWanted(row.name) ? await row.load(context) : new Command(row.name);
    adopt(program, command.summary(row.summary));
    program.addCommand(command);
  }
  return addHelp(program, help);
}

/** Settings are inherited by hand: commander does so only for commands that it makes itself. */
function adopt(parent: Command, command: Command): void {
  command.copyInheritedSettings(parent).helpCommand(false);
  for (const sub of command.commands) adopt(command, sub);
}

/**
 * Pure: the words for commander, in which `help` is the option `--help`, as it is for a group that does nothing by
 * itself. Throws UsageError for a command that there is not.
 */
async function toCommandLine(command: Command, words: readonly string[], isHelp = false): Promise<string[]> {
  const [first, ...rest] = words;
  if (command.commands.length === 0) return [...words];
  if (first === undefined) return rowOf(command)?.acts ? [] : ['--help'];
  if (first.startsWith('-')) return [...words];
  if (first === 'help') return [...(await toCommandLine(command, rest, true)), '--help'];
  const found = command.commands.find((one) => one.name() === first);
  if (found !== undefined) return [first, ...(await toCommandLine(found, rest))];
  const names = command.commands.map((one) => one.name());
  if (isHelp && command.parent === null) return [checkHelped(first, names)];
  const { meantIn } = await import('./messages/corrected.ts');
  return [checkOneOf('command', first, names, {}, meantIn(command, words))];
}

/** Throws UsageError. A topic has been shown before it comes to this. */
function checkHelped(word: string, names: readonly string[]): string {
  return checkOneOf('command or topic', word, [...names, ...topicRows.map(({ name }) => name)]);
}

function rowOf(command: Command): CommandRow | undefined {
  return commandRows.find(({ name }) => name === command.name());
}
