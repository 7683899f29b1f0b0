import type { StoreContext } from '../../context.ts';
import { type Charged, LeadpipeError, type Outcome } from '../../errors.ts';
import { isLocked } from '../../files/folder-lock.ts';
import type { Intent } from '../journal/entries.ts';
import type { Begun } from '../journal/index-lines.ts';
import { createReader, damagedKind } from '../journal/operation-index.ts';
import { countReceived } from '../journal/received.ts';
import { isTask, kindOf, rowsOf } from '../kinds/kinds.ts';
import { countAnswers } from '../kinds/list-outcome.ts';
import { readOperation, toDamageLine } from '../known-operations.ts';
import { costOf, type Operation } from '../operation.ts';
import { creditsOf } from '../prices.ts';
import { shortened } from '../wording.ts';

/**
 * The state of a purchase. `partial`: it ended, and there is more. `unknown`: sent, but no answer arrived. `interrupted`: it stopped early; what
 * arrived is stored. `dropped`: the same, but it is not resumed. `lost`: the service no longer knows its task. `damaged`: its journal can't be read.
 */
export type PurchaseState =
  | 'complete'
  | 'partial'
  | 'failed'
  | 'unknown'
  | 'running'
  | 'interrupted'
  | 'dropped'
  | 'lost'
  | 'damaged';

type Known = ReturnType<typeof toHistoryRecord>;

/** A line of `history list`; null for what this machine does not know. */
export type HistoryRecord = { readonly [Name in keyof Known]: Known[Name] | Damaged[Name] };

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
  rows_done: null,
  rows_total: null,
  found: null,
  not_found: null,
} as const;
type Damaged = { readonly operation_id: string } & typeof damaged;

/** The members of a record, in the order of its columns. */
export const historyMembers = ['operation_id', ...Object.keys(damaged)];

/** A purchase whose journal can be read. */
export interface KnownPurchase {
  readonly record: HistoryRecord;
  readonly intent: Intent;
  readonly isSettled?: boolean;
}

export type HistoryEntry = KnownPurchase | { readonly record: HistoryRecord; readonly damage: string };

/**
 * The purchases of this machine, newest first. They are read one by one, since there may be very many; one that can't be read does not hide
 * the others. Throws LocalIoError.
 */
export async function* readHistory(context: StoreContext, since?: Date): AsyncGenerator<HistoryEntry> {
  const { journals, openIndex } = createReader(context);
  for (const line of (await openIndex()).newest()) {
    if (line.is !== 'begun' || !isPurchase(line)) continue;
    const { op, time } = line;
    if (since !== undefined && !(Date.parse(time) >= since.getTime())) continue;
    try {
      const operation = await readOperation(journals, op);
      if (operation === undefined) continue;
      yield await toKnownPurchase(operation);
    } catch (error) {
      if (!(error instanceof LeadpipeError)) throw error;
      yield { record: { operation_id: op, ...damaged }, damage: toDamageLine(error) };
    }
  }
}

export async function toKnownPurchase(operation: Operation): Promise<KnownPurchase> {
  const { intent, isSettled } = operation;
  return { record: await readHistoryRecord(operation), intent, isSettled };
}

/** Whether an operation can cost credits: a single purchase, or a list of them. */
export function isPurchase({ key, kind }: Pick<Begun, 'key' | 'kind'>): boolean {
  return key !== undefined || kindOf(kind)?.keeps === 'rows' || kind === damagedKind;
}

/** Pure: how many leads, items or answers have arrived. */
export function receivedOf({ found, leads, not_found }: HistoryRecord): number {
  return leads ?? (found ?? 0) + (not_found ?? 0);
}

/** The history record of an operation, with its present state. */
export async function readHistoryRecord(operation: Operation): Promise<HistoryRecord> {
  const stored = await countStored(operation).catch(() => nothing);
  return toHistoryRecord(operation, isLocked(operation.folder), stored);
}

const nothing = { delivered: 0, excluded: 0 };

/** Counts what is stored beside the journal, of what has not ended. `sent`: rows that may have been charged. */
async function countStored({ folder, intent: { command }, end }: Operation): Promise<Stored> {
  if (end !== undefined) return nothing;
  const kind = rowsOf(command);
  // Leads are stored before they are printed, and the journal counts them a little later.
  if (kind === undefined) return await countReceived(folder);
  const { leads, found, not_found: notFound, sent_rows: sent } = await countAnswers(kind, folder);
  return { delivered: leads, excluded: 0, sent, found, notFound };
}

interface Stored {
  readonly delivered: number;
  readonly excluded: number;
  readonly sent?: number;
  readonly found?: number;
  readonly notFound?: number;
}

/** Pure: the state of a purchase; `isRunning` while a process works on it. */
function toHistoryRecord(operation: Operation, isRunning: boolean, stored: Stored) {
  const { creditsAfter, end, endOfRun, failed, intent, isDropped, isSent, operationId, progress, resumes } =
    operation;
  const ofTask = isTask(intent.command);
  const excluded = Math.max(progress.excluded, stored.excluded);
  const delivered = Math.max(progress.delivered, stored.delivered);
  const received = Math.max(delivered, end?.leads ?? 0) + excluded;
  const leads = end?.leads ?? (received > 0 || progress.hasCounts ? delivered : null);

  /** Of a list that has not ended, its rows say whether something was sent. */
  const wasSent = stored.sent === undefined ? isSent : stored.sent > 0;

  function toState(): PurchaseState {
    if (isRunning) return 'running';
    if (isDropped) return 'dropped';
    if (end?.outcome === 'not_found' && progress.isNamed) return 'lost';
    if (end !== undefined) {
      const none = end.outcome === 'unknown' ? 'unknown' : 'failed';
      const known = states[end.outcome];
      // Nothing resumes what was stopped before it could cost anything.
      if (known === 'interrupted' && resumes === 'no') return none;
      return known ?? (received > 0 && !ofTask ? 'partial' : none);
    }
    // Only its first rows were wanted.
    if (endOfRun.done_rows !== undefined) return states[endOfRun.outcome ?? 'partial'] ?? 'partial';
    if (progress.isNamed || received > 0) return 'interrupted';
    if (wasSent || ofTask) return 'unknown';
    return resumes === 'no' ? 'failed' : 'interrupted';
  }

  /** What is known about the cost where the journal does not say it. */
  function toCharged(): Charged | null {
    if (ofTask && progress.isNamed) return null;
    if (!ofTask && received > 0) return 'yes';
    return !wasSent || (ofTask && end !== undefined) ? 'no' : 'maybe';
  }

  const isFree = intent.origin === 'local';
  const charged = end?.charged ?? failed?.charged ?? toCharged();
  const state = toState();
  /** How many leads were dropped on this machine because they were not new: they arrived, and are charged again. */
  const dropped = intent.requested === undefined ? null : excluded;
  return {
    operation_id: operationId,
    time: intent.time,
    command: toCommandWords(intent),
    state,
    // Answers are no leads.
    leads: isLookup(intent.command) ? null : leads,
    leads_search_id: progress.leadsSearchId ?? null,
    request_id: progress.requestId ?? null,
    idempotency_key: intent.idempotency_key ?? null,
    charged: isFree ? ('no' as const) : charged,
    /** The balance before and after, if it was asked for. It includes everything else that the account did meanwhile. */
    credits_before: intent.credits_before ?? null,
    credits_after: creditsAfter ?? null,
    output: intent.output,
    list: intent.list ?? null,
    excluded: dropped,
    subject: toSubject(intent),
    credits_at_most: isFree ? 0 : creditsOf(costOf(operation, stored.sent)),
    /** The address of the service, or `local`, which costs nothing. */
    service: intent.origin,
    stop_reason: progress.stopReason ?? null,
    /** Of a list: the rows of its input that have ended, and all of them. */
    rows_done: endOfRun.done_rows ?? null,
    rows_total: endOfRun.all_rows ?? null,
    /** For lookups only: the number of answers with a result, and without one. */
    found: end?.found ?? stored.found ?? null,
    not_found: end?.not_found ?? stored.notFound ?? null,
  };
}

/** Whether it brings answers: neither leads nor items. */
function isLookup(command: string): boolean {
  const kind = kindOf(rowsOf(command) ?? command);
  return kind?.keeps === 'answer' && kind.prints === 'single';
}

const states: { readonly [End in Outcome]?: PurchaseState } = {
  complete: 'complete',
  partial: 'partial',
  interrupted: 'interrupted',
  terminated: 'interrupted',
  hung_up: 'interrupted',
  // It had what it wanted.
  reader_closed: 'partial',
};

/** The command with its subject, as the user gave it. */
export function toCommandWords(intent: Intent): string {
  const about = recordedIn(intent, 'subject');
  // A list is bought by the command of its rows.
  const command = rowsOf(intent.command) ?? intent.command;
  return about === undefined ? command : `${command} ${about}`;
}

export function toSubject(intent: Intent): string | null {
  const recorded = recordedIn(intent, 'about');
  return recorded === undefined ? null : shortened(recorded);
}

/** Pure: what the user asked for: all of it, or the part that is shown behind the name of the command. */
export function recordedIn(
  { command, body = '{}', options }: Intent,
  what: 'subject' | 'about',
): string | undefined {
  const name = kindOf(command)?.[what] ?? '';
  const recorded = { ...options, ...JSON.parse(body) }[name];
  return recorded === undefined ? undefined : String(recorded);
}
