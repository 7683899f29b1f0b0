import { LeadpipeError } from '../../errors.ts';
import { countOf } from '../../operations/delivery.ts';

export interface ClosingFacts {
  readonly leads?: number;
  readonly state?: string | undefined;
  readonly stopReason?: string | undefined;
  readonly leadsSearchId?: string | undefined;
  readonly requestId?: string | undefined;
  readonly operationId?: string | undefined;
}

/** Pure: what a run came to, in one line. */
export function toClosingLine(facts: ClosingFacts): string {
  const { leads, state, stopReason, leadsSearchId, requestId, operationId } = facts;
  const shown = [
    leads === undefined ? undefined : countOf(leads),
    state,
    stopReason === undefined ? undefined : `stopped: ${stopReason}`,
    leadsSearchId === undefined ? undefined : `search ${leadsSearchId}`,
    requestId === undefined ? undefined : `request ${requestId}`,
    operationId === undefined ? undefined : `operation ${operationId}`,
  ];
  return shown.filter((fact) => fact !== undefined).join(' · ');
}

/** The error of `--exit-status`, where everything went well and brought nothing. */
export function toNothingFound(ids: {
  readonly requestId: string | undefined;
  readonly operationId: string | undefined;
}): LeadpipeError {
  const { requestId, operationId } = ids;
  return new LeadpipeError('no_result', 'no leads were found', {
    ...(requestId === undefined ? {} : { requestId }),
    ...(operationId === undefined ? {} : { operationId }),
  });
}
