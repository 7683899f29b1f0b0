import type { CreateTaskRequest } from '../../contract/types.ts';
import type { Intent, JournalEntry } from '../journal/entries.ts';
import { excludedIn } from '../journal/entries.ts';
import type { StoredOperation } from '../journal/stored.ts';
import { kindOf } from '../kinds.ts';

type Entry<Type extends JournalEntry['type']> = Extract<JournalEntry, { readonly type: Type }>;

/** How far a `task run` or `task wait` has come. */
export interface TaskProgress {
  readonly intent: Intent;
  /** Undefined while the answer to its creation has not been seen. */
  readonly leadsSearchId: string | undefined;
  readonly requestId: string | undefined;
  /** The first position of the output. */
  readonly start: number;
  /** The next position. */
  readonly position: number;
  /** How many of the leads in front of it were dropped. */
  readonly excluded: number;
  /** The first position of the last page: where to go on for a reader who may not have had all of it. */
  readonly lastPage: number;
  /** Bytes of the output that count; undefined where it has no length, or may not have been opened. */
  readonly outputLength: number | undefined;
  /** Of which columns were made. */
  readonly enrichFields: readonly string[] | undefined;
  /** Set when only the name of the output may be missing. */
  readonly written: Entry<'written'> | undefined;
  readonly terminal: Entry<'terminal'> | undefined;
}

/** Pure. */
export function toTaskProgress({ entries }: StoredOperation): TaskProgress {
  const [begun] = entries;
  const last = <Type extends JournalEntry['type']>(
    type: Type,
    some: readonly JournalEntry[] = entries,
  ): Entry<Type> | undefined => some.findLast((entry): entry is Entry<Type> => entry.type === type);
  const restarted = last('restarted');
  const intent = restarted === undefined ? begun : { ...begun, options: restarted.options };
  const counted: readonly JournalEntry[] =
    restarted === undefined ? entries : entries.slice(entries.indexOf(restarted));
  const start = Number(intent.options.pts ?? 0);
  const page = last('page', counted);
  const place = counted.findLast(({ type }) => type === 'page' || type === 'opened');
  return {
    intent,
    leadsSearchId: intent.leads_search_id ?? last('created')?.leads_search_id,
    requestId: last('created')?.request_id ?? undefined,
    start,
    position: page?.next ?? start,
    excluded: excludedIn(counted),
    lastPage: page?.pts ?? start,
    outputLength: (place as Entry<'page' | 'opened'> | undefined)?.output_length ?? undefined,
    enrichFields: counted.find((entry): entry is Entry<'page'> => entry.type === 'page')?.enrich_fields,
    written: last('written', counted),
    // Whoever reads no more has what it wanted, and can ask for more all the same.
    terminal: last(
      'terminal',
      entries.filter((entry) => !('outcome' in entry) || entry.outcome !== 'reader_closed'),
    ),
  };
}

export function isResumable({ command }: Intent): boolean {
  return kindOf(command)?.goesOn === 'resume';
}

/** Pure: the creation to send again, with the same key and the same bytes; undefined when nothing was bought. */
export function purchaseOf({ idempotency_key, body }: Intent):
  | {
      readonly idempotencyKey: string;
      readonly request: CreateTaskRequest;
    }
  | undefined {
  if (idempotency_key === undefined || body === undefined) return undefined;
  return { idempotencyKey: idempotency_key, request: JSON.parse(body) as CreateTaskRequest };
}
