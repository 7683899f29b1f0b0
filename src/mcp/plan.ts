import { hash } from 'node:crypto';
import type { Charged, LeadpipeError } from '../errors.ts';
import type { JsonText } from '../json/text.ts';
import type { StoredOperation } from '../operations/journal/journal.ts';
import type { AnswerKind, BodyOf } from '../operations/kinds.ts';

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
  | { readonly is: 'new' }
  /** Another process is at work on it: it is waited for. */
  | { readonly is: 'join' }
  | { readonly is: 'stored'; readonly settled: Settled }
  /** Its answer was lost: it is sent again with its key, which the service never charges twice. */
  | {
      readonly is: 'repeat';
      readonly first: StoredOperation;
      readonly last: StoredOperation;
      readonly idempotencyKey: string;
    }
  /** Its answer was lost, and the service has said that it does not give it again. */
  | { readonly is: 'lost'; readonly error: LeadpipeError }
  /** A search that was cut: only the rest is bought. */
  | {
      readonly is: 'rest';
      readonly first: StoredOperation;
      readonly last: StoredOperation;
      readonly limit: number;
    };

/** What is left to do, where something is. */
export type Buying = Extract<Plan, { readonly is: 'new' | 'repeat' | 'rest' }>;

/** Pure: a name for a request, the same for the same bytes to the same address. */
export function digestOf(origin: string, kind: string, body: string, onlyNew: boolean): string {
  return hash('sha256', `${origin}\n${onlyNew ? 'new ' : ''}${kind}\n${body}`).slice(0, 32);
}
