import { type Facts, LeadpipeError } from '../../errors.ts';
import { ranFor } from './hints.ts';
import { flagOf, type Route, toSetCommand } from './proposed.ts';
import { toErrorFields } from './report.ts';

const again = 'If the person wants to buy it again anyway, repeat the call with again: true.';
const signIn = (_: Facts, { profile }: Route): string =>
  `Ask the person to run \`leadpipe auth login${flagOf(profile)}\` in a terminal, or to set LEADPIPE_BASE_URL and LEADPIPE_API_KEY for this server. To try it out offline: leadpipe mcp --local`;

/** Hints for agents; some ask the person who started the server. Facts without a row have the command line's hint. */
const hints: {
  readonly [Is in Facts['is']]?: string | ((facts: Extract<Facts, { is: Is }>, route: Route) => string);
} = {
  no_target: signIn,
  no_address: signIn,
  no_key: signIn,
  stream_refused_type: ({ entityType }) =>
    `Use task_create with entity_type ${entityType} and enable_web_search: true.`,
  over_day_limit: ({ setting }, route) => toRaise(setting, route),
  over_limit: ({ setting }, route) =>
    setting === undefined
      ? 'The limit is --max-credits of this server, for the whole session. Ask for less, or ask the person to raise it.'
      : toRaise(setting, route),
  unpriced_day: ({ operationId, setting }, route) =>
    setting === undefined
      ? `Its cost counts when it has ended. Ask the person to resume or drop ${operationId}.`
      : `Ask the person what it cost, and to set the price: ${toSetCommand(setting, route)}`,
  price_unknown: ({ setting }, route) =>
    `The service does not show its prices. With --max-credits, leadpipe needs the price. Don't guess it: ask the person to set it: ${toSetCommand(setting, route)}`,
  no_credits: 'Use a smaller limit, or ask the person to get credits.',
  no_journal: 'Nothing was sent. Ask the person to make that folder writable, or to set LEADPIPE_STATE_DIR.',
  creation_in_doubt: `The same call repeats this request, so the task is bought only once. ${again}`,
  in_doubt: `It may have been charged: check balance. The same call repeats this request and is never charged twice. ${again}`,
  key_used: `The service has had this request before, and its answer is lost. ${again}`,
  key_of_other_request: again,
  no_result: `It may or may not have been charged: check balance. ${again}`,
  answer_undelivered: ({ stored, operationId = '' }) =>
    stored ? `The answer is stored. To read it, for free: history_show ${operationId}` : again,
  search_cut: ({ rest }) =>
    rest > 0
      ? 'The received leads are stored. The same call buys only the rest.'
      : 'All leads that were asked for have arrived.',
  task_created: ({ leadsSearchId }) =>
    `The task keeps running at the service. To see its state: task_status ${leadsSearchId}`,
  no_operation: 'See history_list.',
  damaged_leads: 'To read the leads that can be read: history_show.',
};

/** Pure: an error as agents get it, of a server for this service. */
export function toToolErrorFields(thrown: unknown, route: Route) {
  const { hint, facts, type } = thrown instanceof LeadpipeError ? thrown.details : {};
  const row = facts && (hints[facts.is] as string | ((facts: Facts, route: Route) => string) | undefined);
  const own = typeof row === 'function' ? row(facts as Facts, route) : row;
  const asked =
    type === 'confirmation_unavailable'
      ? 'Use a client that supports elicitation, or ask the person to start the server without --confirm, perhaps with --max-credits.'
      : own;
  const isReplaced = hint === undefined && asked !== undefined;
  return toErrorFields(isReplaced ? (thrown as LeadpipeError).with({ hint: asked }) : thrown, ranFor(route));
}

function toRaise(setting: string, route: Route): string {
  const restart = setting === 'max_credits' ? ', and to start this server again' : '';
  return `Ask for less, or ask the person to raise the limit: ${toSetCommand(setting, route)}${restart}`;
}
