import { expect, it } from 'vitest';
import { type Closing, toClosingLine } from '../../src/cli/messages/closing-line.ts';
import { toStopReason } from '../../src/operations/wording.ts';

const ids = {};

it.each<[Omit<Closing, 'ids'>, string | undefined, string]>([
  [
    { leads: 20, stopReason: 'limit', limit: 20, costAtMost: 20 },
    'leads.csv',
    '20 leads in leads.csv · limit of 20 reached · cost at most 20 credits',
  ],
  [
    { leads: 1, stopReason: 'source_finished', costAtMost: 1 },
    undefined,
    '1 lead · no more matches · cost at most 1 credit',
  ],
  [
    { leads: 0, stopReason: 'source_finished', costAtMost: 0 },
    'a.csv',
    '0 leads · no more matches · cost nothing',
  ],
  // Of an enriched search nobody knows the price.
  [{ leads: 3, stopReason: 'limit', limit: 20, costAtMost: null }, undefined, '3 leads · limit reached'],
  [
    { leads: 3, excluded: 2, stopReason: 'limit', limit: 5, state: 'done' },
    'my leads.csv',
    '3 leads in "my leads.csv" · 2 left out (delivered before) · limit of 5 reached',
  ],
  [{ leads: 35, state: 'running' }, undefined, '35 leads · task running'],
  [{ what: 'email found' }, undefined, 'email found'],
])('%j in %s', (closing, file, line) => {
  expect(toClosingLine({ ...closing, ids }, file)).toBe(line);
});

it.each([
  ['no_data_timeout', 'the search found nothing new for a long time'],
  ['rejected_streak', 'too many results in a row did not match'],
  // Not known yet: it stands as it came.
  ['moon_phase', 'stopped: moon_phase'],
  ['constructor', 'stopped: constructor'],
])('%s is %s', (reason, words) => expect(toStopReason(reason)).toBe(words));

it('what is added to a file counts what was stored before', () => {
  const closing: Closing = { leads: 30, before: { received: 20, delivered: 20 }, ids: {} };
  expect(toClosingLine(closing, 'c.csv', 'added to', true)).toBe(
    '50 leads added to c.csv, 20 of them stored earlier',
  );
});
