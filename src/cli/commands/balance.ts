import { balanceLayout, headersOf } from '../../columns/columns.ts';
import { LeadpipeError } from '../../errors.ts';
import { countOf, plural } from '../../operations/wording.ts';
import { defineCommand } from '../command.ts';
import { withConnection } from '../connect.ts';
import { freeOutcomes } from '../exit-codes.ts';
import { printUsedToday } from '../messages/used-today.ts';
import { numberIn, option } from '../options/option-builders.ts';
import type { RecordOptions } from '../options/record-options.ts';
import { anyCredits, type ConnectionOptions } from '../options/shared-options.ts';
import { withOutput } from '../records/record-output.ts';

interface BalanceOptions extends ConnectionOptions, RecordOptions {
  readonly require?: number;
}

export const createCommand = defineCommand({
  name: 'balance',
  description:
    'Shows the credits that you can spend now. Credits that running requests have reserved are not counted.',
  options: [
    option('--require <credits>', 'exit with code 5 when fewer credits are available', numberIn(anyCredits)),
  ],
  takes: ['records', 'connection'],
  examples: [
    'leadpipe balance --local',
    'leadpipe balance --require 50 --local && leadpipe search person CTO --local',
  ],
  output: [
    'one object as the service sent it:',
    '{"object":"credit_balance","available_credits":1200,',
    ' "updated_at":"2026-01-31 09:00:00"}',
  ],
  columns: () => headersOf(balanceLayout),
  outcomes: [...freeOutcomes, 'credits'],
  async run(context, options: BalanceOptions) {
    const answer = await withConnection(context, options, ({ client, settings }) =>
      withOutput(context, options, { shape: 'single', layout: balanceLayout, settings }, async (output) => {
        const balance = await client.balance(context.signal);
        await output.write([balance.text]);
        return { ...balance, settings };
      }),
    );
    if (!options.local) await printUsedToday(context, options, answer.settings);
    const available = answer.value.available_credits;
    if (options.require === undefined || available >= options.require) return;
    throw new LeadpipeError(
      'credits',
      `${countOf(available, 'credit')} ${plural(available, 'is', 'are')} available, and --require asks for ${options.require}`,
      { type: 'insufficient_credits', charged: 'no', requestId: answer.requestId },
    );
  },
});
