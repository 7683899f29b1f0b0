import { entityLayout } from '../../columns/entity-layout.ts';
import type { Context } from '../../context.ts';
import { leadLimitOf } from '../../contract/limits.ts';
import { type EntitySearchRequest, streamEntityTypes } from '../../contract/types.ts';
import type { Buyer } from '../../operations/buyer.ts';
import type { BoughtSearch } from '../../operations/kinds/search.ts';
import type { Order } from '../../operations/order.ts';
import { checkStreamEntityType, toEntitySearchRequest } from '../../requests/entity-search.ts';
import { defineCommand } from '../command.ts';
import { withConnection } from '../connect.ts';
import { paidOutcomes } from '../exit-codes.ts';
import { close, toNoNewLeadsNote, toNothingFoundError, toSaveHint } from '../messages/closing-line.ts';
import { inputNames } from '../options/inputs.ts';
import {
  createEntityArguments,
  createEntityOptions,
  type EntitySearchOptions,
  type ListOptions,
  leadColumns,
  leadShape,
  listOptions,
  readEntitySearchInput,
  toListTerms,
} from '../options/search-options.ts';
import { exitStatusOption } from '../options/shared-options.ts';
import { type PurchaseOptions, toBuyer, toOrder } from '../records/orders.ts';
import { type Resumes, runAndShow } from '../run-and-show.ts';

interface SearchOptions extends PurchaseOptions, EntitySearchOptions, ListOptions {
  readonly exitStatus?: true;
}

export const createCommand = defineCommand({
  name: 'search',
  description: 'Finds leads that fit your objective, and prints them as they are found.',
  arguments: createEntityArguments(streamEntityTypes),
  options: [...createEntityOptions(listOptions), exitStatusOption],
  takes: ['records', 'paid', 'connection'],
  examples: [
    'leadpipe search company "seed-stage fintech in Berlin" --limit 20 --local',
    'leadpipe search person "CTOs in London" --enrich-fields job_title,company \\\n  --local -o ctos.csv',
  ],
  output: ['one lead on each line (jsonl), as the service sent it:', ...leadShape],
  ...leadColumns,
  cost: {
    text: 'at most 1 credit for each lead; with --enrich-fields the price that you set',
    settings: ['price.search'],
  },
  outcomes: [...paidOutcomes, 'partial'],
  run: runSearch,
});

async function runSearch(
  context: Context,
  entityType: string,
  objective: string,
  options: SearchOptions,
): Promise<void> {
  // Check this first, so that standard input is not read without need.
  checkStreamEntityType(entityType);
  const input = await readEntitySearchInput(context, objective, options);
  const request = toEntitySearchRequest({ entity_type: entityType, ...input }, inputNames);
  const end = await withConnection(context, options, async (connection) => {
    const buyer = toBuyer(context, options, connection);
    const order = toOrder(context, options, connection, 'search', request);
    return await buySearch(context, options, buyer, { ...order, list: toListTerms(options) });
  });
  if (end !== undefined && leadsOf(end) === 0 && options.exitStatus) throw toNothingFoundError(end, options);
}

/** Pure: how many leads a search has brought, in all of its runs. */
function leadsOf({ before, excluded, leads }: BoughtSearch): number {
  return leads - excluded + (before?.delivered ?? 0);
}

/** Buys a search or its rest, and reports the result; if the search was cut, its error reports it. Throws as `run`. */
export async function buySearch(
  context: Context,
  options: PurchaseOptions,
  buyer: Buyer,
  order: Order<'search', EntitySearchRequest>,
  resumes?: Resumes,
): Promise<BoughtSearch | undefined> {
  const request = order.body;
  const limit = leadLimitOf(request);
  const layout = entityLayout(request.enrich_fields, request.entity_type);
  const printed = { shape: 'list', layout } as const;
  const end = await runAndShow<'search'>(context, options, buyer, order, { limit, printed, resumes });
  if (end === undefined) return undefined;
  const { before, excluded, list, operationId, stopReason } = end;
  const leads = end.leads - excluded;
  const all = leadsOf(end);
  close(context, options, {
    leads,
    before,
    excluded,
    stopReason,
    limit,
    isPaid: true,
    charged: end.leads > 0 ? 'yes' : 'no',
    ids: end,
    why: list && toNoNewLeadsNote(all, list),
    next: toSaveHint(context, options, all, operationId && `leadpipe history show ${operationId}`),
  });
  return end;
}
