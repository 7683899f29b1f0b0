import { hash } from 'node:crypto';
import { type Charged, LeadpipeError } from '../errors.ts';
import type { JsonText } from '../json/text.ts';
import type { Buyer } from '../operations/buyer.ts';
import { type Earlier, findEarlier, toWanted } from '../operations/earlier.ts';
import { readAnswer } from '../operations/journal/answers.ts';
import { readChainTo } from '../operations/journal/chain.ts';
import { folderOf, type StoredOperation } from '../operations/journal/stored.ts';
import type { AnswerKind, BodyOf } from '../operations/kinds.ts';
import type { Order } from '../operations/purchase.ts';

/** What marks an operation that a tool began; others are for the command that began them to go on with. */
export const begunByTool = { tool: true } as const;

/** What the tools buy. */
export type ToolKind = 'search' | 'task create' | AnswerKind;

/** A request that is checked, and may cost. */
export interface Wanted<Kind extends ToolKind = ToolKind> {
  readonly kind: Kind;
  readonly body: BodyOf<Kind>;
  /** Whether what earlier searches of this machine brought is left out. */
  readonly onlyNew: boolean;
}

/** What a paid call came to. */
export interface Settled {
  /** The first of the operations that the records are kept under. */
  readonly operationId: string | undefined;
  readonly complete: boolean;
  readonly charged: Charged;
  /** Given again for nothing. */
  readonly stored: boolean;
  readonly idempotencyKey?: string | undefined;
  readonly requestId?: string | undefined;
  readonly leadsSearchId?: string | undefined;
  readonly stopReason?: string | undefined;
  /** Leads that came and are not new. */
  readonly excluded?: number | undefined;
  /** The one answer, as the service sent it. */
  readonly answer?: JsonText;
  /** Leads that came and could not be kept: they are here or nowhere. */
  readonly unkept?: readonly JsonText[];
  /** Why this is not all of it. */
  readonly error?: LeadpipeError;
  /** Where there is an error: whether this call has brought something all the same. */
  readonly hasBrought?: boolean;
  readonly warnings: readonly string[];
}

/** What a call does, by what earlier ones have bought or may have. */
export type Plan =
  | Buying
  /** Another process is at work on it: it is waited for. */
  | { readonly is: 'join' }
  | { readonly is: 'stored'; readonly settled: Settled }
  /** Its answer was lost, and the service has said that it does not give it again. */
  | { readonly is: 'lost'; readonly error: LeadpipeError };

/** What is left to do, where something is. */
export type Buying =
  | { readonly is: 'new' }
  /** Its answer was lost: it is sent again with its key, which the service never charges twice. */
  | { readonly is: 'repeat'; readonly first: StoredOperation; readonly last: StoredOperation }
  /** A search that was cut: only the rest is bought. */
  | {
      readonly is: 'rest';
      readonly first: StoredOperation;
      readonly last: StoredOperation;
      /** How many leads are missing. */
      readonly limit: number;
    };

/**
 * What a call does, by what is on the disk: this process may be another one than that of an earlier call. Throws LocalIoError,
 * ConfigurationError.
 */
export async function toPlan(buyer: Buyer, order: Order<ToolKind>): Promise<Plan> {
  const earlier = await findEarlier(buyer, toWanted(buyer, order));
  switch (earlier.is) {
    case 'running':
      return { is: 'join' };
    case 'stored':
      return { is: 'stored', settled: await toSettled(buyer, earlier) };
    case 'lost':
      return { is: 'lost', error: toLost(earlier) };
    case 'repeat':
      return { is: 'repeat', first: earlier.first, last: earlier.operation };
    case 'rest': {
      const { operation, rest } = earlier;
      const [first = operation] = await readChainTo(buyer.context, operation);
      return { is: 'rest', first, last: operation, limit: rest.request?.limit ?? 0 };
    }
    default:
      return { is: 'new' };
  }
}

async function toSettled(
  { context }: Buyer,
  { first, operation }: Extract<Earlier, { is: 'stored' }>,
): Promise<Settled> {
  let [requestId, leadsSearchId, stopReason]: (string | undefined)[] = [];
  for (const entry of operation.entries) {
    if (entry.type === 'created' || entry.type === 'batch')
      leadsSearchId = entry.leads_search_id ?? leadsSearchId;
    if (entry.type === 'terminal') stopReason = entry.stop_reason ?? undefined;
    if ('request_id' in entry) requestId = entry.request_id ?? requestId;
  }
  const { idempotency_key: idempotencyKey } = operation.entries[0];
  const { operationId } = first;
  const answer = await readAnswer(folderOf(context.directories.state, operationId));
  return {
    complete: true,
    charged: 'no',
    stored: true,
    warnings: [],
    operationId,
    idempotencyKey,
    requestId,
    leadsSearchId,
    stopReason,
    ...(answer === undefined ? {} : { answer }),
  };
}

/** The error that it ended with, once more. */
function toLost({ failed, operation }: Extract<Earlier, { is: 'lost' }>): LeadpipeError {
  const { outcome, message, error_type, request_id, charged } = failed;
  const { idempotency_key: idempotencyKey = '' } = operation.entries[0];
  return new LeadpipeError(outcome, message, {
    charged: charged ?? 'maybe',
    retryable: false,
    operationId: operation.operationId,
    idempotencyKey,
    ...(error_type === undefined ? {} : { type: error_type }),
    ...(request_id === null ? {} : { requestId: request_id }),
    facts: { is: 'key_used' },
  });
}

/** Pure: a name for a request, the same for the same bytes to the same address. */
export function nameOf(origin: string, kind: string, body: string, onlyNew: boolean): string {
  return hash('sha256', `${origin}\n${onlyNew ? 'new ' : ''}${kind}\n${body}`).slice(0, 32);
}
