import { limits } from '../../contract/limits.ts';
import { bodyLike, section } from '../expectations.ts';
import { researched } from '../resources.ts';
import type { Row } from '../row.ts';
import { objective, post, rareObjective, sentence } from '../samples.ts';

const { max } = limits.deepSearchQuery;
const send = (body: object) => post('deepSearch', { body });
const { row, wrong, right } = section('deep-search', send);
const form = bodyLike('success and answer', researched);

export const deepSearchRows: readonly Row[] = [
  row('body', 'the answer has success, and an answer that is not null', form, send({ query: objective })),
  row(
    'no-result',
    'without a result, success is false and answer.answer is the text that the interface gives for this',
    form,
    send({ query: rareObjective }),
  ),
  wrong('query-missing', 'query is required', {}),
  wrong('query-empty', 'query has at least 1 character', { query: '' }),
  wrong('query-null', 'query is a string', { query: null }),
  wrong('query-a-number', 'query is a string', { query: 42 }),
  right('query-4000', 'query has at most 4000 characters', { query: sentence(max) }),
  wrong('query-4001', 'query has at most 4000 characters', { query: sentence(max + 1) }),
  right('query-4000-of-two-bytes', 'query is counted in characters, not in bytes', {
    query: 'é'.repeat(max),
  }),
];
