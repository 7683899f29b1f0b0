import { lstat, stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import { Option } from 'commander';
import { readProfile } from '../../config/settings.ts';
import type { Context } from '../../context.ts';
import { LeadpipeError, stoppedBy, UsageError } from '../../errors.ts';
import type { McpOptions } from '../../mcp/session.ts';
import { isKept, rowsOf } from '../../operations/kinds.ts';
import { toSpending } from '../../operations/spending.ts';
import { checkNumber } from '../../requests/within-limits.ts';
import { defineCommand } from '../command.ts';
import { toErrorFields } from '../messages/report.ts';
import { createNotes } from '../messages/status-line.ts';
import { type ConnectionOptions, createMaxCreditsOption, under } from '../options/options.ts';

interface McpCommandOptions extends ConnectionOptions {
  readonly http?: number;
  readonly maxCredits?: number;
  readonly confirm?: true;
  readonly files?: string;
}

export const createCommand = defineCommand({
  name: 'mcp',
  description:
    'Serves agents: a Model Context Protocol server on standard input and output, or over HTTP on 127.0.0.1.',
  options: under('What agents may do:', [
    new Option(
      '--http <port>',
      'serve over HTTP on this port of 127.0.0.1 instead of standard input; 0 means any free port',
    ).argParser((value) => checkNumber({ unit: 'number', min: 0, max: 65_535 }, '--http', value)),
    createMaxCreditsOption(
      'the most that the whole session may cost; what has no known price (contact, research, enrich, extract, enrich fields, web search) is refused until its setting price.* is set',
    ),
    new Option(
      '--confirm',
      'ask the person before each purchase; without a client that can ask, nothing is bought',
    ),
    new Option(
      '--files <folder>',
      'where agents may write files of leads: new ones alone; the working directory when it is not given, and nowhere with --http',
    ),
  ]),
  takes: ['connection'],
  examples: ['leadpipe mcp --local', 'leadpipe mcp --http 4011 --max-credits 200 --confirm'],
  output: [
    'the messages of the protocol, one on each line; with --http nothing: the',
    'address is on stderr. Agents start the server themselves. Their settings:',
    '{"mcpServers":{"leadpipe":{"command":"leadpipe",',
    ' "args":["mcp","--max-credits","200"]}}}',
  ],
  outcomes: ['complete', 'usage', 'local_io', 'interrupted', 'reader_closed', 'terminated'],
  remarks: [
    'Tools: search, task_create, task_status, task_fetch, contact, research, enrich, extract, balance, history_list, history_show. They buy as the commands do, with the same profile, key and history. It also starts without an address and a key: the tools then say what is missing.',
    "With --http, any program on this machine can use it and spend credits. Web pages and other machines can't.",
  ],
  async run(context, given: McpCommandOptions) {
    const { say } = createNotes(context, given);
    const { files } = given;
    const isFolder = files === undefined || (await stat(files).catch(() => undefined))?.isDirectory();
    if (!isFolder) throw new UsageError(`--files: there is no folder ${files}`, 'Make it, or name another.');
    const connect = createConnect(context, given);
    const options: McpOptions = {
      connect: connect.connect,
      spending: await readSpending(context, given),
      confirm: given.confirm === true,
      describe: (error) => toErrorFields(error),
      advice,
      save: createSave(context, given.files ?? (given.http === undefined ? '.' : undefined)),
      say,
    };
    if (given.http === undefined) {
      const { serveStdio } = await import('../../mcp/stdio.ts');
      await serveStdio(context, options);
    } else {
      const { serveHttp } = await import('../../mcp/http.ts');
      await serveHttp(context, options, given.http, (url) =>
        say(`Listening on ${url}. Press Ctrl-C to stop it.`),
      );
    }
    await connect.close();
    if (context.signal.aborted) throw new LeadpipeError(stoppedBy(context.signal), 'the server has ended');
  },
});

const advice: McpOptions['advice'] = {
  noAddress:
    'Ask the person to run `leadpipe auth login` in a terminal, or to set LEADPIPE_BASE_URL and LEADPIPE_API_KEY for this server. To try it out offline: leadpipe mcp --local',
  noKey:
    'Ask the person to run `leadpipe auth login` in a terminal, or to set LEADPIPE_API_KEY for this server.',
  overLimit: (setting) =>
    setting === undefined
      ? 'The limit is --max-credits of this server, for the whole session. Ask for less, or ask the person to raise it.'
      : `Ask for less, or ask the person to raise the limit: leadpipe config set ${setting} <credits>${setting === 'max_credits' ? ', and to start this server again' : ''}`,
  priceUnknown: (setting) =>
    `The service does not show its prices. Ask the person what this costs, and don't guess it: with --max-credits, leadpipe has to know. The person can tell it with: leadpipe config set ${setting} <credits>`,
  cannotAsk:
    'Use a client that supports elicitation, or ask the person to start the server without --confirm, perhaps with --max-credits.',
};

/** What the whole session may cost. Where the settings can't be read, each call says so. */
async function readSpending(context: Context, given: McpCommandOptions): Promise<McpOptions['spending']> {
  const settings = await readProfile(context, given.profile).then(
    (profile) => profile.settings,
    () => ({}),
  );
  return toSpending(given.maxCredits, { origin: given.local ? 'local' : '', settings });
}

/** Names that nothing reads by itself: no hidden file, no other folder, and no Markdown, which agents take for instructions. */
const savable = /^[\p{L}\p{N}_][\p{L}\p{N}_ .-]{0,200}\.(?:csv|jsonl|json|xlsx)$/iu;

function createSave(context: Context, folder: string | undefined): McpOptions['save'] {
  return async (name, intent, records) => {
    if (folder === undefined) {
      throw new UsageError(
        'this server writes no files',
        'Ask the person to start it with --files <folder>, or read the records with position.',
      );
    }
    if (!savable.test(name)) {
      throw new UsageError(
        'output is the name of a file, without a folder, that ends with .csv, .jsonl, .json or .xlsx',
      );
    }
    const file = resolve(folder, name);
    if (
      await lstat(file).then(
        () => true,
        () => false,
      )
    )
      throw new UsageError(`${name} is there already`, 'Choose another name.');
    const { answersAs, printedAs } = await import('../records/orders.ts');
    const { withOutput } = await import('../records/record-output.ts');
    const { foundLayout } = await import('./task/options.ts');
    const { command = '', body = '{}', options = {} } = intent ?? {};
    const row = rowsOf(command);
    const printed =
      row !== undefined
        ? { shape: 'list' as const, layout: answersAs(row, options) }
        : isKept(command)
          ? printedAs(command, JSON.parse(body))
          : { shape: 'list' as const, layout: foundLayout({}) };
    await withOutput(
      context,
      { output: file, quiet: true, color: false },
      { ...printed, settings: {} },
      async (output) => {
        for await (const some of records) await output.write(some);
      },
    );
    return file;
  };
}

/**
 * A connection for each call, so that a key that is stored while the server runs is found; the local service takes too long to
 * start for that, and stays for all of them.
 */
function createConnect(context: Context, given: McpCommandOptions) {
  let local: Promise<Parameters<Parameters<McpOptions['connect']>[0]>[0]> | undefined;
  let end = (): void => {};
  let ended: Promise<void> = Promise.resolve();
  const connect: McpOptions['connect'] = async (work) => {
    // Not before it is needed: a client waits for the first answer.
    const { withConnection } = await import('../connect.ts');
    if (!given.local) return await withConnection(context, given, work);
    local ??= new Promise((resolve, reject) => {
      const until = new Promise<void>((finish) => {
        end = finish;
      });
      ended = withConnection(context, given, async (connection) => {
        resolve(connection);
        await until;
      }).catch((error: unknown) => {
        local = undefined;
        reject(error as Error);
      });
    });
    return await work(await local);
  };
  return {
    connect,
    async close(): Promise<void> {
      end();
      await ended;
    },
  };
}
