import { Command, Option } from 'commander';
import type { Context } from '../../context.ts';
import { LeadpipeError, type Outcome, stoppedBy } from '../../errors.ts';
import { localKeys } from '../../local-service/keys.ts';
import { switchTable } from '../../local-service/switches.ts';
import { checkNumber } from '../../requests/within-limits.ts';
import { addHelp, type CommandHelp } from '../help.ts';
import { createNotes } from '../messages/notes.ts';
import { checkFileName } from '../options/inputs.ts';
import { collect } from '../options/options.ts';

interface ServeOptions {
  readonly port: number;
  readonly catalog?: string;
  readonly scenario?: string;
  readonly set?: string[];
  readonly quiet?: true;
}

const defaultPort = 4010;

const help: CommandHelp = {
  examples: ['leadpipe serve', 'leadpipe serve --port 8080 --catalog leads.csv --set user_concurrency=2'],
  output: [
    'two lines that a shell can read, once it listens:',
    'export LEADPIPE_BASE_URL=http://127.0.0.1:4010',
    'export LEADPIPE_API_KEY=lp_local_demo',
  ],
  outcomes: ['complete', 'usage', 'local_io', 'temporary', 'interrupted', 'terminated'],
  lists: [
    {
      heading: 'Switches, with their defaults',
      rows: Object.entries(switchTable).map(([name, row]) => [`${name}=${row.default}`, row.meaning]),
    },
    { heading: 'API keys', rows: localKeys.map(({ key, description }) => [key, description]) },
  ],
};

export function createServeCommand(context: Context): Command {
  const command = new Command('serve')
    .description(
      'Runs the local service on 127.0.0.1 until Ctrl-C: the interface of the real one, offline and free, over fictional leads or your own.',
    )
    .addOption(
      new Option('--port <n>', '0 takes any free one')
        .default(defaultPort)
        .argParser((value) => checkNumber({ unit: 'number', min: 0, max: 65_535 }, '--port', value)),
    )
    .addOption(
      new Option(
        '--catalog <file>',
        'your own leads (.jsonl or .csv) instead of the fictional ones',
      ).argParser((name) => checkFileName('--catalog', name)),
    )
    .addOption(
      new Option('--scenario <file>', 'faults to rehearse: operation, count and fault').argParser((name) =>
        checkFileName('--scenario', name),
      ),
    )
    .addOption(new Option('--set <switch=value>', 'change a switch of the list below').argParser(collect))
    .addOption(new Option('-q, --quiet', 'no line per request'));
  return addHelp(command, help).action((options: ServeOptions) => runServe(context, options));
}

async function runServe(context: Context, options: ServeOptions): Promise<void> {
  const notes = createNotes(context, options.quiet ? { quiet: true } : {});
  const { openLocalService } = await import('../../connection/local-service.ts');
  const { service, apiKey } = await openLocalService(context, {
    port: options.port,
    set: options.set ?? [],
    log: notes.say,
    hint: notes.say,
    ...(options.catalog === undefined ? {} : { catalogFile: options.catalog }),
    ...(options.scenario === undefined ? {} : { scenarioFile: options.scenario }),
  });
  if (service.fictional) notes.say('The leads of this service are fictional.');
  context.stdout.stream.write(`export LEADPIPE_BASE_URL=${service.url}\nexport LEADPIPE_API_KEY=${apiKey}\n`);
  notes.say('Listening; Ctrl-C ends it.');
  const outcome = await stopOf(context.signal);
  await service.close();
  throw new LeadpipeError(outcome, 'the local service has ended');
}

function stopOf(signal: AbortSignal): Promise<Outcome> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve(stoppedBy(signal));
    signal.addEventListener('abort', () => resolve(stoppedBy(signal)), { once: true });
  });
}
