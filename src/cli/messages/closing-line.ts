import { LeadpipeError } from '../../errors.ts';
import { countOf } from '../../operations/delivery.ts';

export interface ClosingFacts {
  readonly leads?: number;
  /** Leads beside these that arrived, and had been delivered before. */
  readonly excluded?: number;
  readonly state?: string | undefined;
  readonly stopReason?: string | undefined;
  readonly leadsSearchId?: string | undefined;
  readonly requestId?: string | undefined;
  readonly operationId?: string | undefined;
}

/** Pure: what a run came to, in one line. */
export function toClosingLine(facts: ClosingFacts): string {
  const { leads, excluded = 0, state, stopReason, leadsSearchId, requestId, operationId } = facts;
  const shown = [
    leads === undefined ? undefined : countOf(leads),
    excluded === 0 ? undefined : `${excluded} left out, delivered before`,
    state,
    stopReason === undefined ? undefined : `stopped: ${stopReason}`,
    leadsSearchId === undefined ? undefined : `search ${leadsSearchId}`,
    requestId === undefined ? undefined : `request ${requestId}`,
    operationId === undefined ? undefined : `operation ${operationId}`,
  ];
  return shown.filter((fact) => fact !== undefined).join(' · ');
}

/** The error of `--exit-status`, where everything went well and brought nothing, or nothing new. */
export function toNothingFound(ids: {
  readonly requestId: string | undefined;
  readonly operationId: string | undefined;
  readonly excluded: number;
}): LeadpipeError {
  const { requestId, operationId, excluded } = ids;
  return new LeadpipeError('no_result', `no ${excluded > 0 ? 'new ' : ''}leads were found`, {
    ...(requestId === undefined ? {} : { requestId }),
    ...(operationId === undefined ? {} : { operationId }),
  });
}
