import { expect, it } from 'vitest';
import { endpoints } from '../../../src/contract/endpoints.ts';
import { type Outcome, UsageError } from '../../../src/errors.ts';
import { type SearchEnd, toCutError } from '../../../src/operations/kinds/search-cut.ts';
import { RequestError } from '../../../src/transport/request-error.ts';

const lost = new RequestError('lost', endpoints.search, 'x');
const ofBug = 'a bug in leadpipe stopped the search: z. 2 leads arrived';

const endOf = (cause: Error, leads: number, excluded = 0): SearchEnd => ({
  ...{ cut: cause.message, cause, leads, excluded, isDelivered: true, isStored: true },
  ...{ leadsSearchId: 'ls_1', stopReason: undefined, warnings: [], requestId: undefined },
  ...{ operationId: 'op_1', idempotencyKey: 'k' },
});

it('leads that were left out have arrived, and are charged', () => {
  const request = { entity_type: 'company', objective: 'x', limit: 5 } as const;
  const { details } = toCutError(endOf(lost, 2, 2), request, undefined);
  expect(details).toMatchObject({ charged: 'yes', facts: { is: 'search_cut', rest: 3 } });
});

it.each<[name: string, cause: Error, leads: number, outcome: Outcome, says: string, earlier?: number]>([
  ['a lost connection', lost, 2, 'partial', 'stopped before its end: x'],
  ['one of a resumed search', lost, 2, 'partial', 'x. 2 more leads arrived; a.part has 9 now', 7],
  ['one before a lead', lost, 0, 'unknown', 'No leads arrived'],
  ['an error of the output', new UsageError('y'), 2, 'usage', 'y'],
  ['a fault of leadpipe', new TypeError('z'), 2, 'bug', ofBug],
])('%s ends a search', (_, cause, leads, outcome, says, earlier) => {
  const end = endOf(cause, leads);
  const kept = earlier === undefined ? undefined : 'a.part';
  const error = toCutError(end, { entity_type: 'company', objective: 'x' }, kept, earlier);
  expect(error.outcome).toBe(outcome);
  expect(error.message).toContain(says);
});
