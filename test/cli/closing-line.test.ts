import { expect, it } from 'vitest';
import { toClosingLine } from '../../src/cli/messages/closing-line.ts';
import { toStopReason } from '../../src/operations/wording.ts';

const unpriced = { credits: 0, unknown: { setting: 'price.contact.email' } } as const;
const paid = { isPaid: true } as const;
const before = { received: 22, delivered: 20, printed: 20 };

it.each<[Parameters<typeof toClosingLine>[0], string | undefined, string]>([
  [
    { ...paid, leads: 20, stopReason: 'limit', limit: 20, cost: { credits: 20 } },
    'leads.csv',
    '20 leads in leads.csv · limit of 20 reached · cost at most 20 credits',
  ],
  [
    { ...paid, leads: 1, stopReason: 'source_finished', cost: { credits: 1 } },
    undefined,
    '1 lead · no more matches · cost at most 1 credit',
  ],
  [
    { ...paid, leads: 0, stopReason: 'source_finished', cost: { credits: 0 } },
    'a.csv',
    '0 leads in a.csv · no more matches · cost nothing',
  ],
  // With --local alone it says so.
  [
    { ...paid, leads: 0, stopReason: 'source_finished', cost: { credits: 0 }, isLocal: true },
    'a.csv',
    '0 leads in a.csv · no more matches · cost nothing',
  ],
  // Commands that are always free never mention a cost.
  [{ leads: 2, isLocal: true, creditsBefore: 3 }, undefined, '2 leads'],
  [{ leads: 2, cost: { credits: 3 }, creditsBefore: 3 }, undefined, '2 leads'],
  [{ ...paid, leads: 2 }, undefined, '2 leads'],
  [
    { ...paid, what: 'email found', cost: unpriced, charged: 'yes', creditsBefore: 50, creditsAfter: 48 },
    undefined,
    'email found · charged; price unknown · balance 50 before, 48 after',
  ],
  [
    { ...paid, what: 'email found', cost: { ...unpriced, credits: 2 }, charged: 'maybe' },
    undefined,
    'email found · may be charged; price unknown',
  ],
  [
    { what: 'task created', cost: unpriced, isPaid: 'later', charged: 'maybe' },
    undefined,
    'task created · can be charged; price unknown',
  ],
  [
    { what: 'task created', cost: { credits: 5 }, isPaid: 'later', creditsBefore: 9 },
    undefined,
    'task created · can cost at most 5 credits · balance 9 before; balance after unknown: no answer within 0.3 s',
  ],
  // Includes the costs of earlier runs, which were shown then.
  [
    { ...paid, leads: 10, before, cost: { credits: 31.2 }, costBefore: 22.1 },
    undefined,
    '10 leads, 30 in all · cost at most 31.2 credits (9.1 of them now)',
  ],
  [
    { ...paid, leads: 0, before, cost: { credits: 22 }, costBefore: 22 },
    'a.csv',
    '20 leads in a.csv, 20 of them stored earlier · cost at most 22 credits (none of them now)',
  ],
  // A task that was interrupted could cost 40 until its end was seen.
  [
    { ...paid, leads: 21, cost: { credits: 21 }, costBefore: 40 },
    'a.csv',
    '21 leads in a.csv · cost at most 21 credits (none of them now)',
  ],
  // The rows of a list that did not end: those that were sent.
  [
    { ...paid, what: '2 emails found, 1 not found', isOfRows: true, cost: { credits: 15, unknown: 'rows' } },
    'out.csv',
    'out.csv: 2 emails found, 1 not found · cost at most 15 credits',
  ],
  [
    { leads: 3, excluded: 2, stopReason: 'limit', limit: 5, state: 'done' },
    'my leads.csv',
    '3 leads in "my leads.csv" · 2 left out (delivered before) · limit of 5 reached',
  ],
  [
    { leads: 3, stopReason: 'limit', limit: 25, before },
    undefined,
    '3 leads, 23 in all · limit of 25 reached',
  ],
  [{ leads: 2, stopReason: 'limit', limit: 25, before }, undefined, '2 leads, 22 in all · limit reached'],
  // Standard output gets the stored leads that were not printed, too.
  [{ leads: 2, before: { ...before, printed: 15 } }, undefined, '7 leads, 22 in all'],
  [{ leads: 0, before: { ...before, printed: 0 } }, undefined, '20 leads'],
  [{ leads: 3, isReplaced: true }, 'a.csv', '3 leads in a.csv (replaced)'],
  [{ what: '1 email found', isOfRows: true, isReplaced: true }, 'a.csv', 'a.csv (replaced): 1 email found'],
  [{ leads: 35, state: 'running' }, undefined, '35 leads · task running'],
  [{ leads: 0, state: 'error' }, 'a.csv', '0 leads · task error'],
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

it.each<[Parameters<typeof toClosingLine>[0], boolean, string]>([
  // Rows are added to a file in one step, together with what was stored before.
  [{ leads: 30, before }, true, '50 leads added to c.csv, 20 of them stored earlier'],
  [{ leads: 30 }, true, '30 leads added to c.csv'],
  [{ leads: 0 }, true, '0 leads'],
  [{ leads: 0, before }, true, '20 leads added to c.csv, 20 of them stored earlier'],
  [{ what: '3 emails found', isOfRows: true }, true, 'added to c.csv: 3 emails found'],
])('what is added to a file: %j, %s', (closing, isAdded, line) => {
  expect(toClosingLine(closing, 'c.csv', 'added to', isAdded)).toBe(line);
});
