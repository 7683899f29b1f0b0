import { type Argument, Command, CommanderError, Option } from 'commander';
import type { Context } from '../context.ts';
import { checkOneOf } from '../requests/within-limits.ts';
import { exitCodeOf } from './exit-codes.ts';
import {
  addHelp,
  type CommandHelp,
  defaultWidth,
  groupShared,
  isExplained,
  minWidthToWrap,
  topicNames,
  topics,
  toTopicText,
} from './help.ts';
import type { Ran } from './messages/hints.ts';
import { toOptionText, withFacts } from './options/facts.ts';
import { optionsOf, toCommandFirst } from './options/leading.ts';

type Load = () => Promise<{ createCommand(context: Context): Command }>;

/** Every command with its summary, in the order of the help. Only the one that is asked for is loaded. */
export const commands = {
  search: ['find leads; they are printed as they are found', () => import('./commands/search.ts')],
  task: [
    'find leads with a task: run, create, status, fetch, wait, list',
    () => import('./commands/task.ts'),
  ],
  contact: ['look up an email address or a phone number', () => import('./commands/contact.ts')],
  research: ['answer a question, with its sources', () => import('./commands/research.ts')],
  enrich: ['find facts about a person, a company or anything else', () => import('./commands/enrich.ts')],
  extract: [
    'list followers, stargazers or contributors, or a list from a page',
    () => import('./commands/extract.ts'),
  ],
  balance: ['the credits that you can spend now', () => import('./commands/balance.ts')],
  resume: ['finish a search, task or list that was interrupted', () => import('./commands/resume.ts')],
  auth: ['API keys: login, logout, status, list, switch, remove', () => import('./commands/auth.ts')],
  config: ['settings: list, get, set, unset, path', () => import('./commands/config.ts')],
  history: ['what this machine bought; print answers again for free', () => import('./commands/history.ts')],
  doctor: [
    'check this machine, the settings and the connection to the service',
    () => import('./commands/doctor.ts'),
  ],
  serve: ['run the local service on 127.0.0.1, for any client', () => import('./commands/serve.ts')],
  mcp: ['run a server that lets agents use these commands as tools (MCP)', () => import('./commands/mcp.ts')],
  skill: ['print or install the skill for agents', () => import('./commands/skill.ts')],
  completion: ['print a script that lets your shell complete leadpipe commands', loadCompletion],
  man: ['print the manual page', () => import('./commands/man.ts')],
} as const satisfies Readonly<Record<string, readonly [summary: string, load: Load]>>;

async function loadCompletion(): ReturnType<Load> {
  const { createCompletionOf } = await import('./commands/completion.ts');
  return { createCommand: createCompletionOf(createProgram) };
}

/** The only group that runs without a subcommand. The others, and the program itself, show their help. */
const acting = 'history' satisfies keyof typeof commands;

const [helpFlags, helpText] = ['-h, --help', 'print help'] as const;

const description = 'Find leads: people, companies, creators, stores.';

const help: CommandHelp = {
  examples: [
    'leadpipe search company "fintech in Berlin" --local',
    'leadpipe search person "founders" --local -o leads.csv',
  ],
  // The topic exit-codes has all of them.
  outcomes: [],
  lists: [
    { heading: 'Topics', rows: Object.entries(topics).map(([name, summary]) => [`help ${name}`, summary]) },
  ],
  remarks: [
    'Without an account: add --local, which is free and answers with fictional leads. With an account: `leadpipe auth login` asks for the address of the service and for your API key.',
    '`leadpipe <command> --help` explains the options, the output and the exit codes of a command. `leadpipe help --json` is all of it for programs.',
  ],
};

/** Runs a command line, and returns the exit code. Never throws. */
export async function runProgram(context: Context, given: readonly string[]): Promise<number> {
  let ran: Ran | undefined;
  let program: Command | undefined;
  // Alone, -v means --version; with a command, --verbose.
  let argv = given.length === 1 && given[0] === '-v' ? ['--version'] : given;
  try {
    program = await createProgram(context, argv);
    argv = toCommandFirst(program, argv);
    if (argv[0] === 'help' && argv.some((word) => word === '--json' || word === '--json-schema')) {
      const { readHelpForPrograms } = await import('./help-json.ts');
      context.stdout.stream.write(await readHelpForPrograms(argv.slice(1)));
      return exitCodeOf('complete');
    }
    const topic = argv[0] === 'help' ? topicNames.find((name) => name === argv[1]) : undefined;
    if (topic !== undefined) {
      const { topicTexts } = await import('./topics.ts');
      const { columns = defaultWidth, stream } = context.stdout;
      stream.write(toTopicText(topicTexts[topic], columns));
      return exitCodeOf('complete');
    }
    program.hook('preAction', async (_, action) => {
      const options = action.opts();
      ran = {
        args: action.args,
        options,
        has: (name) => action.options.some(({ long }) => long === name),
        isResume: action.name() === 'resume',
      };
      // Maybe a JSON request, or a hyphen that a chat has changed.
      const isOdd = action.args.some((word) => /^(?:\s*\{|[^\0-\x7f])/.test(word));
      if (isOdd || (action.args.length > 0 && !fits(action))) {
        const { toCorrection, toJsonArgumentError, toPunctuationError } = await import(
          './messages/corrected.ts'
        );
        const correction =
          toJsonArgumentError(action, argv) ??
          toPunctuationError(action, argv, fits(action)) ??
          (fits(action) ? undefined : toCorrection(action, argv));
        if (correction !== undefined) throw correction;
      }
      const { errors, output, summary } = options;
      if ([errors, output, summary].every((file) => file === undefined)) return;
      const { checkNamedFiles } = await import('./named-files.ts');
      await checkNamedFiles(context, ran);
      if (ran.options.summary === undefined) return;
      // The command line is valid.
      const { nameOf, openSummary } = await import('./summary.ts');
      await openSummary(context, ran.options.summary, nameOf(action), ran);
    });
    await program.parseAsync(await toCommandLine(program, argv), { from: 'user' });
    return exitCodeOf('complete');
  } catch (error) {
    if (!(error instanceof CommanderError) || program === undefined) {
      return await reportThrown(context, error, argv, ran);
    }
    if (error.exitCode === 0) return exitCodeOf('complete');
    const { toUsageError } = await import('./messages/corrected.ts');
    const usage = await toUsageError(error, program, argv, () => createProgram(context));
    return await reportThrown(context, usage, argv);
  }
}

/** Pure: whether the arguments are right: none is missing or too many, and each is one of its choices. */
function fits({ args, registeredArguments: known }: Command): boolean {
  const isChoice = (one: Argument, at: number): boolean =>
    args[at] === undefined ? !one.required : (one.argChoices?.includes(args[at]) ?? true);
  return args.length <= known.length && known.every(isChoice);
}

/** Reports an error in the form that the command line asks for, and returns the exit code. */
export async function reportThrown(context: Context, error: unknown, argv: readonly string[], ran?: Ran) {
  const { reportError } = await import('./messages/report.ts');
  return reportError(context, error, argv, ran);
}

/**
 * The program; only the command that these words name is loaded. Without `words`, or if the first is an option, all are loaded: only their
 * options tell which word is the command.
 */
export async function createProgram(context: Context, words: readonly string[] = ['-']): Promise<Command> {
  const chosen = words[0] === 'help' ? words[1] : words[0];
  const program = new Command('leadpipe')
    .description(description)
    .version(context.version, '-V, --version', 'print the version')
    .helpOption(helpFlags, helpText)
    // `help` is turned into the option --help of the command that it asks about.
    .helpCommand(false)
    .exitOverride()
    .configureHelp({
      argumentDescription: ({ description: text }) => text,
      subcommandTerm: (command) => command.name(),
      minWidthToWrap,
      visibleOptions: (command) => optionsOf(command).filter(isExplained),
      groupItems: groupShared,
      optionDescription: toOptionText,
    })
    .configureOutput({
      writeOut: (text) => context.stdout.stream.write(text),
      // Commander's errors are reported like all others.
      writeErr: () => {},
      getOutHelpWidth: () => context.stdout.columns ?? defaultWidth,
      getOutHasColors: () => false,
    });
  for (const [name, [summary, load]] of Object.entries<readonly [string, Load]>(commands)) {
    const isLoaded = name === chosen || chosen?.startsWith('-');
    const command = isLoaded ? (await load()).createCommand(context) : new Command(name);
    adopt(program, command.summary(summary));
    program.addCommand(command);
  }
  return addHelp(program, help);
}

/** Passes settings on to a command: commander only does so for commands that it makes itself. */
function adopt(parent: Command, command: Command): void {
  command.copyInheritedSettings(parent).helpCommand(false);
  // --help goes last, into the group of the last option.
  const last = command.options.at(-1)?.helpGroupHeading;
  if (last !== undefined)
    command.addHelpOption(withFacts(new Option(helpFlags, helpText), { common: true }).helpGroup(last));
  for (const sub of command.commands) adopt(command, sub);
}

/**
 * Pure: the words for commander. `help` becomes the option `--help`, and so does a group that does nothing by itself. Throws UsageError for
 * an unknown command.
 */
async function toCommandLine(command: Command, words: readonly string[], isHelp = false): Promise<string[]> {
  const [first, ...rest] = words;
  if (command.commands.length === 0) return [...words];
  if (first === undefined) return command.name() === acting ? [] : ['--help'];
  if (first.startsWith('-')) return [...words];
  if (first === 'help') return [...(await toCommandLine(command, rest, true)), '--help'];
  const found = command.commands.find((one) => one.name() === first);
  if (found !== undefined) return [first, ...(await toCommandLine(found, rest))];
  const names = command.commands.map((one) => one.name());
  // A topic has been handled before.
  if (isHelp && command.parent === null) {
    return [checkOneOf('command or topic', first, [...names, ...topicNames])];
  }
  const { suggestionsFor } = await import('./messages/corrected.ts');
  return [checkOneOf('command', first, names, {}, suggestionsFor(command, words))];
}
