import { type Facts, LeadpipeError } from '../errors.ts';

/** An error as programs get it; the command line makes these of its errors too. */
export type DescribeError = (error: unknown) => Readonly<Record<string, unknown>>;

/** What only the person who started the server can do, in the words of the command line. */
export interface Advice {
  readonly noAddress: string;
  readonly noKey: string;
  overLimit(setting: string | undefined): string;
  /** Where it is not known what something costs, by the name of the setting that says so. */
  priceUnknown(setting: string): string;
  readonly cannotAsk: string;
}

export interface Telling {
  readonly describe: DescribeError;
  readonly advice: Advice;
}

const again = 'If the person wants to buy it again anyway, repeat the call with again: true.';

/** What to do, in the words of the tools; where there is no row, what the command line says holds here too. */
const hints: { readonly [Is in Facts['is']]?: string | ((facts: Extract<Facts, { is: Is }>) => string) } = {
  stream_refused_type: ({ entityType }) =>
    `Use task_create with entity_type ${entityType} and enable_web_search: true.`,
  creation_in_doubt: `The same call repeats this request, so the task is bought only once. ${again}`,
  in_doubt: `It may have been charged: check balance. The same call repeats this request and is never charged twice. ${again}`,
  key_used: `The service has had this request before, and its answer is lost. ${again}`,
  key_of_other_request: again,
  no_credits: 'Use a smaller limit, or ask the person to get credits.',
  no_journal: 'Nothing was sent. Ask the person to make that folder writable, or to set LEADPIPE_STATE_DIR.',
  no_result: `It may or may not have been charged: check balance. ${again}`,
  answer_undelivered: ({ stored, operationId = '' }) =>
    stored ? `The answer is stored. To read it, for free: history_show ${operationId}` : again,
  search_cut: ({ rest }) =>
    rest > 0
      ? 'What came is stored. The same call buys only the rest.'
      : 'All leads that were asked for have arrived.',
  task_created: ({ leadsSearchId }) =>
    `The task keeps running at the service. To see its state: task_status ${leadsSearchId}`,
  task_left: ({ leadsSearchId, pts }) =>
    `Reading is free. To resume: task_fetch ${leadsSearchId} from position ${pts}`,
  continued: ({ by }) => `To read its leads: history_show ${by}`,
  damaged_leads: 'To read what is left: history_show.',
};

/** Pure: what a client gets of an error. Nothing but leadpipe's own errors is expected; what else is thrown is a bug. */
export function toErrorFields(thrown: unknown, telling: Telling): Readonly<Record<string, unknown>> {
  const { describe } = telling;
  if (!(thrown instanceof LeadpipeError)) return describe(thrown);
  const { hint, facts, charged } = thrown.details;
  // Nothing is sent for what can't be meant, or without an address.
  if (charged === undefined && (thrown.outcome === 'usage' || thrown.outcome === 'configuration')) {
    return toErrorFields(thrown.with({ charged: 'no' }), telling);
  }
  const own = hint === undefined && facts !== undefined ? hintOf(facts, telling.advice) : undefined;
  return describe(own === undefined ? thrown : thrown.with({ hint: own }));
}

function hintOf(facts: Facts, { noAddress, noKey, overLimit, priceUnknown }: Advice): string | undefined {
  switch (facts.is) {
    case 'no_target':
    case 'no_address':
      return noAddress;
    case 'no_key':
      return noKey;
    case 'over_day_limit':
    case 'over_limit':
      return overLimit(facts.setting);
    case 'price_unknown':
      return priceUnknown(facts.setting);
    default: {
      const own = hints[facts.is];
      return typeof own === 'string' ? own : (own as ((facts: Facts) => string) | undefined)?.(facts);
    }
  }
}
