import { type Charged, LeadpipeError, type Outcome } from '../../errors.ts';
import { isLocked } from '../../files/folder-lock.ts';
import { isPaid, isTask, kindOf, rowsOf } from '../kinds.ts';
import { exact, toCostAtMost, toWorstCase } from '../spending.ts';
import { isComplete, readChainFrom } from './chain.ts';
import { excludedIn, type Intent, type JournalEntry, lastOf } from './entries.ts';
import type { Begun } from './index-lines.ts';
import { countStoredLeads, type LeadCounts } from './leads.ts';
import type { IndexContext } from './operation-index.ts';
import { damagedKind, openIndex } from './operation-index.ts';
import { countRows, hasRows } from './rows.ts';
import { folderOf, readOperation, type StoredOperation, toDamageLine } from './stored.ts';

/**
 * The state of a purchase. `unknown`: sent, but no answer arrived. `interrupted`: stopped before its end; what arrived is
 * kept. `dropped`: the same, and it is not gone on with. `damaged`: its journal can't be read.
 */
export type PurchaseState =
  | 'complete'
  | 'partial'
  | 'failed'
  | 'unknown'
  | 'running'
  | 'interrupted'
  | 'dropped'
  | 'damaged';

type Known = ReturnType<typeof toHistoryRecord>;
type Damaged = { readonly operation_id: string } & typeof damaged;

/** A line of `history list`; null is what this machine does not know. */
export type HistoryRecord = { readonly [Name in keyof Known]: Known[Name] | Damaged[Name] };

/** A purchase whose journal can be read. Its cost is its own, also where another has brought the rest. */
export interface KnownPurchase {
  readonly record: HistoryRecord;
  readonly intent: Intent;
}

export type HistoryEntry = KnownPurchase | { readonly record: HistoryRecord; readonly damage: string };

export interface HistoryRange {
  /** Unless it is given, the oldest comes first. */
  readonly newestFirst?: boolean | undefined;
  readonly since?: Date | undefined;
}

/** The purchases of this machine, read one by one: there may be very many. One that can't be read hides no other. Throws LocalIoError. */
export async function* readHistory(
  context: IndexContext,
  { newestFirst = false, since }: HistoryRange = {},
): AsyncGenerator<HistoryEntry> {
  const { state } = context.directories;
  const { newest } = await openIndex(context);
  // Whoever wants the newest alone looks at no others.
  const wanted = function* (): Generator<string> {
    for (const line of newest()) {
      if (!('begun' in line) || !isPurchase(line.begun)) continue;
      if (since === undefined || Date.parse(line.begun.time) >= since.getTime()) yield line.begun.op;
    }
  };
  for (const operationId of newestFirst ? wanted() : [...wanted()].reverse()) {
    try {
      const operation = await readOperation(state, operationId);
      if (operation === undefined) continue;
      yield { record: await readHistoryRecord(state, operation), intent: operation.entries[0] };
    } catch (error) {
      if (!(error instanceof LeadpipeError)) throw error;
      yield { record: { operation_id: operationId, ...damaged }, damage: toDamageLine(error) };
    }
  }
}

/** How a purchase stands now: a search whose rest another has brought to its end is complete. */
export async function readHistoryRecord(
  stateDir: string,
  operation: StoredOperation,
): Promise<HistoryRecord> {
  const folder = folderOf(stateDir, operation.operationId);
  const [{ command }] = operation.entries;
  const terminal = lastOf(operation.entries, 'terminal');
  // Earlier versions counted the rows of a list as often as they stood in the input.
  const isUncounted = rowsOf(command) !== undefined && terminal?.sent_rows === undefined && hasRows(folder);
  // Leads are stored before they are printed, and counted by the journal a little later.
  const stored = terminal === undefined || isUncounted ? await countStored(folder, command) : nothing;
  const record = toHistoryRecord(operation, isLocked(folder), stored);
  const last = (await readChainFrom(stateDir, operation)).at(-1) ?? operation;
  return last !== operation && isComplete(last) ? { ...record, state: 'complete' } : record;
}

/** Whether an operation can cost credits: a single purchase, or a list of them. */
function isPurchase({ key, kind }: Begun): boolean {
  return key !== undefined || kindOf(kind)?.keeps === 'rows' || kind === damagedKind;
}

async function countStored(folder: string, command: string): Promise<Stored> {
  try {
    if (rowsOf(command) === undefined) return await countStoredLeads(folder);
    const { answered, sent } = await countRows(folder);
    return { delivered: answered, excluded: 0, sent };
  } catch {
    return nothing;
  }
}

/** `sent` rows may have been charged. */
type Stored = LeadCounts & { readonly sent?: number };

const nothing: Stored = { delivered: 0, excluded: 0 };

/** Pure: how a purchase stands; `isRunning` when a process has it, `stored` leads beside the journal of one that is not over. */
function toHistoryRecord({ operationId, entries }: StoredOperation, isRunning: boolean, stored = nothing) {
  const [intent] = entries;
  const terminal = lastOf(entries, 'terminal');
  const failed = lastOf(entries, 'failed');
  const batch = lastOf(entries, 'batch');
  const created = lastOf(entries, 'created');
  const excluded = Math.max(excludedIn(entries), stored.excluded);
  const delivered = Math.max(batch?.delivered ?? 0, stored.delivered);
  const arrived = Math.max(delivered, isTask(intent.command) ? 0 : (terminal?.leads ?? 0));
  const brought = arrived + (isTask(intent.command) ? 0 : excluded);
  const state: PurchaseState = isRunning ? 'running' : toState(entries, brought);
  const leads = terminal?.leads ?? (brought > 0 ? delivered : (batch?.delivered ?? toPageCount(entries)));
  const charged = terminal?.charged ?? failed?.charged ?? toCharged(entries, brought);
  const isFree = intent.origin === 'local';
  const counted = { charged, excluded: intent.asked === undefined ? null : excluded, leads, state };
  // Of lists that earlier versions have brought to their end, and whose rows are not kept any more, those with an answer.
  const sentRows = terminal?.sent_rows ?? stored.sent ?? leads ?? 0;
  return {
    operation_id: operationId,
    time: intent.time,
    command: toCommandWords(intent),
    state,
    leads,
    leads_search_id: created?.leads_search_id ?? batch?.leads_search_id ?? intent.leads_search_id ?? null,
    request_id:
      created?.request_id ??
      batch?.request_id ??
      lastOf(entries, 'answered')?.request_id ??
      failed?.request_id ??
      null,
    idempotency_key: intent.idempotency_key ?? null,
    charged: isFree ? ('no' as const) : charged,
    /** The balance before and after, where it was asked for; what else the account did meanwhile is in it too. */
    credits_before: intent.credits_before ?? null,
    credits_after: lastOf(entries, 'balance')?.credits ?? null,
    output: intent.output,
    list: intent.list ?? null,
    /** How many leads were dropped here, where only new ones were wanted: they arrived, and are charged, once more. */
    excluded: counted.excluded,
    subject: toSubject(intent),
    credits_at_most: isFree ? 0 : costOf(counted, intent, sentRows),
    /** The address, or `local`, which costs nothing. */
    service: intent.origin,
    stop_reason: terminal?.stop_reason ?? null,
  };
}

/** What decides what a purchase has cost. */
interface Counted {
  readonly charged: Charged | null;
  readonly excluded: number | null;
  readonly leads: number | null;
  readonly state: PurchaseState;
}

/** Pure: the credits that a purchase has cost at most; null where no price was known. */
export function costOf(
  { charged, excluded, leads, state }: Counted,
  { command, body = '{}', worst_case }: Intent,
  sentRows = 0,
): number | null {
  // Each row that was sent may have cost what one costs at most.
  if (rowsOf(command) !== undefined) return worst_case == null ? null : exact(worst_case * sentRows);
  if (!isPaid(command)) return null;
  const request = JSON.parse(body);
  // Journals of earlier versions have no worst case; that of a plain search needs no price.
  const worst = worst_case === undefined ? toWorstCase(command, request, {}).credits : worst_case;
  // What was dropped here arrived, and is paid for.
  const arrived = leads === null ? null : leads + (excluded ?? 0);
  return toCostAtMost(command, request, worst, { charged, leads: arrived, complete: state === 'complete' });
}

function toState(entries: StoredOperation['entries'], brought: number): PurchaseState {
  const [{ command }] = entries;
  const terminal = lastOf(entries, 'terminal');
  if (terminal?.dropped) return 'dropped';
  if (terminal !== undefined) return states[terminal.outcome] ?? (brought > 0 ? 'partial' : 'failed');
  if (lastOf(entries, 'created') !== undefined || brought > 0) return 'interrupted';
  return lastOf(entries, 'sent') === undefined && !isTask(command) ? 'interrupted' : 'unknown';
}

const states: { readonly [End in Outcome]?: PurchaseState } = {
  complete: 'complete',
  partial: 'partial',
  interrupted: 'interrupted',
  terminated: 'interrupted',
  reader_closed: 'interrupted',
};

/** What is known of the money where nothing was said of it. */
function toCharged(entries: StoredOperation['entries'], brought: number): Charged | null {
  const [{ command }] = entries;
  const terminal = lastOf(entries, 'terminal');
  if (isTask(command)) {
    if (lastOf(entries, 'created') !== undefined) return null;
    return terminal !== undefined || lastOf(entries, 'sent') === undefined ? 'no' : 'maybe';
  }
  if (brought > 0) return 'yes';
  return lastOf(entries, 'sent') === undefined ? 'no' : 'maybe';
}

function toPageCount(entries: readonly JournalEntry[]): number | null {
  const pages = entries.filter((entry) => entry.type === 'page');
  if (pages.length === 0) return null;
  // A page that was read again counts once.
  const counts = new Map(pages.map(({ pts, count, excluded = 0 }) => [pts, count - excluded]));
  return [...counts.values()].reduce((sum, count) => sum + count, 0);
}

/** What it is about stands beside the name, as the user gave it. */
export function toCommandWords(intent: Intent): string {
  const about = saidIn(intent, 'subject');
  return about === undefined ? intent.command : `${intent.command} ${about}`;
}

/** UTF-16 code units. */
const longestSubject = 200;

/** Pure: what a purchase is about, all of it as the user gave it. */
export function aboutOf(intent: Intent): string | undefined {
  return saidIn(intent, 'about');
}

export function toSubject(intent: Intent): string | null {
  const said = aboutOf(intent);
  if (said === undefined) return null;
  const line = said
    .slice(0, 4 * longestSubject)
    .replace(/\s+/g, ' ')
    .trim();
  if (line.length <= longestSubject) return line;
  return `${line
    .slice(0, longestSubject - 1)
    .toWellFormed()
    .replace(/\ufffd$/, '')
    .trimEnd()}…`;
}

function saidIn({ command, body = '{}', options }: Intent, what: 'subject' | 'about'): string | undefined {
  const name = kindOf(command)?.[what] ?? '';
  const said = { ...options, ...JSON.parse(body) }[name];
  return said === undefined ? undefined : String(said);
}

/** What is known of a purchase whose journal can't be read. */
const damaged = {
  time: null,
  command: null,
  state: 'damaged',
  leads: null,
  leads_search_id: null,
  request_id: null,
  idempotency_key: null,
  charged: null,
  credits_before: null,
  credits_after: null,
  output: null,
  list: null,
  excluded: null,
  subject: null,
  credits_at_most: null,
  service: null,
  stop_reason: null,
} as const;

/** The members of a record, in the order of its columns. */
export const historyMembers = ['operation_id', ...Object.keys(damaged)];
