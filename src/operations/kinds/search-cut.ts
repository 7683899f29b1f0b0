import { leadLimitOf } from '../../contract/limits.ts';
import type { EntitySearchRequest } from '../../contract/types.ts';
import { isStop, LeadpipeError } from '../../errors.ts';
import { RequestError } from '../../transport/request-error.ts';
import { countOf, plural } from '../wording.ts';
import type { SearchSummary } from './search-stream.ts';

export interface SearchEnd extends SearchSummary {
  /** How many of the leads that the service sent were dropped on this machine, because an earlier run of the list delivered them. */
  readonly excluded: number;
  /** Whether all of them are stored on this machine. */
  readonly isStored: boolean;
  readonly operationId: string | undefined;
  readonly idempotencyKey: string;
  readonly before?: LeadsBefore;
}

/** How many leads earlier runs of a search have received, how many of them were delivered, and how many of these were printed to standard output. */
export interface LeadsBefore {
  readonly received: number;
  readonly delivered: number;
  readonly printed: number;
}

/**
 * The error of an incomplete search. A stop or an error of the output decides the outcome; otherwise it is `partial`, or `unknown` if nothing
 * arrived. `kept` is the file with the received leads, and with `earlier` leads of earlier runs.
 */
export function toCutError(
  end: SearchEnd,
  request: EntitySearchRequest,
  kept: string | undefined,
  earlier = 0,
): LeadpipeError {
  const { cause, cut, excluded, idempotencyKey, isDelivered, isStored, leads } = end;
  const { leadsSearchId, operationId, requestId } = end;
  const known = cause instanceof LeadpipeError ? cause : undefined;
  // An error of an unknown kind is a bug of leadpipe, and not a fault of the service.
  const isBug = cause !== undefined && known === undefined;
  const technical = known instanceof RequestError ? known.details.technical : undefined;
  const own = known instanceof RequestError ? undefined : known;
  const outcome = own?.outcome ?? (isBug ? 'bug' : leads > 0 ? 'partial' : 'unknown');
  const fresh = leads - excluded;
  const all =
    earlier > 0 ? `; ${kept} has ${earlier + fresh} now` : `, and ${plural(fresh, 'is', 'are')} in ${kept}`;
  const isIn = kept === undefined || fresh === 0 ? '' : all;
  const lost = `, but not all of them could be written${kept === undefined ? '' : ` to ${kept}`}`;
  const dropped = excluded === 0 ? '' : `; ${excluded} left out (delivered before)`;
  const received =
    leads === 0
      ? 'No leads arrived'
      : `${countOf(fresh, earlier > 0 ? 'more lead' : 'lead')} arrived${isDelivered ? isIn : lost}${dropped}`;
  const what = isBug ? 'a bug in leadpipe stopped the search' : 'the search stopped before its end';
  const why = known?.words ?? cut;
  return new LeadpipeError(outcome, `${isStop(cause) ? why : `${what}: ${why}`}. ${received}`, {
    type: own === undefined ? (isBug ? 'bug' : 'cut') : (own.details.type ?? own.outcome),
    charged: leads > 0 ? 'yes' : 'maybe',
    retryable: false,
    technical,
    idempotencyKey,
    facts:
      leads === 0
        ? { is: 'in_doubt' }
        : {
            is: 'search_cut',
            rest: leadLimitOf(request) - leads,
            isDelivered,
            isStored,
            leadsSearchId,
            operationId,
            part: kept,
            request,
          },
    cause,
    requestId,
  });
}
