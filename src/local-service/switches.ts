/**
 * What the interface description leaves open, as named switches with a stated default. Prices, pace and limits
 * of this service are here too, since a real one configures them per workspace.
 */

interface SwitchRow<Value> {
  readonly default: Value;
  readonly meaning: string;
  /** The allowed values of a textual switch. */
  readonly values?: readonly Value[];
  /** The largest value of a number. */
  readonly max?: number;
}

/** A timer of Node that should wait for longer fires at once. 24 days. */
export const longestWaitMs = 2 ** 31 - 1;

export const switchTable = {
  auth_header: {
    default: 'any' as 'any' | 'documented',
    values: ['any', 'documented'],
    meaning:
      'which of the two API key headers an endpoint accepts: any of them, or only those that the interface shows for it',
  },
  error_type_at: {
    default: 'error.type' as 'error.type' | 'error.code' | 'type' | 'none',
    values: ['error.type', 'error.code', 'type', 'none'],
    meaning: 'where an error answer holds the type of the error',
  },
  key_lifetime_s: { default: 0, meaning: 'a key expires this many seconds after its first use; 0 = never' },
  opening_credits: { default: 100_000, meaning: 'credits that a new account starts with' },
  price_search: { default: 1, meaning: 'credits per lead of a search or task' },
  price_enrich_fields: { default: 1, meaning: 'extra credits per lead when enrich_fields are requested' },
  price_web_search: { default: 1, meaning: 'extra credits per lead with enable_web_search' },
  price_contact_email: { default: 5, meaning: 'credits per email lookup' },
  price_contact_phone: { default: 10, meaning: 'credits per phone lookup' },
  price_research: { default: 20, meaning: 'credits per deep search with a result' },
  price_enrich: { default: 2, meaning: 'credits per enrich request with a result' },
  price_extract: { default: 1, meaning: 'credits per extracted item' },
  contact_billing: {
    default: 'per_result' as 'per_result' | 'per_request',
    values: ['per_result', 'per_request'],
    meaning: 'whether a completed contact lookup is always charged, or only when something was found',
  },
  no_result_bills: {
    default: 'no' as 'no' | 'yes',
    values: ['no', 'yes'],
    meaning: 'whether research and enrich are charged when they end without a result (success: false)',
  },
  user_concurrency: { default: 10, meaning: 'requests of one account that may run at the same time' },
  service_concurrency: { default: 100, meaning: 'requests of all accounts that may run at the same time' },
  disabled: {
    default: '' as string,
    meaning:
      'what is switched off (answers 503), separated by commas: operations (search, createTask, contactSearch, deepSearch, enrich, extract), entity types and contact types',
  },
  batch_size: { default: 10, meaning: 'leads per stream event' },
  batch_pause_ms: { default: 40, max: longestWaitMs, meaning: 'milliseconds between two events of a stream' },
  unread_ms: {
    default: 60_000,
    max: longestWaitMs,
    meaning: 'after this many milliseconds without reading, the client of a stream counts as gone; 0 = never',
  },
  dropped_stream: {
    default: 'bills_sent' as 'bills_sent' | 'bills_all' | 'bills_nothing',
    values: ['bills_sent', 'bills_all', 'bills_nothing'],
    meaning: 'what is charged for a stream when its client goes away or the service is killed',
  },
  stream_fetch: {
    default: 'off' as 'off' | 'on',
    values: ['off', 'on'],
    meaning: 'whether status and fetch accept the leads_search_id of a stream',
  },
  task_start_ms: {
    default: 300,
    max: longestWaitMs,
    meaning: 'milliseconds that a new task stays in the state created',
  },
  task_step_ms: {
    default: 250,
    max: longestWaitMs,
    meaning: 'milliseconds between two steps of a running task',
  },
  task_step: { default: 20, meaning: 'leads that become ready in each step' },
  extract_replay: {
    default: 'on' as 'off' | 'on',
    values: ['off', 'on'],
    meaning: 'whether a repeated extract request gets its first answer again; off gives 409',
  },
} as const satisfies Record<string, SwitchRow<string | number>>;

export type SwitchName = keyof typeof switchTable;

export type Switches = {
  -readonly [Name in SwitchName]: (typeof switchTable)[Name]['default'] extends number
    ? number
    : (typeof switchTable)[Name]['default'];
};

/** Thrown for a switch that does not exist or a value it can't have. */
export class SwitchError extends Error {
  override readonly name = 'SwitchError';
}

/** The defaults, with some of them replaced. */
export function createSwitches(changes: Partial<Switches> = {}): Switches {
  const switches: Record<string, string | number> = {};
  for (const [name, row] of Object.entries(switchTable)) switches[name] = row.default;
  for (const [name, value] of Object.entries(changes))
    if (value !== undefined) switches[name] = checkedValue(name, value);
  return switches as Switches;
}

/** Reads `name=value` texts, as they stand on a command line. Throws SwitchError. */
export function toSwitches(assignments: readonly string[]): Partial<Switches> {
  const changes: Record<string, string | number> = {};
  for (const assignment of assignments) {
    const equals = assignment.indexOf('=');
    if (equals < 1) throw new SwitchError(`write a switch as name=value, not as ${assignment}`);
    const name = assignment.slice(0, equals);
    const value = assignment.slice(equals + 1);
    const isNumber = typeof rowOf(name).default === 'number' && /^\d+$/.test(value);
    changes[name] = checkedValue(name, isNumber ? Number(value) : value);
  }
  return changes as Partial<Switches>;
}

function rowOf(name: string): SwitchRow<string | number> {
  if (Object.hasOwn(switchTable, name)) return switchTable[name as SwitchName];
  throw new SwitchError(`there is no switch ${name}`);
}

function checkedValue(name: string, value: unknown): string | number {
  const row = rowOf(name);
  if (typeof row.default === 'number') {
    const { max = Number.MAX_SAFE_INTEGER } = row;
    if (!Number.isSafeInteger(value) || (value as number) < 0 || (value as number) > max)
      throw new SwitchError(
        `the switch ${name} must be a whole number${row.max === undefined ? ', at least 0' : ` from 0 to ${max}`}`,
      );
    return value as number;
  }
  if (typeof value !== 'string' || (row.values !== undefined && !row.values.includes(value)))
    throw new SwitchError(
      `the switch ${name} must be ${row.values === undefined ? 'a text' : `${row.values.slice(0, -1).join(', ')} or ${row.values.at(-1)}`}`,
    );
  return value;
}
