import { limits } from '../../contract/limits.ts';
import type { EntitySearchRequest } from '../../contract/types.ts';
import { isStop, LeadpipeError } from '../../errors.ts';
import { RequestError } from '../../transport/errors.ts';
import { countOf } from '../wording.ts';
import type { SearchSummary } from './stream.ts';

export interface SearchEnd extends SearchSummary {
  /** How many of the leads that the service sent were dropped here: an earlier run of the list has delivered them. */
  readonly excluded: number;
  /** Whether all of them are stored here. */
  readonly isStored: boolean;
  readonly operationId: string | undefined;
  readonly idempotencyKey: string;
}

/**
 * The error of a search that was not whole: how it ends is the cause's business when the run was stopped or the output
 * failed, else it is partial, or unknown when nothing came. `kept` is the file that holds what arrived.
 */
export function toCutError(
  end: SearchEnd,
  request: EntitySearchRequest,
  kept: string | undefined,
): LeadpipeError {
  const {
    cause,
    cut,
    excluded,
    idempotencyKey,
    isDelivered,
    isStored,
    leads,
    leadsSearchId,
    operationId,
    requestId,
  } = end;
  const ownEnd = cause instanceof LeadpipeError && !(cause instanceof RequestError) ? cause : undefined;
  // What is not an error of leadpipe's own making is its fault, and not the service's.
  const isBug = cause !== undefined && !(cause instanceof LeadpipeError);
  const outcome = ownEnd?.outcome ?? (isBug ? 'bug' : leads > 0 ? 'partial' : 'unknown');
  const fresh = leads - excluded;
  const place = isDelivered
    ? placeOf(fresh, kept)
    : `, but not all of them could be written${kept === undefined ? '' : ` to ${kept}`}`;
  const dropped = excluded === 0 ? '' : `; ${excluded} left out (delivered before)`;
  const arrived = leads === 0 ? 'No leads arrived' : `${countOf(fresh)} arrived${place}${dropped}`;
  const rest = (request.limit ?? limits.entityLimit.default) - leads;
  const technical = cause instanceof RequestError ? cause.details.technical : undefined;
  const why = cause instanceof LeadpipeError ? cause.words : cut;
  const what = isBug ? 'a bug in leadpipe stopped the search' : 'the search stopped before its end';
  const words = isStop(cause) ? `${why}. ${arrived}` : `${what}: ${why}. ${arrived}`;
  return new LeadpipeError(outcome, words, {
    type: ownEnd === undefined ? (isBug ? 'bug' : 'cut') : (ownEnd.details.type ?? ownEnd.outcome),
    charged: leads > 0 ? 'yes' : 'maybe',
    retryable: false,
    ...(technical === undefined ? {} : { technical }),
    idempotencyKey,
    facts:
      leadsSearchId === undefined || leads === 0
        ? { is: 'in_doubt' }
        : { is: 'search_cut', rest, isDelivered, isStored, leadsSearchId, operationId, request },
    cause,
    ...(requestId === undefined ? {} : { requestId }),
  });
}

function placeOf(leads: number, kept: string | undefined): string {
  return kept === undefined || leads === 0 ? '' : `, and ${leads === 1 ? 'is' : 'are'} in ${kept}`;
}
