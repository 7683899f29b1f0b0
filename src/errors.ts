import type { EntitySearchRequest } from './contract/types.ts';

/**
 * How a run can end. Every error names one, and one table (cli/exit-codes.ts) turns it into the exit code,
 * so that nothing below the command line knows a number.
 */
const outcomes = [
  'complete',
  'bug',
  'usage',
  'partial',
  'authentication',
  'credits',
  'not_found',
  'no_result',
  'unknown',
  'not_enabled',
  'local_io',
  'temporary',
  'interface',
  'configuration',
  'interrupted',
  'reader_closed',
  'terminated',
] as const;

export type Outcome = (typeof outcomes)[number];

/** Pure: how a run ends that its signal has stopped; a plain `abort()` interrupts it. */
export function stoppedBy({ reason }: AbortSignal): Outcome {
  return outcomes.find((one) => one === reason) ?? 'interrupted';
}

/** Pure: whether the run was stopped from outside. */
export function isStop(error: unknown): boolean {
  const stops: readonly Outcome[] = ['interrupted', 'terminated', 'reader_closed'];
  return error instanceof LeadpipeError && stops.includes(error.outcome);
}

/** Whether a failed request may have cost credits. */
export type Charged = 'no' | 'maybe' | 'yes';

/** What a failure knows beyond its message, where that is more than a name. */
interface MoreFacts {
  stream_refused_type: { entityType: string };
  no_key: { profile: string };
  key_of_other_origin: { profile: string; origin: string };
  /** `keyOrigin` is what a stored key is for. */
  no_address: { keyOrigin: string | undefined };
  no_profile: { name: string; known: readonly string[] };
  bad_setting: { setting: string };
  key_lost: { profile: string };
  /** The service is asked nothing more before that time (RFC 3339, UTC). */
  busy_until: { until: string };
  /** `worst` is what it can cost at most, `left` what may be spent; undefined where that is not known. */
  no_credits: { worst?: number | undefined; left?: number | undefined };
  /** `setting` is where the limit comes from, if not from an option. */
  over_limit: { worst: number; left: number; setting: string | undefined };
  over_day_limit: { setting: string };
  unpriced_day: { setting: string };
  price_unknown: { setting: string };
  /** `stored` answers can be shown again; others perhaps be had again with the same key, where the endpoint `replays`. */
  answer_undelivered: { stored: boolean; replays: boolean; idempotencyKey: string; operationId?: string };
  /** Nothing came of the rest of a search, and it may have been charged; what arrived before is stored, and in a file. */
  rest_in_doubt: { operationId: string; part: string | undefined };
  search_cut: {
    /** How many leads of the request are missing. */
    rest: number;
    /** Whether all that arrived could be written, and is stored. */
    isDelivered: boolean;
    isStored: boolean;
    leadsSearchId: string;
    operationId: string | undefined;
    request: EntitySearchRequest;
  };
  /** Everything has arrived, but the file of it is not in its place. */
  unplaced: { operationId: string | undefined; isStored: boolean };
  /** `known` are those of this machine. */
  no_operation: { operationId: string; known: readonly string[] };
  not_a_search: { operationId: string };
  continued: { by: string };
  search_complete: { operationId: string };
  /** By several operations, in their order. */
  search_completed: { operationIds: readonly string[] };
  continue_elsewhere: { operationId: string };
  begun_elsewhere: { origin: string };
  task_created: { leadsSearchId: string };
  task_unbegun: { operationId: string };
  /** `pts` is the position to go on from. */
  task_left: { leadsSearchId: string; pts: number; goOn: 'wait' | 'fetch'; operationId: string | undefined };
  read_elsewhere: { leadsSearchId: string; pts: number };
  replay_too_old: { operationId: string };
  /** The same command goes on with it, perhaps not before this time; `setting` is where the limit comes from, if not from an option. */
  list_left: {
    operationId: string;
    isOverLimit: boolean;
    setting?: string | undefined;
    until?: string | undefined;
  };
  /** How many rows have no result, and why; none of these where the service has answered all of them. */
  rows_failed: {
    operationId: string;
    failed: number;
    /** Of these the answer was lost, and may have been charged. */
    unknown: number;
    /** These can't be sent; the first of their lines. */
    flawed: number;
    flawedLines: readonly number[];
    /** Whether nothing was left to send. */
    isIdle: boolean;
  };
}

/**
 * What is known of a failure beyond its message. What to type about it is the command line's to say (cli/messages/hints.ts), by
 * these facts: nothing below it knows the name of an option or of a command.
 */
export type Facts =
  | {
      readonly is:
        | 'secret_in_address'
        | 'no_target'
        | 'no_keychain'
        | 'keys_damaged'
        | 'bad_authorities'
        | 'bad_switch'
        | 'port_in_use'
        | 'in_doubt'
        | 'key_used'
        | 'key_of_other_request'
        | 'unauthenticated'
        | 'private_authority'
        | 'no_journal'
        | 'no_local_state'
        | 'no_result'
        | 'damaged_leads'
        | 'columns_unknown'
        | 'other_columns'
        | 'creation_in_doubt';
    }
  | { [Is in keyof MoreFacts]: Readonly<{ is: Is } & MoreFacts[Is]> }[keyof MoreFacts];

export interface ErrorDetails {
  /** What to do about it, one line; where that needs the name of an option or a command, the facts stand instead. */
  readonly hint?: string | undefined;
  readonly facts?: Facts | undefined;
  readonly status?: number | undefined;
  /** The service's error type, or leadpipe's own name for a fault the service did not name. */
  readonly type?: string | undefined;
  readonly requestId?: string | undefined;
  readonly operationId?: string | undefined;
  readonly idempotencyKey?: string | undefined;
  readonly charged?: Charged | undefined;
  /** Whether the same command may simply be run again. */
  readonly retryable?: boolean | undefined;
  /** The cause as the wire has it (method, path, status, type); stands behind the words. */
  readonly technical?: string | undefined;
  readonly cause?: unknown;
}

/** Everything leadpipe says on purpose: one line of cause, and how the run ends. */
export class LeadpipeError extends Error {
  readonly outcome: Outcome;
  /** The message without its technical form, for a longer sentence. */
  readonly words: string;
  /** Without members that are undefined. */
  readonly details: ErrorDetails;

  constructor(outcome: Outcome, words: string, details: ErrorDetails = {}) {
    const { cause, technical } = details;
    super(
      technical === undefined ? words : `${words} (${technical})`,
      cause === undefined ? undefined : { cause },
    );
    this.name = new.target.name;
    this.outcome = outcome;
    this.words = words;
    this.details = withoutUndefined(details);
  }

  /** The same error, of the same class, with more known about it, and perhaps in other words. Another hint, or other facts, replace both. */
  with(details: ErrorDetails, words = this.words): this {
    const { hint: _, facts: __, ...rest } = this.details;
    const known = details.hint === undefined && details.facts === undefined ? this.details : rest;
    const more = new LeadpipeError(this.outcome, words, { ...known, ...withoutUndefined(details) });
    if (this.stack !== undefined) more.stack = this.stack;
    Object.setPrototypeOf(more, Object.getPrototypeOf(this));
    return Object.assign(more as this, { ...this, words, details: more.details });
  }
}

function withoutUndefined(details: ErrorDetails): ErrorDetails {
  return Object.fromEntries(Object.entries(details).filter(([, value]) => value !== undefined));
}

/** The run was stopped from outside (Ctrl-C, SIGTERM, a reader that went away). */
export class StoppedError extends LeadpipeError {
  constructor(signal: AbortSignal, details: ErrorDetails = {}) {
    super(stoppedBy(signal), 'stopped', details);
  }
}

/** Bad input, found before anything was sent. */
export class UsageError extends LeadpipeError {
  constructor(message: string, more?: string | Facts) {
    super('usage', message, { type: 'usage', charged: 'no', retryable: false, ...toAdvice(more) });
  }
}

/** No address, no key, a refused address, a corrupt settings file. */
export class ConfigurationError extends LeadpipeError {
  constructor(message: string, more?: string | Facts, cause?: unknown) {
    super('configuration', message, {
      type: 'configuration',
      charged: 'no',
      retryable: false,
      ...toAdvice(more),
      cause,
    });
  }
}

/** The `type` of an error: an output file is not as the earlier run left it. */
export const outputChanged = 'output_changed';

/** The `type` of an error: the last row of a file, to which rows are to be added, was never finished. */
export const tornRow = 'torn_row';

/** A file of this machine that can't be read or written. */
export class LocalIoError extends LeadpipeError {
  constructor(message: string, details: ErrorDetails = {}) {
    super('local_io', message, { type: 'local_io', retryable: false, ...details });
  }
}

/** Pure: a hint as it stands, or the facts for one. */
export function toAdvice(more: string | Facts | undefined): Pick<ErrorDetails, 'hint' | 'facts'> {
  if (more === undefined || more === '') return {};
  return typeof more === 'string' ? { hint: more } : { facts: more };
}
