import type { Layout } from '../../columns/layout.ts';
import type { DeepSearchRequest } from '../../contract/types.ts';
import { toDeepSearchRequest } from '../../requests/lookups.ts';
import { joinWith, type Lookup } from './row-kind.ts';

export const research = {
  layout: () => researchLayout,
  rows: () => ({
    field: 'query',
    toExample: (about) => `What is new at ${about}?`,
    toBody: (query, names) => toDeepSearchRequest({ query }, names),
    into: 'research',
    records: 'answers',
    ...joinWith(
      (answer) => answer.member('answer'),
      (into) => [
        [into, [['Result'], []]],
        [`${into}_citations`, [['Citations']], { isOptional: true }],
      ],
    ),
  }),
} as const satisfies Lookup<DeepSearchRequest>;

/** An answer in another form than `{ Result, Citations }` is shown as it is. */
const researchLayout: Layout = {
  records: 'answers',
  prose: true,
  columns: [
    { header: 'result', from: [['answer', 'Result'], ['answer']] },
    {
      header: 'citations',
      from: (record) =>
        record.inner('answer')?.member('Result') === undefined
          ? undefined
          : record.inner('answer')?.member('Citations'),
    },
  ],
};
