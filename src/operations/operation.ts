import { basename } from 'node:path';
import { leadLimitOf } from '../contract/limits.ts';
import type { TaskState } from '../contract/types.ts';
import type { Charged, Outcome } from '../errors.ts';
import type { Addition } from '../files/addition.ts';
import type { EndOfRun, EntryOf, Intent, JournalEntry } from './journal/entries.ts';
import type { Entries } from './journal/journal-file.ts';
import { isTask, kindOf, rowsOf } from './kinds/kinds.ts';
import { type Cost, nothing, sumOf, times } from './prices.ts';
import { countOf } from './wording.ts';

/** What resuming it means: the same purchase is resumed, the rest is bought, or there is nothing to resume. */
export type Resumes = 'itself' | 'rest' | 'no';

/** One purchase of an operation. A search that was cut has several: the first, and one for each rest. */
export interface Part {
  readonly idempotencyKey: string;
  /** Exactly what is sent. */
  readonly body: string;
  /** The most that it can cost. */
  readonly worst: Cost;
  /** Whether the service may have received it, and when it was sent. */
  isSent: boolean;
  sentAt: string | undefined;
  leadsSearchId: string | undefined;
  /** How many records it has received alone; undefined while the journal does not say it. */
  received: number | undefined;
  /** How it ended; undefined while it has not. */
  outcome: Outcome | undefined;
  charged: Charged | undefined;
}

/** What shapes the output. It is stored, so that a later run can print the output in the same form. */
export type OutputTerms = Pick<Intent, 'output' | 'options'>;

/** What an operation is, and how far it has got. All questions about a journal are answered here. */
export type Operation = ReturnType<typeof fold>;

/** What the runs of an operation have received so far. */
interface Progress {
  /** Of the task, or of the search; undefined until the service has sent it. */
  leadsSearchId: string | undefined;
  /** Whether the service has sent the ID of the task or the search. */
  isNamed: boolean;
  requestId: string | undefined;
  /** Records that were delivered, and that were dropped on this machine, as far as the journal says it. The service has sent both. */
  delivered: number;
  excluded: number;
  /** How many records were certainly written to standard output. */
  printed: number;
  /** For a task: its first position and the next one, by the pages that are stored. */
  readonly start: number;
  position: number;
  /** Whether the journal has counted what arrived, even if that was nothing. */
  hasCounts: boolean;
  state: TaskState | undefined;
  readyCount: number | undefined;
  stopReason: string | undefined;
  /** Everything has arrived, and is stored. */
  isAnswered: boolean;
}

/** Pure: an operation, from all entries of its own journal. Its folder is named after it. */
export function fold(folder: string, entries: Entries) {
  const [intent] = entries;
  const { command } = intent;
  const isList = rowsOf(command) !== undefined;
  const isSearch = command === 'search';
  const start = Number(intent.options.pts ?? 0);
  const progress: Progress = {
    leadsSearchId: intent.leads_search_id,
    isNamed: false,
    requestId: undefined,
    delivered: 0,
    excluded: 0,
    printed: 0,
    start,
    position: start,
    hasCounts: false,
    state: undefined,
    readyCount: undefined,
    stopReason: undefined,
    isAnswered: false,
  };
  const hasPart = intent.idempotency_key !== undefined || intent.unrecorded === true;
  const parts: Part[] = hasPart ? [toPart(intent)] : [];
  /** What parts before the last one have received, and how the operation had ended then. */
  let before = { received: 0, end: undefined as EntryOf<'terminal'> | undefined };
  let [isSent, isComplete, isDropped] = [false, false, false];
  /** How it ended, if nothing is left to do. */
  let end: EntryOf<'terminal'> | undefined;
  /** How its last request ended, if it did so without an answer. */
  let failed: EntryOf<'failed'> | undefined;
  let creditsAfter: number | undefined;
  /** Of a list: how many rows were sent when its last run ended, how that ended, and whether a run has not ended. */
  let sentRows = 0;
  let endOfRun: EndOfRun = {};
  let isOpen = true;
  let countedAt = intent.time;
  const files: string[] = [];
  const additions: Addition[] = [];

  const take = (entry: JournalEntry): void => {
    const part = parts.at(-1);
    switch (entry.type) {
      case 'intent':
        break;
      case 'rest':
        before = { received: entry.delivered + entry.excluded, end };
        if (part !== undefined) part.received ??= before.received - receivedBefore(parts);
        Object.assign(progress, { delivered: entry.delivered, excluded: entry.excluded, hasCounts: true });
        end = undefined;
        countedAt = entry.time;
        parts.push(toPart(entry));
        break;
      case 'sent':
        isSent = true;
        if (part !== undefined) Object.assign(part, { isSent: true, sentAt: entry.time });
        break;
      case 'created':
        progress.leadsSearchId = entry.leads_search_id;
        if (part !== undefined) part.leadsSearchId ??= entry.leads_search_id;
        progress.isNamed = true;
        progress.requestId = entry.request_id ?? progress.requestId;
        break;
      case 'page': {
        const { count, excluded = 0, next, ready_count, state } = entry;
        progress.delivered += count - excluded;
        progress.excluded += excluded;
        progress.hasCounts = true;
        progress.position = next;
        progress.state = state ?? progress.state;
        progress.readyCount = ready_count;
        break;
      }
      case 'answered':
        progress.isAnswered = true;
        progress.requestId = entry.request_id ?? progress.requestId;
        progress.state = entry.state ?? progress.state;
        progress.readyCount = entry.ready_count ?? progress.readyCount;
        progress.stopReason = entry.stop_reason ?? undefined;
        break;
      case 'printed':
        progress.printed = entry.records;
        break;
      case 'part':
        files.push(entry.file);
        break;
      case 'adding':
        additions.push(entry);
        break;
      case 'placed':
        files.length = 0;
        break;
      case 'failed':
        progress.requestId ??= entry.request_id ?? undefined;
        failed = entry;
        break;
      case 'balance':
        creditsAfter = entry.credits;
        break;
      // What this can cost is added up by the index.
      case 'reserved':
        isOpen = true;
        endOfRun = {};
        // A list that had ended in part has another run, which may stop early.
        if (isList) end = undefined;
        countedAt = entry.time;
        break;
      case 'spent':
        isOpen = false;
        sentRows = entry.sent_rows ?? sentRows;
        endOfRun = entry;
        break;
      case 'terminal':
        takeEnd(entry, part);
        break;
      default:
        entry satisfies never;
    }
  };

  function takeEnd(entry: EntryOf<'terminal'>, part: Part | undefined): void {
    const { charged, dropped, excluded = progress.excluded, leads, outcome } = entry;
    isOpen = false;
    sentRows = entry.sent_rows ?? sentRows;
    endOfRun = entry;
    if (part !== undefined) Object.assign(part, { outcome, charged });
    // The rest was refused at no cost: the earlier end stays.
    if (parts.length > 1 && outcome !== 'complete' && charged === 'no' && !dropped) {
      end = before.end;
      return;
    }
    if (leads !== undefined) {
      Object.assign(progress, { delivered: leads, excluded, hasCounts: true });
      if (part !== undefined) part.received = leads + excluded - before.received;
    }
    progress.state = entry.state ?? progress.state;
    progress.readyCount = entry.ready_count ?? progress.readyCount;
    progress.stopReason = entry.stop_reason ?? progress.stopReason;
    isComplete ||= outcome === 'complete';
    isDropped ||= dropped === true;
    end = entry;
  }

  for (const entry of entries) take(entry);

  const hasReceived = progress.delivered + progress.excluded > 0;
  const isFreeEnd = end !== undefined && end.outcome !== 'complete' && end.charged === 'no';
  /** Something was sent, and was not refused at no cost. */
  const isBegun = isSent && !isFreeEnd;
  /** The reader of its output went away: it had what it wanted, and can still ask for more. */
  const isReaderGone = end?.outcome === 'reader_closed';
  const last = parts.at(-1);
  const isInDoubt =
    last?.isSent === true &&
    last.outcome === undefined &&
    last.leadsSearchId === undefined &&
    !progress.isAnswered;

  function toResumes(): Resumes {
    if (isDropped || intent.unrecorded || kindOf(command)?.isResumable !== true) return 'no';
    if (isSearch) {
      const hasSome = progress.isNamed || hasReceived || parts.length > 1;
      return parts.length > 0 && isBegun && !isComplete && hasSome ? 'rest' : 'no';
    }
    if (isList) return end?.outcome === 'complete' ? 'no' : 'itself';
    return end === undefined || isReaderGone ? 'itself' : 'no';
  }

  const operation = {
    operationId: basename(folder),
    folder,
    intent,
    /** All entries of its journal; a run adds to them. */
    entries,
    /** The output for which it was begun. */
    terms: { output: intent.output, options: intent.options } as OutputTerms,
    resumes: toResumes(),
    progress: progress as Readonly<Progress>,
    end,
    failed,
    /** The balance after it, if it was asked for. */
    creditsAfter,
    /** Whether its cost does not change any more, since the service has ended all of it. */
    isSettled: parts.length > 0 && parts.every((part) => isSettled(command, part)),
    /** Its purchases, in their order; none for what is free, and for a list, whose rows are purchases. */
    parts: parts as readonly Readonly<Part>[],
    /** The temporary output files of its runs, which may still exist. */
    files: files as readonly string[],
    /** Rows that its runs have added to files, or were about to. */
    additions: additions as readonly Addition[],
    isSearch,
    /** For a list: the rows sent and the outcome at the last recorded end of a run; and whether a later run was killed, or is active. */
    sentRows,
    endOfRun,
    isRunOpen: isList && isOpen,
    /** When its possible cost was last counted for a day. */
    countedAt,
    /** Whether the service may have received something of it. */
    isSent,
    isComplete,
    /** The user does not want the rest. */
    isDropped,
    /** The last request was sent, and nothing is known of its answer. */
    isInDoubt,
    isBegun,
    /** It ended before it could cost anything. */
    isRefused: end !== undefined && !isBegun,
    isReaderGone,
  };
  return operation;
}

/** Pure: the records that all parts but the last have received. */
function receivedBefore(parts: readonly Part[]): number {
  return parts.slice(0, -1).reduce((sum, { received = 0 }) => sum + received, 0);
}

function toPart(entry: Intent | EntryOf<'rest'>): Part {
  const { idempotency_key = '', body = '', worst_case = nothing } = entry;
  return {
    idempotencyKey: idempotency_key,
    body,
    worst: worst_case,
    isSent: false,
    sentAt: undefined,
    leadsSearchId: undefined,
    received: undefined,
    outcome: undefined,
    charged: undefined,
  };
}

/** Pure: how many leads, items, answers or rows of a list an operation has received; undefined where it has none. */
export function toReceived(
  { intent: { command }, progress }: Pick<Operation, 'intent' | 'progress'>,
  count = progress.delivered,
): string | undefined {
  if (kindOf(command)?.prints === 'single') return progress.isAnswered ? countOf(1, 'answer') : undefined;
  const kind = rowsOf(command) ?? command;
  const unit = kind === 'extract' ? 'item' : kind === command ? 'lead' : 'row';
  return count === 0 ? undefined : countOf(count, unit);
}

/**
 * Pure: the maximum cost of an operation over all its runs, as written into its last entry; no other code computes it. `sentRows`: rows of a list
 * that may have been charged. By the interface, only searches and tasks are charged by their results; all others count with their worst case,
 * unless nothing was charged.
 */
export function costOf(
  { intent, parts, sentRows: known }: Pick<Operation, 'intent' | 'parts' | 'sentRows'>,
  sentRows = known,
): Cost {
  const { command, worst_case = nothing } = intent;
  // Each row that was sent may have cost as much as a row can.
  if (rowsOf(command) !== undefined) return times(worst_case, sentRows);
  return sumOf(parts.map((part) => costOfPart(command, part)));
}

/** Pure: whether the service charges a search or task for what has come of it. A task that ended in error (`partial`) has ended, too. */
function isSettled(command: string, { outcome, received }: Part): boolean {
  if (received === undefined || (command !== 'search' && !isTask(command))) return false;
  return outcome === 'complete' || (outcome === 'partial' && isTask(command));
}

function costOfPart(command: string, part: Part): Cost {
  const { body, charged, isSent, received = 0, worst } = part;
  if (charged === 'no' || !isSent) return nothing;
  if (!isSettled(command, part)) return worst;
  return times(worst, Math.min(1, received / leadLimitOf(JSON.parse(body))));
}
