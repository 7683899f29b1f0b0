/**
 * Named switches with defaults for everything that the interface leaves open. Prices, speed and limits are here too, since a real service has them
 * per workspace.
 */

/** 24 days. A timer of Node for a longer time fires at once. */
export const maxWaitMs = 2 ** 31 - 1;

interface SwitchRow {
  readonly default: number | string;
  readonly meaning: string;
  /** The allowed values of a textual switch. */
  readonly values?: readonly string[];
  /** The largest value of a number. */
  readonly max?: number;
}

const count = (value: number, meaning: string) => ({ default: value, meaning });
const wait = (value: number, meaning: string) => ({ default: value, meaning, max: maxWaitMs });
/** The first value is the default. */
const choice = <Value extends string>(values: readonly [Value, ...Value[]], meaning: string) => ({
  ...{ default: values[0] as Value, values, meaning },
});
const disabled =
  'operations and types that answer 503, separated by commas: operations (search, createTask, contactSearch, deepSearch, enrich, extract), entity types and contact types';

export const switchTable = {
  auth_header: choice(['any', 'documented'], 'which of the two API key headers an endpoint accepts'),
  error_type_at: choice(
    ['error.type', 'error.code', 'type', 'none'],
    'the place of the type in an error answer',
  ),
  key_lifetime_s: count(0, 'a key expires this many seconds after its first use; 0 = never'),
  opening_credits: count(100_000, 'credits that a new account starts with'),
  next_refresh_s: count(0, 'seconds until the next_credit_refresh_at of the balance; 0 = it has none'),
  price_search: count(1, 'credits per lead of a search or task'),
  price_enrich_fields: count(1, 'extra credits per lead when enrich_fields are requested'),
  price_web_search: count(1, 'extra credits per lead with enable_web_search'),
  price_contact_email: count(5, 'credits per email lookup'),
  price_contact_phone: count(10, 'credits per phone lookup'),
  price_research: count(20, 'credits per deep search with a result'),
  price_enrich: count(2, 'credits per enrich request with a result'),
  price_extract: count(1, 'credits per extracted item'),
  contact_billing: choice(['per_result', 'per_request'], 'when a completed contact lookup is charged'),
  no_result_bills: choice(['no', 'yes'], 'whether research and enrich cost something without a result'),
  user_concurrency: count(10, 'requests of one account that may run at the same time'),
  service_concurrency: count(100, 'requests of all accounts that may run at the same time'),
  disabled: { default: '' as string, meaning: disabled },
  batch_size: count(10, 'leads per stream event'),
  batch_pause_ms: wait(40, 'milliseconds between two events of a stream'),
  unread_ms: wait(60_000, 'milliseconds until a client that reads nothing is disconnected; 0 = never'),
  dropped_stream: choice(
    ['bills_sent', 'bills_all', 'bills_nothing'],
    'what is charged for a stream that is cut short',
  ),
  stream_fetch: choice(['off', 'on'], 'whether status and fetch accept the leads_search_id of a stream'),
  rejected_streak: count(
    0,
    'leads after which a search ends with the stop_reason rejected_streak; 0 = never',
  ),
  no_data_timeout: count(
    0,
    'leads after which a search ends with the stop_reason no_data_timeout; 0 = never',
  ),
  web_only: count(0, 'every n-th lead is found only with enable_web_search; 0 = none'),
  task_start_ms: wait(300, 'milliseconds that a new task stays in the state created'),
  task_step_ms: wait(250, 'milliseconds between two steps of a running task'),
  task_step: count(20, 'leads that become ready in each step'),
  extract_replay: choice(['on', 'off'], 'whether a repeated extract gets its first answer; off gives 409'),
} as const satisfies Record<string, SwitchRow>;

export type Switches = {
  -readonly [Name in keyof typeof switchTable]: (typeof switchTable)[Name]['default'];
};

/** Thrown for an unknown switch, or an invalid value. */
export class SwitchError extends Error {
  override readonly name = 'SwitchError';
}

/** The defaults with these changes. */
export function createSwitches(changes: Partial<Switches> = {}): Switches {
  const defaults = Object.entries(switchTable).map(([name, row]) => [name, row.default]);
  return { ...Object.fromEntries(defaults), ...changes } as Switches;
}

/** Reads `name=value` texts from a command line. Throws SwitchError. */
export function toSwitches(assignments: readonly string[]): Partial<Switches> {
  const changes = assignments.map((assignment) => {
    const [, name, text = ''] = /^([^=]+)=(.*)$/s.exec(assignment) ?? [];
    if (name === undefined) throw new SwitchError(`write a switch as name=value, not as ${assignment}`);
    if (!Object.hasOwn(switchTable, name)) throw new SwitchError(`there is no switch ${name}`);
    return [name, toValue(name, text, switchTable[name as keyof Switches])];
  });
  return Object.fromEntries(changes) as Partial<Switches>;
}

function toValue(name: string, text: string, row: SwitchRow): string | number {
  const { default: defaultValue, max = Number.MAX_SAFE_INTEGER, values } = row;
  if (typeof defaultValue === 'string') {
    if (values?.includes(text) ?? true) return text;
    throw new SwitchError(`the switch ${name} must be one of ${values?.join(', ')}`);
  }
  if (/^\d+$/.test(text) && Number(text) <= max) return Number(text);
  throw new SwitchError(`the switch ${name} must be a whole number from 0 to ${max}`);
}
