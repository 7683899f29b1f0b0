import { lstat, stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import { Option } from 'commander';
import { readProfile } from '../../config/settings.ts';
import type { Connection } from '../../connection/connection.ts';
import type { Context } from '../../context.ts';
import { LeadpipeError, stoppedBy, UsageError } from '../../errors.ts';
import type { McpOptions } from '../../mcp/tool.ts';
import { toSpending } from '../../operations/spending.ts';
import { countOf } from '../../operations/wording.ts';
import { wrapMessage } from '../../output/wrap.ts';
import { defineCommand } from '../command.ts';
import { routeWords, shellWord, toCommand } from '../messages/proposed.ts';
import { createNotes } from '../messages/status-line.ts';
import { toToolErrorFields } from '../messages/tool-hints.ts';
import { withFacts } from '../options/facts.ts';
import { under } from '../options/option-builders.ts';
import { type ConnectionOptions, createMaxCreditsOption } from '../options/shared-options.ts';

interface McpCommandOptions extends ConnectionOptions {
  readonly maxCredits?: number;
  readonly confirm?: true;
  readonly files?: string;
}

export const createCommand = defineCommand({
  name: 'mcp',
  description: 'Serves agents: a Model Context Protocol server on standard input and output.',
  options: under('What agents may do:', [
    createMaxCreditsOption(
      'maximum credits per session; purchases without a price (settings price.*) are refused',
    ),
    new Option(
      '--confirm',
      'ask the person before each purchase; if the client cannot ask, nothing is bought',
    ),
    withFacts(
      new Option('--files <folder>', "the folder where agents may create files; they can't overwrite any"),
      { defaultText: 'the current directory' },
    ),
  ]),
  takes: ['server'],
  examples: ['leadpipe mcp --local', 'leadpipe mcp --max-credits 200 --confirm'],
  output: [
    'the messages of the protocol, one on each line. Agents start the server',
    'themselves. For setup steps, run `leadpipe mcp` in a terminal. Usually:',
    '{"mcpServers":{"leadpipe":{"command":"leadpipe",',
    ' "args":["mcp","--max-credits","200"]}}}',
  ],
  cost: { text: 'what the agent buys, at most --max-credits in a session', settings: [] },
  outcomes: ['complete', 'usage', 'local_io', 'interrupted', 'reader_closed', 'terminated', 'hung_up'],
  remarks: [
    'Tools: search, task_create, task_status, task_fetch, contact, research, enrich, extract, balance, history_list, history_show. They buy as the commands do, with the same profile, key and history. The server also starts without an address and a key: the tools then say what is missing.',
  ],
  async run(context, given: McpCommandOptions) {
    context.run.isServer = true;
    const { say } = createNotes(context, given);
    // Agents use a pipe, so this is a person.
    if (context.stdin.isTerminal && !given.quiet) {
      const { stream, columns } = context.stderr;
      // Lines to be pasted are not wrapped.
      const lines = toSetup(given).flatMap((line) =>
        line.startsWith(' ') ? line : wrapMessage(line, columns),
      );
      stream.write(`${lines.join('\n')}\n`);
    }
    const { confirm = false, files, local, maxCredits, profile } = given;
    if (files !== undefined && !(await stat(files).catch(() => undefined))?.isDirectory())
      throw new UsageError(`--files: there is no folder ${files}`, 'Create it, or name another folder.');
    // If the settings can't be read, each call reports it.
    const { settings } = await readProfile(context, profile).catch(() => ({ settings: {} }));
    const { connect, close } = createConnect(context, given);
    const options: McpOptions = {
      connect,
      spending: toSpending(maxCredits, { origin: local ? 'local' : '', settings }),
      confirm,
      describe: (error) => toToolErrorFields(error, given),
      save: createSave(context, files ?? '.'),
      say,
    };
    const { serveStdio } = await import('../../mcp/stdio.ts');
    await serveStdio(context, options);
    await close();
    if (context.signal.aborted) throw new LeadpipeError(stoppedBy(context.signal), 'the server has ended');
  },
});

/** For a person who starts the server by hand: the lines to paste into the settings of each agent. */
function toSetup(given: McpCommandOptions): string[] {
  const { confirm, files, local, maxCredits = local ? undefined : 200 } = given;
  const args = [
    'mcp',
    ...routeWords(given),
    ...(maxCredits === undefined ? [] : ['--max-credits', String(maxCredits)]),
    ...(confirm ? ['--confirm'] : []),
    ...(files === undefined ? [] : ['--files', resolve(files)]),
  ];
  const server = { command: 'leadpipe', args };
  const settings = JSON.stringify({ mcpServers: { leadpipe: server } });
  // Each command is on a line of its own, so that it can be copied.
  return [
    "Waiting for an agent on standard input. You don't start this yourself: your AI program does. To set it up, use one of these:",
    'Claude Code:',
    `  claude mcp add leadpipe -- ${toCommand(args)}`,
    'VS Code:',
    `  code --add-mcp ${shellWord(JSON.stringify({ name: 'leadpipe', ...server }))}`,
    'Cursor, in ~/.cursor/mcp.json:',
    `  ${settings}`,
    'Claude Desktop, in claude_desktop_config.json (Settings, Developer, Edit Config):',
    `  ${settings}`,
    `${local ? 'With --local, everything is free.' : `A session can then spend at most ${countOf(maxCredits ?? 0, 'credit')}.`} To stop waiting, press Ctrl-C.`,
  ];
}

/** Safe file names: not hidden, in no other folder, and not Markdown, which agents read as instructions. */
const savable = /^[\p{L}\p{N}_][\p{L}\p{N}_ .-]{0,200}\.(?:csv|jsonl|json|xlsx)$/iu;

function createSave(context: Context, folder: string): McpOptions['save'] {
  return async (name, intent, records) => {
    const ends = '.csv, .jsonl, .json or .xlsx';
    if (!savable.test(name))
      throw new UsageError(`output must be a file name without a folder, ending with ${ends}`);
    const output = resolve(folder, name);
    if (await lstat(output).catch(() => undefined)) {
      throw new UsageError(`${name} already exists`, 'Choose another name.');
    }
    const [{ withOutput }, { foundLayout }, { storedAs }] = await Promise.all([
      import('../records/record-output.ts'),
      import('../../columns/entity-layout.ts'),
      import('../../operations/kinds/layouts.ts'),
    ]);
    const printed =
      intent === undefined ? ({ shape: 'list', layout: foundLayout } as const) : storedAs(intent);
    const written = { output, quiet: true, color: false } as const;
    await withOutput(context, written, { ...printed, isNew: true, settings: {} }, async (output) => {
      for await (const some of records) await output.write(some);
    });
    return output;
  };
}

/**
 * Opens a connection for each call, so that a key stored in the meantime is found. The local service starts too slowly for this, so all calls
 * share one.
 */
function createConnect(context: Context, given: McpCommandOptions) {
  let end = (): void => {};
  const ending = new Promise<void>((finish) => {
    end = finish;
  });
  let local: Promise<Connection> | undefined;
  let ended: Promise<void> | undefined;
  const connect: McpOptions['connect'] = async (work) => {
    // Loaded late, so that the server starts faster.
    const { withConnection } = await import('../connect.ts');
    if (!given.local) return await withConnection(context, given, work);
    local ??= new Promise((resolve, reject) => {
      const keep = (connection: Connection): Promise<void> => {
        resolve(connection);
        return ending;
      };
      ended = withConnection(context, given, keep).catch((error: unknown) => {
        local = undefined;
        reject(error);
      });
    });
    return await work(await local);
  };
  const close = async (): Promise<void> => {
    end();
    await ended;
  };
  return { connect, close };
}
