import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { Buyer } from '../../src/operations/buyer.ts';
import { dayOf, extendRowLimit, refused, usedToday } from '../../src/operations/day-limit.ts';
import { type Cost, entry, type Intent, type JournalEntry } from '../../src/operations/journal/entries.ts';
import { folderOf } from '../../src/operations/journal/folders.ts';
import { costOnly, createJournal } from '../../src/operations/journal/journal.ts';
import { journalFile } from '../../src/operations/journal/journal-file.ts';
import { openIndex } from '../../src/operations/journal/operation-index.ts';
import { openStoredRows } from '../../src/operations/journal/stored-rows.ts';
import { withDigests } from '../../src/operations/order-digests.ts';
import type { Prices } from '../../src/operations/prices.ts';
import { createSpending } from '../../src/operations/spending.ts';
import { intentOf, noLock } from '../helpers/journals.ts';
import { temporaryFolder } from '../helpers/run.ts';
import { keepingIn } from '../helpers/stored.ts';

/** What counts for a day, by the journals of purchases on the disk. It is noon of 31 January. */

const now = new Date('2026-01-31T12:00:00Z');
const today = '2026-01-31T09:00:00.000Z';
const yesterday = '2026-01-30T09:00:00.000Z';
const lastWeek = '2026-01-24T09:00:00.000Z';
const email = 'price.contact.email';
const of = (credits: number): Cost => ({ credits });
const unpriced = (units: number, credits = 0): Cost => ({ credits, unknown: { setting: email, units } });

/** A purchase, what its journal says of it, and what else there is of it. */
interface Purchase {
  readonly intent: Intent;
  readonly entries: readonly JournalEntry[];
  /** Of a list: how many of its rows are stored as sent. */
  readonly rows?: number;
  readonly isActive?: true;
  readonly isUnrecorded?: true;
  readonly isDamaged?: true;
  readonly isDiscarded?: true;
}

const bought = (command: string, time: string, worst: Cost, ...entries: JournalEntry[]): Purchase => ({
  intent: intentOf({ command, time, idempotency_key: 'k', body: '{}', worst_case: worst }),
  entries,
});
const search = (time: string, worst: Cost, ...entries: JournalEntry[]) =>
  bought('search', time, worst, ...entries);
const contact = (time: string, worst: Cost, ...entries: JournalEntry[]) =>
  bought('contact', time, worst, ...entries);
/** A list whose rows cost 5 credits each. */
const list = (time: string, worst: Cost, ...entries: JournalEntry[]): Purchase => ({
  intent: intentOf({
    ...{ command: 'contact list', time, worst_case: of(5), reserved: worst },
    row_request: '{"kind":"contact","contact_type":"email"}',
  }),
  entries,
});

const ended = (spent: Cost) => entry.terminal('complete', { charged: 'yes', spent });
const spent = (cost: Cost) => entry.spent(cost);
const reserved = (time: string, cost: Cost, moved?: Cost) => entry.reserved(new Date(time), cost, moved);
const rest = (time: string, worst: Cost) =>
  entry.rest({ time, idempotency_key: 'k2', body: '{}', worst_case: worst, delivered: 4, excluded: 0 });

/** Writes the journals of these purchases, one after the other, as their runs did. */
async function write(state: string, purchases: readonly Purchase[]): Promise<() => Promise<void>> {
  const open: (() => Promise<void>)[] = [];
  for (const [
    at,
    { entries, intent, isActive, isDamaged, isDiscarded, isUnrecorded, rows },
  ] of purchases.entries()) {
    const op = `op_${at}`;
    const folder = folderOf(state, op);
    const made = await createJournal(keepingIn(state), op);
    const journal = isUnrecorded ? costOnly(made) : made;
    await journal.append(await withDigests(intent));
    if (!isDiscarded) await journal.append(entry.sent(new Date(intent.time)));
    for (const one of entries) {
      await journal.append(one);
      if (one.type === 'rest') await journal.append(entry.sent(new Date(one.time)));
    }
    if (rows !== undefined) {
      const stored = await openStoredRows(folder, noLock);
      for (let row = 1; row <= rows; row++)
        await stored.intend(BigInt(row), { number: row, line: row }, 'k', '{}');
      await stored.close();
    }
    if (isDiscarded) await journal.discard();
    if (isActive) open.push(journal.close);
    else await journal.close();
    const path = join(folder, journalFile);
    if (isDamaged) writeFileSync(path, readFileSync(path, 'utf8').replace('"command"', '"COMMAND"'));
  }
  return async () => {
    for (const close of open) await close();
  };
}

async function used(purchases: readonly Purchase[], prices: Prices = {}, minutes = 0) {
  const state = temporaryFolder();
  const close = await write(state, purchases);
  const context = { ...keepingIn(state, () => now), zone: { minutesFromUtc: () => minutes } };
  const sum = await usedToday(await openIndex(context), prices, context);
  await close();
  return sum;
}

describe('what counts for the day', () => {
  it.each<[says: string, purchases: readonly Purchase[], credits: number]>([
    ['nothing, where nothing was bought', [], 0],
    ['what has ended, with what it has cost', [search(today, of(40), ended(of(14)))], 14],
    ['what has cost nothing, with nothing', [search(today, of(40), ended(of(0)))], 0],
    ['what is open, with its worst case', [search(today, of(40))], 40],
    ['what was left, with what it has cost so far', [search(today, of(40), spent(of(30)))], 30],
    [
      'what ended without a word about its cost, with nothing',
      [search(today, of(40), entry.terminal('credits'))],
      0,
    ],
    ['what was never sent, with nothing', [{ ...search(today, of(40)), isDiscarded: true }], 0],
    ['all purchases together', [search(today, of(40)), contact(today, of(5), ended(of(5)))], 45],
    ['decimals without their errors', [contact(today, of(0.1)), contact(today, of(0.2))], 0.3],
    [
      'what is not recorded, too',
      [
        { ...search(today, of(40), entry.sent(now), ended(of(14))), isUnrecorded: true },
        search(today, of(1)),
      ],
      15,
    ],
    // Each on the day on which it was sent.
    ['nothing of yesterday', [search(yesterday, of(40)), search(yesterday, of(40), ended(of(14)))], 0],
    ['what a clock that was ahead has dated tomorrow', [search('2026-02-01T09:00:00.000Z', of(40))], 40],
    ['a rest with its worst case', [search(yesterday, of(40), spent(of(40)), rest(today, of(26)))], 26],
    [
      'a rest that has ended, without what came before',
      [search(yesterday, of(40), spent(of(40)), rest(today, of(26)), ended(of(54)))],
      14,
    ],
    ['both parts of one day', [search(today, of(40), spent(of(40)), rest(today, of(26)), ended(of(54)))], 54],
    [
      'nothing of a rest that was refused',
      [search(yesterday, of(40), spent(of(40)), rest(today, of(26)), ended(of(40)))],
      0,
    ],
    // The same request, sent again with its key.
    ['what is sent again today', [search(yesterday, of(40), reserved(today, of(40)))], 40],
    [
      'what was sent again today, once',
      [search(yesterday, of(40), reserved(today, of(40)), ended(of(14))), search(today, of(1))],
      15,
    ],
    // A list: rows that were counted yesterday, and are sent again today, count today.
    [
      'the rest of a list',
      [list(yesterday, of(50), spent(of(20)), reserved(today, of(30)), ended(of(50)))],
      30,
    ],
    [
      'the rest of a list that has brought less',
      [list(yesterday, of(50), spent(of(20)), reserved(today, of(30)), ended(of(35)))],
      15,
    ],
    [
      'with its rows that have moved',
      [list(yesterday, of(50), spent(of(20)), reserved(today, of(35), of(5)), ended(of(50)))],
      35,
    ],
    [
      'and the moved ones alone',
      [list(yesterday, of(50), spent(of(50)), reserved(today, of(5), of(5)), ended(of(50)))],
      5,
    ],
    [
      'a list over midnight, each day its rows',
      [
        {
          ...list(yesterday, of(50), spent(of(20)), reserved(today, of(35), of(5))),
          isActive: true,
        },
      ],
      35,
    ],
    [
      'what a list has counted in addition',
      [{ ...list(today, of(25), reserved(today, of(25))), isActive: true }],
      50,
    ],
    [
      'nothing less where rows of yesterday have cost nothing',
      [list(yesterday, of(50), spent(of(20)), reserved(today, of(30)), ended(of(15))), search(today, of(1))],
      1,
    ],
    ['what ended once more, with all of it', [search(today, of(40), spent(of(30)), ended(of(40)))], 40],
    ['a list that has ended, with what it says', [{ ...list(today, of(50), ended(of(20))), rows: 6 }], 20],
    // A list that was killed has sent the rows that are stored as sent, and no others.
    ['a killed list with the rows that it has sent', [{ ...list(today, of(50)), rows: 3 }], 15],
    ['one that has sent nothing, with nothing', [list(today, of(50))], 0],
    ['an active list with all of them', [{ ...list(today, of(50)), rows: 3, isActive: true }], 50],
    [
      'a killed one without what it has cost before',
      [{ ...list(yesterday, of(50), spent(of(20)), reserved(today, of(30))), rows: 6 }],
      10,
    ],
    [
      'a killed one that had counted more',
      [{ ...list(today, of(25), reserved(today, of(25))), rows: 6 }],
      30,
    ],
    [
      'a killed one that can’t be read, with all of them',
      [{ ...list(today, of(50)), rows: 3, isDamaged: true }],
      50,
    ],
    ['a killed search with its worst case', [{ ...search(today, of(50)), rows: 3 }], 50],
  ])('%s', async (_, purchases, credits) => {
    expect(await used(purchases)).toEqual({ credits, unknown: [] });
  });

  it.each<
    [says: string, purchases: readonly Purchase[], prices: Prices, credits: number, units: readonly unknown[]]
  >([
    ['is not known', [contact(today, unpriced(1)), search(today, of(3))], {}, 3, [1]],
    ['is that of today', [contact(today, unpriced(1)), search(today, of(3))], { [email]: 5 }, 8, []],
    ['is zero today', [contact(today, unpriced(1))], { [email]: 0 }, 0, []],
    ['is not that of another kind', [contact(today, unpriced(1))], { 'price.contact.phone': 5 }, 0, [1]],
    ['is for what it has brought', [search(today, unpriced(20), ended(unpriced(4)))], { [email]: 2 }, 8, []],
    ['is not known, and was not paid', [contact(today, unpriced(1), ended(of(0)))], {}, 0, []],
    // It counts on another day.
    ['of last week does not matter', [contact(lastWeek, unpriced(1), ended(unpriced(1)))], {}, 0, []],
    [
      'is for the units of today alone',
      [list(yesterday, unpriced(5), spent(unpriced(2)), reserved(today, unpriced(3)), ended(unpriced(5)))],
      { [email]: 2 },
      6,
      [],
    ],
    [
      'is not known of a rest',
      [search(yesterday, of(20), spent(of(20)), rest(today, unpriced(16)))],
      {},
      0,
      [16],
    ],
    [
      'is not known of a rest that goes on',
      [{ ...search(yesterday, of(20), spent(of(20)), rest(today, unpriced(16))), isActive: true }],
      {},
      0,
      [16],
    ],
    [
      'is set for a rest that has ended, where the first part had one',
      [search(yesterday, of(20), spent(of(20)), rest(today, unpriced(16)), ended(unpriced(4, 20)))],
      { [email]: 3 },
      12,
      [],
    ],
    [
      'of yesterday does not matter for a rest that has one',
      [search(yesterday, unpriced(20), spent(unpriced(20)), rest(today, of(16)), ended(unpriced(20, 9)))],
      {},
      9,
      [],
    ],
    [
      'of rows that were not counted',
      [{ ...list(today, { credits: 0, unknown: 'rows' }), isActive: true }],
      { [email]: 2 },
      0,
      ['rows'],
    ],
    [
      'of rows that were not counted, and have ended',
      [list(today, { credits: 0, unknown: 'rows' }, ended(of(15)))],
      {},
      15,
      [],
    ],
    [
      'of rows that were not counted, and were killed',
      [{ ...list(today, { credits: 0, unknown: 'rows' }), rows: 3 }],
      {},
      15,
      [],
    ],
  ])('a price that %s', async (_, purchases, prices, credits, units) => {
    const { unknown, ...known } = await used(purchases, prices);
    expect(known).toEqual({ credits });
    expect(unknown.map(({ why }) => (why === 'rows' ? why : why.units))).toEqual(units);
  });

  it('names what is not known, newest first', async () => {
    const { unknown } = await used([
      contact(today, unpriced(1)),
      search(today, of(3)),
      search(today, unpriced(20)),
    ]);
    expect(unknown).toEqual([
      { op: 'op_2', kind: 'search', time: today, why: unpriced(20).unknown },
      { op: 'op_0', kind: 'contact', time: today, why: unpriced(1).unknown },
    ]);
  });

  const [before, day, after] = ['2026-01-30', '2026-01-31', '2026-02-01'];
  it.each([
    ['2026-01-30T23:30:00.000Z', 60, day, 40],
    ['2026-01-30T22:30:00.000Z', 60, before, 0],
    ['2026-01-31T00:30:00.000Z', -60, before, 0],
    ['2026-01-31T01:30:00.000Z', -60, day, 40],
    ['2026-01-31T00:00:00.000Z', 0, day, 40],
    // It is the next day there.
    ['2026-01-31T10:30:00.000Z', 780, day, 0],
    ['2026-01-31T11:30:00.000Z', 780, after, 40],
  ])(
    'begins at midnight of the place: %s, where it is %d minutes later than UTC',
    async (time, minutes, date, credits) => {
      expect(await used([search(time, of(40))], {}, minutes)).toEqual({ credits, unknown: [] });
      expect(dayOf(new Date(time), { minutesFromUtc: () => minutes })).toBe(date);
    },
  );
});

it('is not extended for a list where another process has reserved the rest meanwhile', async () => {
  const context = { ...keepingIn(temporaryFolder(), () => now), zone: { minutesFromUtc: () => 0 } };
  const connection = { origin: 'https://x.example', settings: { max_credits_per_day: 100, [email]: 2 } };
  const limit = createSpending(50, 'max_credits_per_day');
  const extend = (reserve: (cost: Cost) => Promise<void>) =>
    extendRowLimit({ connection, context } as unknown as Buyer, limit, of(2), reserve);
  const error = refused('only 0 are left', 'over_limit', { is: 'no_credits', worst: 2, left: 0 });
  expect(await extend(() => Promise.reject(error))).toBe(false);
  expect(limit.limit).toBe(50);
  await expect(extend(() => Promise.reject(new Error('full')))).rejects.toThrow('full');
  expect(await extend(async () => {})).toBe(true);
  expect(limit.limit).toBe(100);
});
