import { once } from 'node:events';
import { Option } from 'commander';
import { LeadpipeError, stoppedBy } from '../../errors.ts';
import { defineCommand } from '../command.ts';
import { createNotes } from '../messages/status-line.ts';
import { collect, numberIn, option, toFileName } from '../options/option-builders.ts';

interface ServeOptions {
  readonly port: number;
  readonly catalog?: string;
  readonly scenario?: string;
  readonly set?: string[];
  readonly fresh?: true;
  readonly quiet?: true;
}

const defaultPort = 4010;

export const createCommand = defineCommand({
  name: 'serve',
  description:
    'Runs the local service on 127.0.0.1 until you press Ctrl-C. It has the interface of the real service, works offline, costs nothing, and answers with fictional leads or with your own.',
  options: [
    option(
      '--port <n>',
      'port to listen on; 0 means any free port',
      numberIn({ unit: 'number', min: 0, max: 65_535 }),
    ).default(defaultPort),
    option(
      '--catalog <file>',
      'your own leads (JSON, CSV, a workbook or a database) instead of the fictional ones',
      toFileName,
    ),
    option('--scenario <file>', 'JSON file that says which requests fail, and how', toFileName),
    option('--set <switch=value>', 'change a switch; can be given several times', collect),
    new Option(
      '--fresh',
      'forget all earlier runs: full credits, no tasks, no used idempotency keys (those of --local are removed, too)',
    ),
    new Option('-q, --quiet', 'do not print a line for each request'),
  ],
  examples: ['leadpipe serve', 'leadpipe serve --port 8080 --catalog leads.csv --set user_concurrency=2'],
  output: [
    'two lines for your shell, as soon as the service is ready:',
    'export LEADPIPE_BASE_URL=http://127.0.0.1:4010',
    'export LEADPIPE_API_KEY=lp_local_demo',
  ],
  outcomes: ['complete', 'usage', 'local_io', 'temporary', 'interrupted', 'terminated', 'hung_up'],
  remarks: ['`leadpipe help local-service` lists the switches and the API keys that it accepts or refuses.'],
  async run(context, options: ServeOptions) {
    const notes = createNotes(context, options.quiet ? { quiet: true } : {});
    const { openLocalService } = await import('../../connection/local-service.ts');
    const { service, apiKey } = await openLocalService(context, {
      port: options.port,
      set: options.set ?? [],
      log: notes.say,
      hint: notes.say,
      catalogFile: options.catalog,
      scenarioFile: options.scenario,
      isFresh: options.fresh,
    });
    if (service.hasAccounts && options.set?.some((one) => one.startsWith('opening_credits='))) {
      notes.warn(
        'opening_credits has no effect on the accounts of earlier runs. To forget these, add --fresh',
      );
    }
    if (service.fictional) notes.say('The leads of this service are fictional.');
    context.stdout.stream.write(
      `export LEADPIPE_BASE_URL=${service.url}\nexport LEADPIPE_API_KEY=${apiKey}\n`,
    );
    notes.say('The service is ready. Press Ctrl-C to stop it.');
    if (!context.signal.aborted) await once(context.signal, 'abort');
    await service.close();
    throw new LeadpipeError(stoppedBy(context.signal), 'the local service was stopped');
  },
});
