import { expect, it } from 'vitest';
import { toClosingLine } from '../../src/cli/messages/closing-line.ts';
import { toStopReason } from '../../src/operations/wording.ts';

const unpriced = { credits: null, setting: 'price.contact.email', units: 1 } as const;

it.each<[Parameters<typeof toClosingLine>[0], string | undefined, string]>([
  [
    { leads: 20, stopReason: 'limit', limit: 20, cost: { credits: 20 } },
    'leads.csv',
    '20 leads in leads.csv · limit of 20 reached · cost at most 20 credits',
  ],
  [
    { leads: 1, stopReason: 'source_finished', cost: { credits: 1 } },
    undefined,
    '1 lead · no more matches · cost at most 1 credit',
  ],
  [
    { leads: 0, stopReason: 'source_finished', cost: { credits: 0 } },
    'a.csv',
    '0 leads in a.csv · no more matches · cost at most 0 credits',
  ],
  // With --local alone it says so.
  [
    { leads: 0, stopReason: 'source_finished', cost: { credits: 0 }, isLocal: true },
    'a.csv',
    '0 leads in a.csv · no more matches · cost nothing',
  ],
  // What is always free says nothing about its cost, wherever it runs.
  [{ leads: 2, isLocal: true, creditsBefore: 3 }, undefined, '2 leads'],
  [
    { what: 'email found', cost: unpriced, creditsBefore: 50, creditsAfter: 48 },
    undefined,
    'email found · charged; price unknown (set it: leadpipe config set price.contact.email <credits>) · balance 50 before, 48 after',
  ],
  [
    { what: 'task created', cost: { ...unpriced, later: true } },
    undefined,
    'task created · can be charged; price unknown (set it: leadpipe config set price.contact.email <credits>)',
  ],
  [
    { what: 'task created', cost: { credits: 5, later: true }, creditsBefore: 9 },
    undefined,
    'task created · can cost at most 5 credits · balance 9 before; the balance after is left out: no answer within 0.3 s',
  ],
  [
    { leads: 3, excluded: 2, stopReason: 'limit', limit: 5, state: 'done' },
    'my leads.csv',
    '3 leads in "my leads.csv" · 2 left out (delivered before) · limit of 5 reached',
  ],
  [{ leads: 35, state: 'running' }, undefined, '35 leads · task running'],
  [{ what: 'email found' }, undefined, 'email found'],
])('%j in %s', (closing, file, line) => {
  expect(toClosingLine(closing, file)).toBe(line);
});

it.each([
  ['no_data_timeout', 'the search found nothing new for a long time'],
  ['rejected_streak', 'too many results in a row did not match'],
  // Not known yet: it stands as it came.
  ['moon_phase', 'stopped: moon_phase'],
  ['constructor', 'stopped: constructor'],
])('%s is %s', (reason, words) => expect(toStopReason(reason)).toBe(words));

it('what is added to a file counts what was stored before', () => {
  const closing = { leads: 30, before: { received: 20, delivered: 20 } };
  expect(toClosingLine(closing, 'c.csv', 'added to', true)).toBe(
    '50 leads added to c.csv, 20 of them stored earlier',
  );
});
