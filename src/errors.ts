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
  | { readonly is: 'stream_refused_type'; readonly entityType: string }
  | { readonly is: 'no_key'; readonly profile: string }
  | { readonly is: 'key_of_other_origin'; readonly profile: string; readonly origin: string }
  /** `keyOrigin` is what a stored key is for. */
  | { readonly is: 'no_address'; readonly keyOrigin: string | undefined }
  | { readonly is: 'no_profile'; readonly name: string; readonly known: readonly string[] }
  | { readonly is: 'bad_setting'; readonly setting: string }
  | { readonly is: 'key_lost'; readonly profile: string }
  /** The service is asked nothing more before that time (RFC 3339, UTC). */
  | { readonly is: 'busy_until'; readonly until: string }
  /** `worst` is what it can cost at most, `left` what may be spent; undefined where that is not known. */
  | { readonly is: 'no_credits'; readonly worst?: number | undefined; readonly left?: number | undefined }
  /** `setting` is where the limit comes from, if not from an option. */
  | {
      readonly is: 'over_limit';
      readonly worst: number;
      readonly left: number;
      readonly setting: string | undefined;
    }
  | { readonly is: 'over_day_limit' | 'unpriced_day'; readonly setting: string }
  | { readonly is: 'price_unknown'; readonly setting: string }
  /** `stored` answers can be shown again; others perhaps be had again with the same key, where the endpoint `replays`. */
  | {
      readonly is: 'answer_undelivered';
      readonly stored: boolean;
      readonly replays: boolean;
      readonly idempotencyKey: string;
      readonly operationId?: string;
    }
  /** Nothing came of the rest of a search, and it may have been charged; what arrived before is stored, and in a file. */
  | { readonly is: 'rest_in_doubt'; readonly operationId: string; readonly part: string | undefined }
  | {
      readonly is: 'search_cut';
      /** How many leads of the request are missing. */
      readonly rest: number;
      /** Whether all that arrived could be written. */
      readonly isDelivered: boolean;
      /** Whether all that arrived is stored. */
      readonly isStored: boolean;
      readonly leadsSearchId: string;
      readonly operationId: string | undefined;
      readonly request: EntitySearchRequest;
    }
  /** Everything has arrived, but the file of it is not in its place. */
  | { readonly is: 'unplaced'; readonly operationId: string | undefined; readonly isStored: boolean }
  /** `known` are those of this machine. */
  | { readonly is: 'no_operation'; readonly operationId: string; readonly known: readonly string[] }
  | { readonly is: 'not_a_search'; readonly operationId: string }
  | { readonly is: 'continued'; readonly by: string }
  | { readonly is: 'search_complete'; readonly operationId: string }
  /** By several operations, in their order. */
  | { readonly is: 'search_completed'; readonly operationIds: readonly string[] }
  | { readonly is: 'continue_elsewhere'; readonly operationId: string }
  | { readonly is: 'begun_elsewhere'; readonly origin: string }
  | { readonly is: 'task_created'; readonly leadsSearchId: string }
  | { readonly is: 'task_unbegun'; readonly operationId: string }
  /** `pts` is the position to go on from; `ended` tasks get no more leads. */
  | {
      readonly is: 'task_left';
      readonly leadsSearchId: string;
      readonly pts: number;
      readonly ended: boolean;
      readonly goOn: 'wait' | 'fetch';
      readonly operationId: string | undefined;
    }
  | { readonly is: 'read_elsewhere'; readonly leadsSearchId: string; readonly pts: number }
  | { readonly is: 'read_again'; readonly leadsSearchId: string; readonly output: string }
  | { readonly is: 'replay_too_old'; readonly operationId: string }
  | { readonly is: 'output_unfinished'; readonly operationId: string }
  /** The same command goes on with it, perhaps not before this time. */
  | {
      readonly is: 'list_left';
      readonly operationId: string;
      readonly isOverLimit: boolean;
      /** Where that limit comes from, if not from an option. */
      readonly setting?: string | undefined;
      readonly until?: string | undefined;
    }
  /** How many rows have no result, and why; none of these where the service has answered all of them. */
  | {
      readonly is: 'rows_failed';
      readonly operationId: string;
      readonly failed: number;
      /** Of these the answer was lost, and may have been charged. */
      readonly unknown: number;
      /** These can't be sent; the first of their lines. */
      readonly flawed: number;
      readonly flawedLines: readonly number[];
      /** Whether nothing was left to send. */
      readonly isIdle: boolean;
    };

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
