import { limits } from '../../contract/limits.ts';
import type { Facts, LeadpipeError } from '../../errors.ts';
import { nearest } from '../../requests/closed-list.ts';
import type { RecordOptions } from '../options/record-options.ts';
import type { ConnectionOptions } from '../options/shared-options.ts';
import {
  flagOf,
  type Route,
  routeWords,
  shellWord,
  toBalanceCommand,
  toCommand,
  toReadCommand,
  toResumeCommand,
  toSetCommand,
} from './proposed.ts';

/** The command that ran; hints depend on it. */
export interface Ran {
  readonly options: Partial<ConnectionOptions & RecordOptions> & {
    readonly limit?: number;
    readonly idempotencyKey?: string;
    readonly run?: string;
    readonly input?: string;
    readonly errors?: string;
    readonly schema?: string;
    readonly first?: number | undefined;
    readonly dedupServiceLeads?: readonly string[];
    readonly dedupCustomLeads?: readonly string[];
    readonly enrichFields?: readonly string[];
  };
  readonly args: readonly string[];
  /** Whether the command has this option, given or not. */
  has(option: `--${string}`): boolean;
  /** Whether it was `leadpipe resume`. */
  readonly isResume?: boolean;
  /** True if it resumed an operation. */
  readonly isRest?: boolean;
}

type Hints = {
  readonly [Is in Facts['is']]: string | ((facts: Extract<Facts, { is: Is }>, ran: Ran) => string);
};

export const nothingBought =
  'No purchases recorded on this machine yet. Those with --no-history are not listed.';

/** Pure: what to do about a purchase whose answer was lost. */
export function inDoubt(route: Route): string {
  return `It may or may not have been charged; check \`${toBalanceCommand(route)}\` before you run it again: a new run is a new purchase.`;
}

/** Pure: says that the results are stored, and introduces the command that prints them or writes them to a file. */
function toStored(isAll: boolean, what: 'print' | 'write'): string {
  const [it, place] = [isAll ? 'them' : 'the stored ones', what === 'write' ? ' to a file' : ''];
  const stored = isAll ? 'The results are stored' : 'Not all results could be stored';
  return `${stored}. To ${what} ${it}${place}, for free: `;
}

/** The hint for each kind of facts; the type requires one for every kind. */
const hints: Hints = {
  stream_refused_type: ({ entityType }) =>
    `Use \`leadpipe task run ${entityType} "<objective>" --enable-web-search\`.`,
  secret_in_address: 'Put the API key in LEADPIPE_API_KEY instead.',
  no_target: (_, { options: { profile } }) =>
    [
      `With an account, run:  leadpipe auth login${flagOf(profile)}`,
      'In a script, set:      LEADPIPE_BASE_URL and LEADPIPE_API_KEY',
      'To try it out, add:    --local (offline, free, with fictional leads)',
    ].join('\n'),
  no_address: ({ keyOrigin }, { options: { profile } }) =>
    keyOrigin === undefined
      ? `Set LEADPIPE_BASE_URL to your service, run \`leadpipe auth login${flagOf(profile)}\`, or try it out with --local.`
      : `Set the address that the stored key is for: ${toSetCommand('base_url', { profile }, keyOrigin)}`,
  no_key: ({ profile }) =>
    `Store one (leadpipe auth login${flagOf(profile)}), set LEADPIPE_API_KEY, or try it out with --local.`,
  key_of_other_origin: ({ profile, origin }) =>
    `Store the key of that address (leadpipe auth login${flagOf(profile)} --base-url ${origin}), or set LEADPIPE_API_KEY.`,
  no_profile: ({ name, known }) =>
    `${known.length === 0 ? 'There are no profiles yet.' : `Profiles: ${known.join(', ')}.`} To create "${name}": leadpipe auth login --profile ${name}`,
  several_tables({ names: [first = ''], areOfDatabase }, { has }) {
    if (has('--table')) return `Choose one, for example: --table ${shellWord(first)}`;
    return areOfDatabase
      ? `Give a file with only one of them, for example: sqlite3 -csv -header <file> 'SELECT * FROM "${first}"' > names.csv`
      : `Give a file with only one of them, for example: jq ".${first}" <file> > names.json`;
  },
  no_list: (_, { has }) =>
    `Give a list: CSV, JSON, a workbook, or one text per line.${has('--input-format') ? ' If each line is one request: --input-format text.' : ''}`,
  bad_setting: ({ setting }, { options: { profile } }) =>
    `Set it again (${toSetCommand(setting, { profile }, '…')}), or remove it (leadpipe config unset ${setting}${flagOf(profile)}).`,
  no_keychain: (_, { options }) =>
    `Set LEADPIPE_API_KEY, or store the key in a file: LEADPIPE_CREDENTIAL_STORE=file ${toCommand(['auth', 'login', ...routeWords(options)])}`,
  keys_damaged: (_, { options: { profile } }) =>
    `Repair or remove the file, then run \`leadpipe auth login${flagOf(profile)}\`. leadpipe did not change the file.`,
  key_lost: ({ profile }) => `Store it again: leadpipe auth login --profile ${profile}`,
  bad_authorities: (_, { options }) =>
    `Name a PEM file with \`${toSetCommand('ca_file', options, '<file>')}\`, or remove the setting: \`leadpipe config unset ca_file${flagOf(options.profile)}\`.`,
  bad_switch: '`leadpipe help local-service` lists the switches.',
  port_in_use: 'Choose another port with --port, or any free one with --port 0.',
  busy_until: ({ until }) => `Run it again after ${toUtc(until)}.`,
  not_running: (_, { options }) =>
    options.local
      ? 'The local service of this run has ended. Run the command again: with --local it costs nothing.'
      : 'Is `leadpipe serve` running? Start it, or correct the address. Nothing was sent.',
  in_doubt: (_, { options }) =>
    options.local ? 'Run it again: with --local it costs nothing.' : inDoubt(options),
  key_used: toAnotherKey,
  key_of_other_request: toAnotherKey,
  no_credits: (facts, ran) =>
    `Get more credits${toFewer(facts, ran)}. \`${toBalanceCommand(ran.options)}\` shows how many you have.`,
  over_day_limit: (facts, ran) =>
    `All purchases on this machine since midnight count. To allow more: ${toSetCommand(facts.setting, ran.options)}${toFewer(facts, ran)}`,
  unpriced_day: ({ operationId, setting }, { options }) =>
    setting === undefined
      ? `Its cost counts when it has ended. If you don't want the rest: leadpipe history drop ${operationId}`
      : `Set the price, so that its cost counts: ${toSetCommand(setting, options)}`,
  // The option takes whole credits.
  over_limit: (facts, ran) =>
    facts.setting === undefined
      ? `To allow it: --max-credits ${Math.ceil(facts.needs)}${toFewer(facts, ran)}.`
      : `To allow more: ${toSetCommand(facts.setting, ran.options)}${toFewer(facts, ran)}.`,
  price_unknown: ({ setting }, { options }) =>
    `The service does not show its prices. Set yours: ${toSetCommand(setting, options)}`,
  unauthenticated: (_, { options: { profile } }) =>
    `Check the API key, and that it belongs to this address: leadpipe auth status${flagOf(profile)}.`,
  private_authority: (_, { options }) =>
    `If the certificate is from your own authority: \`${toSetCommand('ca_file', options, '<file.pem>')}\`, or NODE_EXTRA_CA_CERTS=<file.pem>.`,
  no_journal:
    'Nothing was sent. Free some space and make the folder writable, set LEADPIPE_STATE_DIR to another folder, or store nothing: --no-history.',
  too_many_names:
    '--only-new and --list have no such limit: they leave out all leads that earlier searches of a list delivered.',
  no_local_state:
    'Free some space and make the folder writable, or set LEADPIPE_STATE_DIR to another folder.',
  no_memory:
    'Raise the limit (ulimit -v unlimited), or set NODE_OPTIONS=--disable-wasm-trap-handler, so that leadpipe needs less memory.',
  no_webassembly:
    'Remove --jitless or --no-expose-wasm from NODE_OPTIONS, or from the command that starts Node.',
  no_result: (_, { options }) =>
    options.local
      ? 'It cost nothing, because of --local.'
      : `It may or may not have been charged; check \`${toBalanceCommand(options)}\`.`,
  answer_undelivered({ stored, replays, idempotencyKey, operationId = '' }) {
    if (stored) return `The answer is stored. To print it, for free: leadpipe history show ${operationId}`;
    return replays
      ? `The service may give the answer again, without a charge: run it with --idempotency-key ${idempotencyKey}.`
      : "The answer can't be fetched again: a new run is a new purchase.";
  },
  rest_in_doubt({ operationId, part }, ran) {
    const stored = part === undefined ? '' : `The leads that arrived before are in ${part}. `;
    const resume = toNextRun(operationId, ran);
    return ran.options.local
      ? `${stored}To try again: ${resume}`
      : `${stored}The rest may or may not have been charged; check \`${toBalanceCommand(ran.options)}\` before you buy it again: ${resume}`;
  },
  search_cut({ rest, isDelivered, isStored, leadsSearchId, operationId, part, request }, ran) {
    const { options } = ran;
    const { append, dedupCustomLeads = [], dedupServiceLeads = [], enrichFields = [], output } = options;
    if (operationId === undefined) {
      if (rest <= 0) return allArrived;
      if (leadsSearchId === undefined)
        return 'Nothing is stored, and the service sent no ID of this search, so the same command buys all of its leads again.';
      const words = ['search', request.entity_type, request.objective.length > 200 ? '…' : request.objective];
      words.push('--limit', String(rest), '--no-history');
      for (const one of [...dedupServiceLeads, leadsSearchId]) words.push('--dedup-service-leads', one);
      for (const one of dedupCustomLeads) words.push('--dedup-custom-leads', one);
      for (const one of enrichFields) words.push('--enrich-fields', one);
      return `To buy the rest: ${toCommand([...words, ...routeWords(options)])}`;
    }
    const show = `leadpipe history show ${operationId}`;
    if (!isStored) {
      const lost = "Not all of these leads could be stored, so this search can't be resumed";
      const bought = options.local ? '' : ', and the same command buys all of its leads again';
      const keep = part === undefined ? '' : ` Keep ${part}.`;
      return `${lost}${bought}.${keep}\nTo print what is stored, for free: ${show}`;
    }
    const again = isDelivered ? [] : [`${toStored(true, 'print')}${show}`];
    const resume = toNextRun(operationId, ran);
    if (rest > 0) return [...again, `To buy the rest: ${resume}`].join('\n');
    const isLeft = output !== undefined && output !== '-' && !(append && isDelivered);
    return [allArrived, ...(isLeft ? [`To complete ${output}, for free: ${resume}`] : again)].join('\n');
  },
  unplaced({ isStored, list, operationId }, ran) {
    if (operationId === undefined) return 'Nothing is stored, because of --no-history.';
    if (list !== undefined)
      return `The answers are stored. To write them to a file, for free: ${toFreeFile(operationId, list.hasRest, ran)}`;
    const { append, output: _, ...form } = ran.options;
    const show = ['history', 'show', operationId];
    // -o without --append would replace the rows of the file.
    const command = append
      ? `${toCommand([...show, ...outputWords(form)])} -o <file>`
      : toCommand([...show, ...outputWords(ran.options)]);
    return `${toStored(isStored, 'write')}${command}`;
  },
  no_operation({ operationId, known }) {
    if (known.length === 0) return nothingBought;
    // The folder of the operation was made, but the disk was full.
    if (known.includes(operationId)) return 'It was stopped before it was recorded: nothing was sent.';
    const near = nearest(operationId, known);
    return `${near === undefined ? '' : `Did you mean ${near}? `}To see the purchases of this machine: leadpipe history`;
  },
  resume_elsewhere: ({ operationId }, { options }) =>
    `Nothing was sent. To resume in another file, with all leads: ${toElsewhere(operationId, options)}`,
  damaged_leads:
    'To print the leads that can be read: leadpipe history show <operation-id>. leadpipe did not change the file.',
  other_columns: 'Choose the columns with --columns, or write to another file.',
  others_tables: 'Add the rows to it with --append, or name another file.',
  columns_unknown: 'Name them with --columns.',
  begun_elsewhere: ({ origin }) =>
    origin === 'local' ? 'Add --local.' : `Add --base-url ${origin}, and put its key in LEADPIPE_API_KEY.`,
  task_created: ({ leadsSearchId }, { options }) =>
    `The task keeps running at the service. To read its leads, for free: ${toReadCommand('wait', leadsSearchId, options)}`,
  creation_in_doubt:
    'Run the same command again: it uses the same idempotency key, so the task is bought only once.',
  task_unbegun: ({ operationId }, ran) =>
    `To resume it, without buying it twice: ${toNextRun(operationId, ran)}`,
  task_left: (task, ran) => `To resume: ${toTaskCommand(task, ran)}`,
  replay_too_old: (_, { options }) =>
    `It may have been charged; check \`${toBalanceCommand(options)}\`. To search again, run the same command; it is a new purchase.`,
  list_left({ isOverLimit, operationId, setting, until }, ran) {
    const again = toListCommand(operationId, ran);
    if (again === undefined) return unresumable(operationId);
    const after = isOverLimit
      ? setting && ` after \`${toSetCommand(setting, ran.options)}\``
      : until && ` after ${toUtc(until)}`;
    const raised = isOverLimit && setting === undefined ? ' with a higher --max-credits' : '';
    return `To resume${after ?? ''}, run ${again}${raised}. Rows that are already bought are not bought again.`;
  },
  rows_failed({ failed, unknown, flawed, flawedLines, hasMore, isIdle, kept, operationId }, ran) {
    const { local, run } = ran.options;
    const again = toListCommand(operationId, ran);
    const isDone = failed + unknown + flawed === 0 && !hasMore;
    if (again === undefined && !isDone) return unresumable(operationId);
    const says: string[] = isDone ? ['The list is finished.'] : [];
    if (hasMore) {
      const all = toListCommand(operationId, { ...ran, options: { ...ran.options, first: undefined } });
      says.push(`To buy the other rows, run ${all}${all === sameCommand ? ' without --first' : ''}.`);
    }
    if (failed + flawed > 0) {
      const correct = flawed === 0 ? '' : `correct ${toLines(flawedLines, flawed)} of the input, and `;
      says.push(`To buy the missing rows, ${correct}run ${again}. The other rows are not bought again.`);
    }
    if (unknown > 0 && run !== undefined) {
      says.push(
        `If another run named ${shellWord(run)} was active at the same time, run the same command again when it has ended: the rows that it bought are then free.`,
      );
    }
    if (unknown > 0) {
      const lost = local ? 'whose answers were lost' : 'that may have been charged';
      says.push(
        `To also buy again the rows ${lost}, run ${again === sameCommand ? `${sameCommand} with --retry-unknown` : `\`${toNextRun(operationId, ran)} --retry-unknown\``}.`,
      );
    }
    if (ran.options.append === true && kept !== undefined) {
      says.push('With --append, the rows are added in one step, when no row can be bought again.');
      says.push(
        `To write the stored answers to a new file now, for free, run \`${toFreeFile(operationId, failed > 0 || hasMore, ran)}\`.`,
      );
    }
    if (isIdle || isDone) says.push(toStartOver(isDone, run));
    return says.join(' ');
  },
};

/** Pure: an RFC 3339 time, in minutes. */
function toUtc(time: string): string {
  return `${time.slice(0, 16).replace('T', ' ')} UTC`;
}

const allArrived = 'All leads that were asked for have arrived.';

const sameCommand = 'the same command again';

/**
 * Pure: how to resume a list: with the same command, if it writes to a file or has a name; else by its operation. Undefined if its rows can't
 * be read again.
 */
function toListCommand(operationId: string, ran: Ran): string | undefined {
  const { input, output, run } = ran.options;
  const isOfFile = output !== undefined && output !== '-';
  if (ran.has('--input') && (isOfFile || run !== undefined)) return sameCommand;
  return input === '-' ? undefined : `\`${toNextRun(operationId, ran)}\``;
}

function unresumable(operationId: string): string {
  return `The received answers are stored. To print them, for free: leadpipe history show ${operationId}\nThe same command buys all rows again. A list from standard input can be resumed if it has -o <file> or --run <name>.`;
}

/** Pure: how to buy a whole list again that is finished, or has no rows left to send. */
export function toStartOver(isFinished: boolean, run: string | undefined): string {
  return isFinished && run === undefined
    ? 'The same command buys all rows again, unless the run has a name (--run).'
    : 'To buy the whole list again, give the run a new name: --run <name>.';
}

/** Pure: `line 3`, `lines 3, 5 and 8`, `rows 3, 5, 8, 9, 12 and 7 more`. */
function toLines(
  lines: readonly { readonly line: number; readonly isRow?: boolean | undefined }[],
  count: number,
): string {
  const named = lines.map(({ line }) => String(line));
  const all = [...named, ...(count > lines.length ? [`${count - lines.length} more`] : [])];
  const unit = lines[0]?.isRow ? 'row' : 'line';
  return `${unit}${all.length === 1 ? '' : 's'} ${new Intl.ListFormat('en-GB').format(all)}`;
}

/** Advice to ask for fewer leads or rows; empty if the user can't choose: for the rest of a search, and for a page (web2list). */
function toFewer(
  {
    first,
    worst,
    left,
  }: {
    readonly first?: number | undefined;
    readonly worst?: number | undefined;
    readonly left?: number | undefined;
  },
  { args, has, isRest, options }: Ran,
): string {
  if (first) return `, or buy what fits with --first ${first}`;
  if (isRest || !has('--limit') || args[0] === 'web2list' || left === 0) return '';
  const { default: defaultLimit } = has('--enrich-fields') ? limits.entityLimit : limits.extractLimit;
  const { limit = defaultLimit } = options;
  if (!worst || left === undefined) return ', or ask for fewer with --limit';
  const affordable = Math.floor((left * limit) / worst);
  return affordable < 1 || affordable >= limit ? '' : `, or ask for fewer with --limit ${affordable}`;
}

function toAnotherKey(_: Facts, { has, options }: Ran): string {
  return has('--idempotency-key') && options.idempotencyKey === undefined
    ? 'leadpipe made a new key for this request, but the service says that it was used before. To send the request with another key, run the same command again.'
    : 'This idempotency key was used before. To buy again, leave out --idempotency-key or give a new one.';
}

/** Pure: the command that resumes after an error, as programs get it; undefined where there is none. */
export function toResume({ details: { facts } }: LeadpipeError, ran = ranFor({})): string | undefined {
  switch (facts?.is) {
    case 'rest_in_doubt':
    case 'task_unbegun':
      return toNextRun(facts.operationId, ran);
    case 'search_cut':
    case 'unplaced':
      return facts.operationId === undefined || !facts.isStored
        ? undefined
        : toNextRun(facts.operationId, ran);
    case 'list_left':
      return ran.options.input === '-' ? undefined : toNextRun(facts.operationId, ran);
    case 'rows_failed':
      return facts.failed === 0 || ran.options.input === '-' ? undefined : toNextRun(facts.operationId, ran);
    case 'task_left':
      return toTaskCommand(facts, ran);
    case 'task_created':
      return toReadCommand('wait', facts.leadsSearchId, ran.options);
    default:
      return undefined;
  }
}

/** Pure: for an error of no command that takes options, in a program for this service. */
export function ranFor(options: Route): Ran {
  return { options, args: [], has: () => false };
}

/** Pure: the hint of an error, in the words of the command line; undefined where there is none. */
export function toHint({ details }: LeadpipeError, ran = ranFor({})): string | undefined {
  const { facts, hint, operationId } = details;
  if (hint !== undefined || facts === undefined) return hint;
  const found = hints[facts.is] as string | ((facts: Facts, ran: Ran) => string);
  // A purchase that is refused before it starts has no ID, unless an earlier run started it.
  const isLimit = ['over_limit', 'over_day_limit'].includes(facts.is);
  const isRest = isLimit ? operationId !== undefined : facts.is === 'no_credits' && facts.isRest === true;
  return typeof found === 'string' ? found : found(facts, { ...ran, isRest });
}

/** Pure: the command that resumes the operation of a task; without an operation, the one that continues from the position. */
export function toTaskCommand(
  { leadsSearchId, resumeBy: resume, pts, operationId }: Omit<Extract<Facts, { is: 'task_left' }>, 'is'>,
  ran: Pick<Ran, 'isResume' | 'options'>,
): string {
  const { options } = ran;
  if (operationId !== undefined) return toNextRun(operationId, ran);
  const output = options.append ? outputWords(options) : [];
  return toCommand(['task', resume, leadsSearchId, ...from(pts), ...routeWords(options), ...output]);
}

/** The output of `resume` can be another one than that of its operation: the next run has to name it again. */
function toNextRun(operationId: string, { isResume, options }: Pick<Ran, 'isResume' | 'options'>): string {
  return toResumeCommand(operationId, options, isResume ? outputWords(options) : []);
}

function toElsewhere(operationId: string, { baseUrl }: Route): string {
  return `${toResumeCommand(operationId, { baseUrl })} -o <file>`;
}

/** Pure: how to write the answers of a list to another file for free. `hasRest`: to resume it would buy rows. */
function toFreeFile(operationId: string, hasRest: boolean, { options }: Ran): string {
  return hasRest || options.input === '-'
    ? `leadpipe history show ${operationId} -o <file>`
    : toElsewhere(operationId, options);
}

/** The options that say where the records go, and in which form. */
function outputWords({
  append,
  columns = [],
  csvRaw,
  delimiter,
  format,
  output,
  positions,
}: Ran['options']): string[] {
  return [
    ...(output === undefined ? [] : ['-o', output]),
    ...(append ? ['--append'] : []),
    ...(format === undefined ? [] : ['-f', format]),
    ...columns.flatMap((one) => ['--columns', one]),
    ...(delimiter === undefined ? [] : ['--delimiter', delimiter]),
    ...(csvRaw ? ['--csv-raw'] : []),
    ...(positions ? ['--positions'] : []),
  ];
}

function from(pts: number): string[] {
  return pts === 0 ? [] : ['--pts', String(pts)];
}
