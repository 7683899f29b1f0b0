import { basename } from 'node:path';
import type { Context } from '../context.ts';
import type { TaskState } from '../contract/types.ts';
import type { Charged, LeadpipeError, Outcome } from '../errors.ts';
import type { Addition } from '../files/addition.ts';
import type { HeldLock } from '../files/folder-lock.ts';
import type { EntryOf, Intent } from './journal/entries.ts';
import { folderOf, isOperationId, listOperations } from './journal/folders.ts';
import { type Journal, naming, openJournal } from './journal/journal.ts';
import {
  createJournals,
  type Entries,
  type Journals,
  readEntries,
  toUnknownOperation,
} from './journal/journal-file.ts';
import type { IndexContext } from './journal/operation-index.ts';
import { kindOf, rowsOf } from './kinds/kinds.ts';

/**
 * How far an operation is. `sent`: the request went out, and nothing is known of its answer. `received`: everything is here, but perhaps not
 * in its place. `placing`: rows are being added to a file.
 */
export type Phase = 'new' | 'sent' | 'receiving' | 'received' | 'placing' | 'ended';

/** What resuming it means: the same purchase is resumed, the rest is bought, or there is nothing to resume. */
export type Resumes = 'itself' | 'rest' | 'no';

/** One purchase of an operation: its only one or, where a search was cut, that of a part of it. */
export interface Part {
  readonly idempotencyKey: string;
  /** Exactly what is sent. */
  readonly body: string;
  /** The most that it can cost; null where that is not known. */
  readonly worstCase: number | null;
  /** Whether the service may have received it. */
  isSent: boolean;
  leadsSearchId: string | undefined;
  /** What this part alone has received: leads that were delivered, and that were dropped on this machine. */
  delivered: number;
  excluded: number;
  /** How it ended; undefined while it has not. */
  outcome: Outcome | undefined;
  charged: Charged | undefined;
}

/** What shapes the output. It is stored, so that a later run can continue the output in the same form. */
export type OutputTerms = Pick<Intent, 'output' | 'options'>;

/** What an operation is, and how far it has got. All questions about a journal are answered here. */
export type Operation = ReturnType<typeof fold>;

export type Progress = ReturnType<typeof createProgress>;

/** What the runs of an operation have received and written so far. A fresh run begins with this. */
function createProgress(intent: Intent) {
  const start = Number(intent.options.pts ?? 0);
  return {
    /** Of the task, or of the search; undefined while the service has not told it. */
    leadsSearchId: intent.leads_search_id,
    /** Whether this operation has got its ID from the service. */
    isNamed: false,
    requestId: undefined as string | undefined,
    /** Whether the one answer has arrived. */
    isAnswered: false,
    /** Leads that were delivered, and that were dropped on this machine. The service has sent both. */
    delivered: 0,
    excluded: 0,
    /** How many of the delivered leads were certainly in the output. */
    counted: 0,
    /** For a task: the first position of the output, the next position, and the first position of the last page. */
    start,
    position: start,
    lastPage: start,
    hasPage: false,
    /** Whether the journal has counted what arrived, even if that was nothing. */
    hasCounts: false,
    state: undefined as TaskState | undefined,
    readyCount: undefined as number | undefined,
    /** The enrich fields of the first page: the columns were made from them. */
    enrichFields: undefined as readonly string[] | undefined,
    /** Bytes of the output that are ours and on the disk; undefined where it has no length, or may not have been opened. */
    outputLength: undefined as number | undefined,
    /** Everything is on the disk, and only the file's name may be missing. */
    written: undefined as Written | undefined,
    /** The digest of the path of the output that was opened last; another one where it was resumed into another file. */
    output: intent.index.output,
    /** Whether the output was opened, and whether its rows have all been added to a file. */
    hasOpened: false,
    isAdded: false,
    /** Rows that are perhaps only partly added to a file. */
    adding: undefined as (Addition & { readonly rows?: string }) | undefined,
    /** How often rows were added, and the files that say which rows these are. */
    additions: 0,
    added: [] as readonly string[],
  };
}

interface Written {
  readonly state: TaskState | undefined;
  readonly readyCount: number | undefined;
  readonly outputLength: number | undefined;
  readonly stopReason: string | undefined;
}

/** How a request ended without an answer. `isGone`: the service does not send the answer again. */
export interface Failed {
  readonly outcome: Outcome;
  readonly message: string;
  readonly errorType: string | undefined;
  readonly requestId: string | undefined;
  readonly charged: Charged | undefined;
  readonly isGone: boolean;
}

/** There is nothing left to do. `sentRows`: of a list, the rows that may have been charged. */
export interface End {
  readonly outcome: Outcome;
  readonly state: TaskState | undefined;
  readonly readyCount: number | undefined;
  readonly charged: Charged | undefined;
  readonly leads: number | undefined;
  readonly stopReason: string | undefined;
  readonly sentRows: number | undefined;
}

/** Pure: an operation, from all entries of its own journal. Its folder is named after it. */
export function fold(folder: string, entries: Entries) {
  const [intent] = entries;
  let progress = createProgress(intent);
  let { options } = intent;
  let pages = new Map<number, EntryOf<'page'>>();
  let isSent = false;
  let isCounted = false;
  let isComplete = false;
  let isDropped = false;
  let end: End | undefined;
  let failed: Failed | undefined;
  let creditsAfter: number | undefined;
  let rows: string | undefined;
  /** Of a list: the rows that runs have sent which are settled, and whether one is not. */
  let sentBefore = 0;
  let isOpen = true;
  const parts: Part[] = [];
  /** What earlier parts have received, and how they had ended. */
  let before = { delivered: 0, excluded: 0, end };

  for (const entry of entries) {
    const part = parts.at(-1);
    switch (entry.type) {
      case 'intent':
        if (entry.idempotency_key !== undefined && entry.body !== undefined) parts.push(toPart(entry));
        break;
      case 'rest': {
        const { delivered, excluded } = entry;
        if (part !== undefined) {
          part.delivered += delivered - progress.delivered;
          part.excluded += excluded - progress.excluded;
        }
        before = { delivered, excluded, end };
        Object.assign(progress, { delivered, excluded, counted: delivered, hasCounts: true });
        // The rest counts for itself what it has printed.
        [isCounted, end, progress.written] = [false, undefined, undefined];
        parts.push(toPart(entry));
        break;
      }
      case 'sent':
        isSent = true;
        if (part !== undefined) part.isSent = true;
        progress.isAdded = false;
        break;
      case 'created':
        progress.leadsSearchId = entry.leads_search_id;
        if (part !== undefined) part.leadsSearchId ??= entry.leads_search_id;
        progress.isNamed = true;
        progress.requestId = entry.request_id ?? progress.requestId;
        break;
      case 'batch': {
        const { delivered, excluded = 0, output_length } = entry;
        progress.leadsSearchId = entry.leads_search_id ?? progress.leadsSearchId;
        progress.requestId = entry.request_id ?? progress.requestId;
        progress.delivered = before.delivered + delivered;
        progress.excluded = before.excluded + excluded;
        if (part !== undefined) {
          Object.assign(part, { delivered, excluded });
          part.leadsSearchId ??= entry.leads_search_id ?? undefined;
        }
        // If the last batch has no length, an earlier one does.
        if (output_length !== null || !isCounted) progress.counted = progress.delivered;
        isCounted ||= output_length !== null;
        progress.hasCounts = true;
        break;
      }
      case 'page': {
        pages.set(entry.pts, entry);
        const some = [...pages.values()];
        progress.excluded = some.reduce((sum, { excluded = 0 }) => sum + excluded, 0);
        progress.delivered = some.reduce((sum, { count }) => sum + count, 0) - progress.excluded;
        progress.enrichFields = progress.hasPage ? progress.enrichFields : entry.enrich_fields;
        progress.hasPage = true;
        progress.hasCounts = true;
        progress.position = entry.next;
        progress.lastPage = entry.pts;
        progress.state = entry.state ?? progress.state;
        progress.readyCount = entry.ready_count;
        progress.outputLength = entry.output_length ?? undefined;
        break;
      }
      case 'restarted':
        progress = toUnwritten(intent, progress);
        options = entry.options;
        pages = new Map();
        break;
      case 'opened':
        progress.hasOpened = true;
        progress.output = entry.output ?? intent.index.output;
        progress.isAdded = false;
        progress.adding = undefined;
        progress.outputLength = entry.output_length;
        rows = undefined;
        break;
      case 'written': {
        const { state, ready_count, output_length, stop_reason } = entry;
        progress.written = {
          state: state ?? undefined,
          readyCount: ready_count ?? undefined,
          outputLength: output_length ?? undefined,
          stopReason: stop_reason ?? undefined,
        };
        break;
      }
      case 'adding': {
        const { type: _, ...adding } = entry;
        progress.adding = adding;
        progress.additions++;
        rows = adding.rows;
        break;
      }
      case 'placed':
        progress.isAdded = true;
        progress.adding = undefined;
        if (rows !== undefined) progress.added = [...progress.added, rows];
        rows = undefined;
        break;
      case 'answered':
        progress.isAnswered = true;
        progress.requestId = entry.request_id ?? progress.requestId;
        break;
      case 'failed': {
        const { outcome, message, error_type, request_id, charged, gone } = entry;
        progress.requestId ??= request_id ?? undefined;
        failed = {
          outcome,
          message,
          errorType: error_type,
          requestId: request_id ?? undefined,
          charged: charged ?? undefined,
          isGone: gone === true,
        };
        break;
      }
      case 'balance':
        creditsAfter = entry.credits;
        break;
      // What these cost is added up by the index.
      case 'reserved':
        isOpen = true;
        break;
      case 'spent':
        isOpen = false;
        sentBefore = entry.sent_rows;
        break;
      case 'terminal': {
        const { charged, dropped, outcome } = entry;
        isOpen = false;
        sentBefore = entry.sent_rows ?? sentBefore;
        if (part !== undefined) Object.assign(part, { outcome, charged });
        // The rest was refused: what came before is as it was.
        if (parts.length > 1 && outcome !== 'complete' && charged === 'no' && !dropped) {
          end = before.end;
          break;
        }
        isComplete ||= outcome === 'complete';
        isDropped ||= dropped === true;
        end = {
          outcome,
          state: entry.state ?? undefined,
          readyCount: entry.ready_count ?? undefined,
          charged,
          leads: entry.leads,
          stopReason: entry.stop_reason ?? undefined,
          sentRows: entry.sent_rows,
        };
        break;
      }
      default:
        entry satisfies never;
    }
  }

  const { command } = intent;
  const isList = rowsOf(command) !== undefined;
  const isSearch = kindOf(command)?.keeps === 'leads';
  const hasReceived = progress.delivered + progress.excluded > 0;
  const isFreeEnd = end !== undefined && end.outcome !== 'complete' && end.charged === 'no';
  /** Something was sent, and was not refused at no cost. */
  const isBegun = isSent && !isFreeEnd;
  /** The reader of its output went away: it had what it wanted, and can still ask for more. */
  const isReaderGone = end?.outcome === 'reader_closed';
  const last = parts.at(-1);
  const isInDoubt =
    last?.isSent === true &&
    end === undefined &&
    last.outcome === undefined &&
    last.leadsSearchId === undefined &&
    last.delivered + last.excluded === 0 &&
    !progress.isAnswered;

  function toPhase(): Phase {
    if (end !== undefined) return 'ended';
    if (progress.adding !== undefined) return 'placing';
    if (progress.written !== undefined || progress.isAnswered) return 'received';
    if (progress.isNamed || progress.hasPage || hasReceived || (isList && isSent)) return 'receiving';
    return isSent ? 'sent' : 'new';
  }

  function toResumes(): Resumes {
    if (isDropped || intent.unrecorded || kindOf(command)?.isResumable !== true) return 'no';
    if (isSearch) {
      const hasSome = progress.isNamed || hasReceived || parts.length > 1;
      return parts.length > 0 && isBegun && !isComplete && hasSome ? 'rest' : 'no';
    }
    if (isList) return end?.outcome === 'complete' ? 'no' : 'itself';
    return end === undefined || isReaderGone ? 'itself' : 'no';
  }

  return {
    operationId: basename(folder),
    folder,
    intent,
    /** The output, as the last run asked for it. */
    terms: { output: intent.output, options } as OutputTerms,
    phase: toPhase(),
    resumes: toResumes(),
    progress: progress as Readonly<Progress>,
    end,
    failed,
    /** The balance after it, if it was asked for. */
    creditsAfter,
    /** Its purchases, in their order; none for what is free, and for a list, whose rows are purchases. */
    parts: parts as readonly Readonly<Part>[],
    isSearch,
    /** Of a list whose last run was killed: how many rows had been sent before it. */
    openRun: isList && isOpen ? { sentBefore } : undefined,
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
}

function toPart({ idempotency_key = '', body = '', worst_case = null }: Intent | EntryOf<'rest'>): Part {
  return {
    idempotencyKey: idempotency_key,
    body,
    worstCase: worst_case,
    isSent: false,
    leadsSearchId: undefined,
    delivered: 0,
    excluded: 0,
    outcome: undefined,
    charged: undefined,
  };
}

/** Pure: the progress without what was written: only what the service told is still true. */
function toUnwritten(intent: Intent, progress: Progress): Progress {
  const { leadsSearchId, isNamed, requestId, hasOpened, additions, added } = progress;
  return { ...createProgress(intent), leadsSearchId, isNamed, requestId, hasOpened, additions, added };
}

/** Pure: the progress of an operation whose output is written from the start. */
export function toRestarted({ intent, progress }: Operation): Progress {
  return toUnwritten(intent, progress);
}

/** Undefined where there is none. Throws ConfigurationError for a damaged one, LocalIoError. */
export async function readOperation(journals: Journals, operationId: string): Promise<Operation | undefined> {
  const entries = await readEntries(journals, operationId);
  return entries && fold(folderOf(journals.stateDir, operationId), entries);
}

/** As `readOperation`. Throws `not_found` where there is none. */
export async function readKnown(
  { directories }: Pick<Context, 'directories'>,
  operationId: string,
  journals: Journals = createJournals(directories.state),
): Promise<Operation> {
  const { state } = directories;
  const operation = isOperationId(operationId) ? await readOperation(journals, operationId) : undefined;
  if (operation !== undefined) return operation;
  throw toUnknownOperation(operationId, await listOperations(state));
}

/** Pure: one line that says what can't be read, and what to do about it. */
export function toDamageLine({ message, details: { hint } }: LeadpipeError): string {
  return hint === undefined ? message : `${message}. ${hint}`;
}

/**
 * Opens and locks the journal of an operation, to resume it, and says what the operation is. `journals` are those that were read before.
 * Throws as `openJournal`.
 */
export async function openOperation(
  context: IndexContext,
  operationId: string,
  output?: HeldLock,
  journals?: Journals,
): Promise<{ readonly journal: Journal; readonly operation: Operation }> {
  const { journal, entries } = await openJournal(context, operationId, output, journals?.known(operationId));
  return { journal, operation: fold(folderOf(context.directories.state, operationId), entries) };
}

/** Opens and locks the journal of an operation, and calls `work` with what it says. Throws what `openJournal` throws. */
export async function withOperation<T>(
  context: IndexContext,
  operationId: string,
  work: (journal: Journal, operation: Operation) => Promise<T>,
): Promise<T> {
  const { journal, operation } = await openOperation(context, operationId);
  try {
    return await work(journal, operation);
  } catch (error) {
    throw naming(error, operationId);
  } finally {
    await journal.close();
  }
}
