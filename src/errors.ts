import type { EntitySearchRequest } from './contract/types.ts';

/** How a run can end. Every error has one of these, and only cli/exit-codes.ts turns it into an exit code. */
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
  'hung_up',
] as const;

export type Outcome = (typeof outcomes)[number];

/** Pure: the outcome of a run that was stopped by its signal. A plain `abort()` means `interrupted`. */
export function stoppedBy({ reason }: AbortSignal): Outcome {
  return outcomes.find((one) => one === reason) ?? 'interrupted';
}

/** Pure: whether the run was stopped from outside. */
export function isStop(error: unknown): boolean {
  const stops: readonly Outcome[] = ['interrupted', 'terminated', 'hung_up', 'reader_closed'];
  return error instanceof LeadpipeError && stops.includes(error.outcome);
}

/** Whether a failed request may have cost credits. */
export type Charged = 'no' | 'maybe' | 'yes';

/** Facts that have values. Facts with a name only are listed in `Facts`. */
interface MoreFacts {
  stream_refused_type: { entityType: string };
  no_key: { profile: string };
  key_of_other_origin: { profile: string; origin: string };
  /** `keyOrigin` is the address that a stored key is for. */
  no_address: { keyOrigin: string | undefined };
  /** A file has several tables, with these names. */
  several_tables: { names: readonly string[]; areOfDatabase?: true };
  no_profile: { name: string; known: readonly string[] };
  bad_setting: { setting: string };
  key_lost: { profile: string };
  /** No request is sent before this time (RFC 3339, UTC). */
  busy_until: { until: string };
  /** `worst` is the maximum cost, `left` what may still be spent; undefined if unknown. */
  no_credits: { worst?: number | undefined; left?: number | undefined; isRest?: boolean };
  /**
   * `setting`: the setting with the limit, if it is not from an option. `needs`: the lowest sufficient limit. `first`: how many rows of a
   * list the present limit covers.
   */
  over_limit: {
    worst: number;
    left: number;
    needs: number;
    setting: string | undefined;
    first?: number | undefined;
  };
  over_day_limit: { setting: string; worst: number; left: number; first: number | undefined };
  /** `setting` is the missing price; undefined if the number of rows that a list bought is unknown. */
  unpriced_day: { operationId: string; setting: string | undefined };
  price_unknown: { setting: string };
  /** `stored`: the answer can be shown again. `replays`: the service may send it again for the same key. */
  answer_undelivered: {
    stored: boolean;
    replays: boolean;
    idempotencyKey: string;
    operationId: string | undefined;
  };
  /** The request for the rest of a search got no answer and may have been charged. Earlier leads are stored, and in `part`. */
  rest_in_doubt: { operationId: string; part: string | undefined };
  search_cut: {
    /** How many of the requested leads are missing. */
    rest: number;
    /** Whether everything that arrived was written, and is stored. */
    isDelivered: boolean;
    isStored: boolean;
    /** The temporary file with the received leads, if any. */
    part: string | undefined;
    leadsSearchId: string | undefined;
    operationId: string | undefined;
    request: EntitySearchRequest;
  };
  /** Everything has arrived, but its file is not in place. `hasRest`: the list has rows that can still be bought. */
  unplaced: {
    operationId: string | undefined;
    isStored: boolean;
    list?: { hasRest: boolean };
  };
  /** `known` are the operations of this machine. */
  no_operation: { operationId: string; known: readonly string[] };
  resume_elsewhere: { operationId: string };
  begun_elsewhere: { origin: string };
  task_created: { leadsSearchId: string };
  task_unbegun: { operationId: string };
  /** `pts` is the position where reading continues. */
  task_left: {
    leadsSearchId: string;
    pts: number;
    resumeBy: 'wait' | 'fetch';
    operationId: string | undefined;
  };
  /** The same command resumes it, not before `until` if set. `setting`: the setting with the limit, if it is not from an option. */
  list_left: {
    operationId: string;
    isOverLimit: boolean;
    setting?: string | undefined;
    until?: string | undefined;
  };
  /** Numbers of rows without a result, by reason; all 0 if the service answered every row. */
  rows_failed: {
    operationId: string;
    failed: number;
    /** Rows whose answer was lost. They may have been charged. */
    unknown: number;
    /** Rows that can't be sent; `flawedLines` has the line or row numbers of the first ones. */
    flawed: number;
    flawedLines: readonly { line: number; isRow?: boolean | undefined }[];
    /** Whether nothing was left to send. */
    isIdle: boolean;
    /** Whether the input has more rows than were requested so far. */
    hasMore: boolean;
    /** The temporary file with the rows, if they were not put in place. */
    kept: string | undefined;
  };
}

/**
 * Details of an error. cli/messages/hints.ts turns them into a hint, because only the command line knows the names of options and commands.
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
        | 'not_running'
        | 'in_doubt'
        | 'key_used'
        | 'key_of_other_request'
        | 'unauthenticated'
        | 'private_authority'
        | 'no_journal'
        | 'too_many_names'
        | 'no_local_state'
        | 'no_memory'
        | 'no_webassembly'
        | 'no_result'
        | 'damaged_leads'
        | 'columns_unknown'
        | 'no_list'
        | 'other_columns'
        | 'others_tables'
        | 'creation_in_doubt'
        | 'replay_too_old';
    }
  | { [Is in keyof MoreFacts]: Readonly<{ is: Is } & MoreFacts[Is]> }[keyof MoreFacts];

export interface ErrorDetails {
  /** Advice, in one line. A hint that names an option or a command is made from `facts` instead. */
  readonly hint?: string | undefined;
  readonly facts?: Facts | undefined;
  readonly status?: number | undefined;
  /** The service's error type, or leadpipe's own name; by default that of the outcome. */
  readonly type?: string | undefined;
  readonly requestId?: string | undefined;
  readonly operationId?: string | undefined;
  readonly idempotencyKey?: string | undefined;
  readonly charged?: Charged | undefined;
  /** Whether the same command can be run again as it is; by default where the outcome is `temporary`. */
  readonly retryable?: boolean | undefined;
  /** The technical cause (method, path, status, type), shown after the words. */
  readonly technical?: string | undefined;
  readonly cause?: unknown;
}

/** Every error that leadpipe reports: one line with the cause, and how the run ends. */
export class LeadpipeError extends Error {
  readonly outcome: Outcome;
  /** The message without the technical cause, for use in a longer sentence. */
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
    this.details = { type: outcome, retryable: outcome === 'temporary', ...withoutUndefined(details) };
  }

  /** A copy of this error, of the same class, with more details or another message. New advice (hint or facts) replaces the old. */
  with(details: ErrorDetails, words = this.words): this {
    const { hint: _, facts: __, ...rest } = this.details;
    const known = details.hint === undefined && details.facts === undefined ? this.details : rest;
    const more = new LeadpipeError(this.outcome, words, { ...known, ...withoutUndefined(details) });
    if (this.stack !== undefined) more.stack = this.stack;
    Object.setPrototypeOf(more, Object.getPrototypeOf(this));
    return Object.assign(more as this, { ...this, words, details: more.details });
  }
}

/** Pure: whether an error says that nothing was charged. */
export function isUncharged(error: unknown): error is LeadpipeError {
  return error instanceof LeadpipeError && error.details.charged === 'no';
}

/**
 * Pure: the error of a request that was sent again after its answer was lost. A refusal now does not mean that the first request cost nothing:
 * the interface does not say whether the service checks the key before it refuses.
 */
export function toMaybeCharged(error: unknown): unknown {
  return isUncharged(error) ? error.with({ charged: 'maybe' }) : error;
}

/** Pure: the message of anything that was thrown. */
export function toMessage(thrown: unknown): string {
  return thrown instanceof Error ? thrown.message : String(thrown);
}

function withoutUndefined(details: ErrorDetails): ErrorDetails {
  return Object.fromEntries(Object.entries(details).filter(([, value]) => value !== undefined));
}

/** The run was stopped from outside (Ctrl-C, SIGTERM, a terminal that was closed, a reader that went away). */
export class StoppedError extends LeadpipeError {
  constructor(signal: AbortSignal, details: ErrorDetails = {}) {
    super(stoppedBy(signal), 'stopped', details);
  }
}

/** Bad input, found before anything was sent. */
export class UsageError extends LeadpipeError {
  constructor(message: string, more?: string | Facts) {
    super('usage', message, { charged: 'no', ...toAdvice(more) });
  }
}

/** No address, no key, a refused address, a corrupt settings file. */
export class ConfigurationError extends LeadpipeError {
  constructor(message: string, more?: string | Facts, cause?: unknown) {
    super('configuration', message, { charged: 'no', ...toAdvice(more), cause });
  }
}

/** The `type` of an error: an output file has changed since the earlier run. */
export const outputChanged = 'output_changed';

/** The `type` of an error: an operation can't be resumed as things are, and nothing was bought. */
export const notResumable = 'not_resumable';

/** A file on this machine can't be read or written. */
export class LocalIoError extends LeadpipeError {
  constructor(message: string, details: ErrorDetails = {}) {
    super('local_io', message, details);
  }
}

/** Pure: the details for advice: a text is a hint, an object has facts. */
export function toAdvice(more: string | Facts | undefined): Pick<ErrorDetails, 'hint' | 'facts'> {
  if (more === undefined || more === '') return {};
  return typeof more === 'string' ? { hint: more } : { facts: more };
}

/** Pure: whether memory could not be allocated. WebAssembly reserves about 10 GB of address space each time, and uses little of it. */
export function isOfMemory({ message }: Error): boolean {
  return /WebAssembly\.\w+\(\).*memory|^Array buffer allocation failed/i.test(message);
}

/** The message for such an error. */
export const noMemoryMessage = 'the limit on virtual memory (ulimit -v) is too low';

/**
 * Throws ConfigurationError if Node has no WebAssembly, which requests and databases need. Otherwise the later failure would look like a
 * network error.
 */
export function checkWebAssembly(): void {
  if ('WebAssembly' in globalThis) return;
  throw new ConfigurationError('Node runs without WebAssembly, which leadpipe needs', {
    is: 'no_webassembly',
  });
}
