import { describe, expect, it } from 'vitest';
import { type Cost, entry, type Intent, type JournalEntry } from '../../src/operations/journal/entries.ts';
import { costOf, fold, type Operation } from '../../src/operations/operation.ts';

/** How the entries of a journal are read. Each row is short and shows one thing. */

const time = new Date('2026-01-31T09:00:00Z');
const later = new Date('2026-02-01T09:00:00Z');

/** An intent of this kind; what is bought has a key and a body. */
function intent(command: string, more: Partial<Intent> = {}): Intent {
  const isBought = !command.endsWith(' list') && command !== 'task wait';
  return {
    type: 'intent',
    version: 1,
    index: { like: '' },
    time: time.toISOString(),
    command,
    ...(isBought ? { idempotency_key: 'key 1', body: '{"limit":10}' } : {}),
    ...(command === 'task wait' ? {} : { worst_case: { credits: 10 } }),
    profile: null,
    origin: 'https://api.example',
    key_fingerprint: '',
    output: null,
    options: {},
    ...more,
  };
}

const sent = entry.sent(time);
const created = entry.created('ls_1', 'req_1');
const renamed = entry.created('ls_2', undefined);
const answered = entry.answered('req_2');
const placed = entry.placed('digest of a path');
const page = (pts: number, count: number, more: object = {}) =>
  entry.page({ pts, count, next: pts + count, ready_count: 20, state: 'running', ...more });
const rest = (delivered: number, excluded = 0) =>
  entry.rest({
    ...{ time: later.toISOString(), idempotency_key: 'key 2', body: '{"limit":2}' },
    ...{ worst_case: { credits: 2 }, delivered, excluded },
  });
const reserved = entry.reserved(later, { credits: 3 });
const terminal = entry.terminal;
const complete = (leads = 5, excluded?: number) =>
  terminal('complete', { charged: 'yes', leads, ...(excluded === undefined ? {} : { excluded }) });
const cut = terminal('partial', { charged: 'yes', leads: 3 });
const refused = terminal('credits', { charged: 'no' });
const lost = terminal('partial', { charged: 'maybe' });
const failed = (more: object = {}) =>
  entry.failed({ outcome: 'unknown', message: 'lost', request_id: 'req_4', charged: 'maybe', ...more });
const dropped = terminal('partial', { charged: 'yes', dropped: true });
const addition = (digest: string) => ({
  ...{ output: '/a.csv', at: 10, length: 5, digest, dev: 1, ino: 2, birthtimeMs: 3 },
});

const read = (command: string, entries: readonly JournalEntry[], more: object = {}): Operation =>
  fold('/state/operations/op_1', [intent(command, more), ...entries]);

const unrecorded = { idempotency_key: undefined, body: undefined, unrecorded: true };

type Row = [
  command: string,
  entries: readonly JournalEntry[],
  state: 'open' | 'ended',
  resumes: Operation['resumes'],
  also?: Readonly<Record<string, unknown>>,
  more?: object,
];

describe('the progress of an operation, and what resuming it does', () => {
  it.each<Row>([
    // A search: the rest of what has arrived can be bought, and nothing else.
    ['search', [], 'open', 'no', { isSent: false, isBegun: false, isInDoubt: false, isRefused: false }],
    ['search', [sent], 'open', 'no', { isSent: true, isBegun: true, isInDoubt: true, isRefused: false }],
    ['search', [sent, created], 'open', 'rest', { isInDoubt: false }],
    ['search', [sent, created, answered], 'open', 'rest', { isComplete: false, isInDoubt: false }],
    ['search', [sent, answered], 'open', 'no', { isInDoubt: false }],
    ['search', [sent, created, cut], 'ended', 'rest', { isComplete: false, isRefused: false }],
    // The service has never told its ID, and brought leads.
    ['search', [sent, cut], 'ended', 'rest', { isInDoubt: false }],
    // Everything that arrived was dropped here: it has arrived all the same.
    ['search', [sent, terminal('partial', { charged: 'yes', leads: 0, excluded: 3 })], 'ended', 'rest'],
    ['search', [sent, created, complete()], 'ended', 'no', { isComplete: true }],
    ['search', [sent, refused], 'ended', 'no', { isRefused: true, isBegun: false, isInDoubt: false }],
    ['search', [sent, created, refused], 'ended', 'no', { isRefused: true }],
    ['search', [refused], 'ended', 'no', { isRefused: true }],
    ['search', [sent, failed()], 'open', 'no', { isInDoubt: true, isRefused: false }],
    ['search', [sent, created, dropped], 'ended', 'no', { isDropped: true }],
    ['search', [sent, created, terminal('reader_closed')], 'ended', 'rest', { isReaderGone: true }],
    // What was not recorded has no request, so that nothing can be bought of it.
    ['search', [sent, created], 'open', 'no', { parts: [{ isSent: true }], isInDoubt: false }, unrecorded],
    ['search', [sent, cut], 'ended', 'no', {}, { unrecorded: true }],
    ['search', [sent, created], 'open', 'no', { parts: [] }, { idempotency_key: undefined }],
    // The rest of a search.
    ['search', [sent, cut, rest(3)], 'open', 'rest', { isInDoubt: false, end: undefined }],
    ['search', [sent, cut, rest(3), sent], 'open', 'rest', { isInDoubt: true }],
    ['search', [sent, cut, rest(3), sent, created], 'open', 'rest', { isInDoubt: false }],
    ['search', [sent, rest(3)], 'open', 'rest', { isInDoubt: false }],
    ['search', [sent, created, rest(0)], 'open', 'rest'],
    ['search', [sent, cut, rest(3), sent, created, answered], 'open', 'rest', { isInDoubt: false }],
    ['search', [sent, cut, rest(3), sent, complete()], 'ended', 'no', { isComplete: true }],
    // Its refusal leaves what came before as it was, and its loss is told.
    ['search', [sent, cut, rest(3), sent, refused], 'ended', 'rest', { isBegun: true, isRefused: false }],
    ['search', [sent, rest(3), sent, refused], 'open', 'rest', { end: undefined, isInDoubt: false }],
    ['search', [sent, cut, rest(0), sent, lost], 'ended', 'rest', { end: { charged: 'maybe' } }],
    ['search', [sent, cut, rest(0), dropped], 'ended', 'no', { isDropped: true }],
    // A user who does not want it has paid nothing for its rest.
    [
      'search',
      [sent, cut, rest(0), terminal('partial', { charged: 'no', dropped: true })],
      'ended',
      'no',
      { isDropped: true },
    ],
    // A task goes on by itself until it ends.
    ['task run', [], 'open', 'itself'],
    ['task run', [sent], 'open', 'itself', { isInDoubt: true }],
    ['task run', [sent, created], 'open', 'itself', { isInDoubt: false }],
    ['task run', [sent, created, page(0, 5), answered], 'open', 'itself'],
    ['task run', [sent, created, complete()], 'ended', 'no', { isComplete: true }],
    ['task run', [sent, created, terminal('not_found')], 'ended', 'no'],
    ['task run', [sent, created, terminal('reader_closed')], 'ended', 'itself', { isReaderGone: true }],
    ['task run', [sent, created, terminal('reader_closed', { dropped: true })], 'ended', 'no'],
    ['task wait', [], 'open', 'itself', { parts: [], isSearch: false, isInDoubt: false }],
    ['task wait', [page(0, 5)], 'open', 'itself'],
    ['task wait', [page(0, 0)], 'open', 'itself'],
    ['task create', [sent], 'open', 'no', { isInDoubt: true }],
    ['task create', [sent, created], 'open', 'no', { isInDoubt: false }],
    // One answer is bought whole or not at all.
    ['contact', [sent], 'open', 'no', { isInDoubt: true }],
    ['contact', [sent, answered], 'open', 'no', { isInDoubt: false }],
    ['contact', [sent, answered, complete(1)], 'ended', 'no', { isInDoubt: false }],
    // A list, until every row is answered.
    ['contact list', [], 'open', 'itself', { parts: [], isInDoubt: false, isSearch: false }],
    ['contact list', [sent], 'open', 'itself', { isInDoubt: false }],
    ['contact list', [sent, terminal('partial', { charged: 'yes' })], 'ended', 'itself', { isBegun: true }],
    ['contact list', [sent, entry.spent({ credits: 20 }, 2)], 'open', 'itself', { end: undefined }],
    // A later run begins: how the one before ended is no longer how the list ended.
    ['contact list', [sent, terminal('partial'), reserved], 'open', 'itself', { end: undefined }],
    ['contact list', [sent, complete()], 'ended', 'no', { isComplete: true }],
    ['contact list', [sent, terminal('partial', { charged: 'no' })], 'ended', 'itself', { isBegun: false }],
    ['contact list', [sent, dropped], 'ended', 'no'],
    ['no kind of today', [sent, created], 'open', 'no'],
  ])('%s %j: %s, %s', (command, entries, state, resumes, also, more) => {
    const operation = read(command, entries, more);
    expect(operation).toMatchObject({ operationId: 'op_1', resumes, ...also });
    expect(operation.end === undefined ? 'open' : 'ended').toBe(state);
  });
});

describe('what has been received and printed', () => {
  it.each<readonly [command: string, entries: readonly JournalEntry[], progress: object]>([
    [
      'search',
      [],
      {
        ...{ leadsSearchId: undefined, isNamed: false, requestId: undefined, isAnswered: false },
        ...{ delivered: 0, excluded: 0, hasCounts: false, printed: 0, start: 0, position: 0 },
        ...{ state: undefined, readyCount: undefined, stopReason: undefined },
      },
    ],
    ['search', [created], { leadsSearchId: 'ls_1', isNamed: true, requestId: 'req_1' }],
    ['search', [created, renamed], { leadsSearchId: 'ls_2', requestId: 'req_1' }],
    ['contact', [answered], { isAnswered: true, requestId: 'req_2', stopReason: undefined }],
    ['contact', [answered, entry.answered(undefined)], { requestId: 'req_2' }],
    ['contact', [failed()], { requestId: 'req_4' }],
    ['contact', [answered, failed()], { requestId: 'req_2' }],
    ['contact', [failed({ request_id: null })], { requestId: undefined }],
    // Everything has arrived, and this is how it ended.
    [
      'task run',
      [page(0, 5), entry.answered('req_2', { state: 'done', ready_count: 5, stop_reason: 'limit' })],
      { isAnswered: true, state: 'done', readyCount: 5, stopReason: 'limit', delivered: 5 },
    ],
    [
      'task run',
      [page(0, 5), entry.answered('req_2', { state: null, ready_count: null, stop_reason: null })],
      { state: 'running', readyCount: 20, stopReason: undefined },
    ],
    // The counts of a search are those of its last entry, or of the beginning of its rest.
    ['search', [cut], { delivered: 3, excluded: 0, hasCounts: true }],
    ['search', [terminal('partial', { leads: 3, excluded: 2 })], { delivered: 3, excluded: 2 }],
    ['search', [terminal('partial', { charged: 'maybe' })], { delivered: 0, hasCounts: false }],
    ['search', [terminal('partial', { leads: 0 })], { delivered: 0, hasCounts: true }],
    ['search', [cut, rest(4, 1)], { delivered: 4, excluded: 1, hasCounts: true }],
    ['search', [rest(4, 1)], { delivered: 4, excluded: 1, hasCounts: true }],
    ['search', [rest(4, 1), complete(7)], { delivered: 7, excluded: 1 }],
    ['search', [rest(4, 1), complete(7, 3)], { delivered: 7, excluded: 3 }],
    ['search', [cut, rest(4, 1), sent, refused], { delivered: 4, excluded: 1 }],
    // Each page adds to them, without what was dropped here.
    [
      'task run',
      [page(0, 5), page(5, 5, { excluded: 2 })],
      {
        ...{ delivered: 8, excluded: 2, position: 10, start: 0, hasCounts: true },
        ...{ state: 'running', readyCount: 20 },
      },
    ],
    [
      'task run',
      [page(0, 5), page(5, 3, { state: null, ready_count: 21 })],
      { delivered: 8, position: 8, state: 'running', readyCount: 21 },
    ],
    ['task run', [page(0, 5, { next: 9 })], { delivered: 5, position: 9 }],
    ['task wait', [page(4, 0)], { delivered: 0, hasCounts: true, position: 4 }],
    // What was written to standard output counts over all runs.
    ['search', [entry.printed(4)], { printed: 4, delivered: 0, hasCounts: false }],
    ['search', [entry.printed(4), entry.printed(9), created], { printed: 9 }],
    ['search', [entry.printed(4), cut, rest(6)], { printed: 4, delivered: 6 }],
    // How it ended.
    [
      'search',
      [terminal('partial', { state: 'error', ready_count: 7, stop_reason: 'limit' })],
      { state: 'error', readyCount: 7, stopReason: 'limit' },
    ],
    ['task run', [page(0, 5), complete()], { state: 'running', readyCount: 20 }],
    ['search', [entry.answered('r', { stop_reason: 'limit' }), complete()], { stopReason: 'limit' }],
    // Entries about money and files alone change nothing here.
    [
      'contact list',
      [
        ...[reserved, entry.spent({ credits: 20 }, 2), entry.balance(9), entry.part('/a.csv.abcdef.part')],
        ...[entry.adding(addition('d')), placed],
      ],
      { hasCounts: false, delivered: 0, isAnswered: false, printed: 0 },
    ],
  ])('%s %j', (command, entries, progress) => {
    expect(read(command, entries).progress).toMatchObject(progress);
  });

  it.each([
    ['a task', { leads_search_id: 'ls_0' }, { leadsSearchId: 'ls_0', start: 0 }],
    ['a position', { options: { pts: 4 } }, { position: 4, start: 4, isNamed: false }],
    ['a position that was typed', { options: { pts: '4' } }, { position: 4, start: 4 }],
  ])('begins with %s that was named', (_, more, progress) => {
    expect(read('task wait', [], more).progress).toMatchObject(progress);
  });
});

describe('files and added rows of its runs', () => {
  const [one, other] = [addition('d'), addition('e')];
  const [part, next] = ['/a.csv.abcdef.part', '/b.csv.ghijkl.part'];
  it.each<readonly [entries: readonly JournalEntry[], left: object]>([
    [[], { files: [], additions: [] }],
    // The files of all its runs, until the output is in its place: then they are removed.
    [[entry.part(part)], { files: [part] }],
    [[entry.part(part), placed, entry.part(next), cut], { files: [next] }],
    // The rows of all its runs, in their order, whatever has become of them.
    [[entry.adding(one)], { additions: [one] }],
    [[entry.adding(one), entry.adding(other), placed], { additions: [one, other] }],
    [[entry.adding({ ...one, note: 'run 1' })], { additions: [{ note: 'run 1' }] }],
  ])('%j', (entries, left) => {
    expect(read('contact list', entries)).toMatchObject(left);
  });
});

it.each<readonly [entries: readonly JournalEntry[], sentRows: number, isRunOpen: boolean]>([
  [[], 0, true],
  [[sent], 0, true],
  [[entry.spent({ credits: 20 }, 2)], 2, false],
  [[entry.spent({ credits: 20 })], 0, false],
  [[entry.spent({ credits: 20 }, 2), reserved], 2, true],
  [[entry.spent({ credits: 20 }, 2), reserved, entry.spent({ credits: 50 }, 5)], 5, false],
  [[terminal('partial', { sent_rows: 4 })], 4, false],
  [[terminal('partial', { sent_rows: 4 }), reserved], 4, true],
  [[terminal('partial', { sent_rows: 4 }), reserved, dropped], 4, false],
  [[terminal('partial')], 0, false],
])('rows that a list has sent, and whether its last run is open: %j', (entries, sentRows, isRunOpen) => {
  expect(read('contact list', entries)).toMatchObject({ sentRows, isRunOpen });
  // Only a list has rows.
  expect(read('search', entries).isRunOpen).toBe(false);
});

it.each<readonly [entries: readonly JournalEntry[], countedAt: Date]>([
  [[sent], time],
  [[reserved], later],
  [[sent, cut, rest(3)], later],
  [[reserved, entry.spent({ credits: 20 }, 2), complete()], later],
])('when what it can cost was counted last: %j', (entries, countedAt) => {
  expect(read('search', entries).countedAt).toBe(countedAt.toISOString());
});

describe('the purchases of an operation', () => {
  const first = { idempotencyKey: 'key 1', body: '{"limit":10}', worst: { credits: 10 } };
  const second = { idempotencyKey: 'key 2', body: '{"limit":2}', worst: { credits: 2 } };
  const unsent = {
    ...{ isSent: false, sentAt: undefined, leadsSearchId: undefined },
    ...{ received: undefined, outcome: undefined, charged: undefined },
  };
  it.each<readonly [entries: readonly JournalEntry[], parts: readonly object[]]>([
    [[], [{ ...first, ...unsent }]],
    [[sent], [{ ...first, isSent: true, sentAt: time.toISOString(), received: undefined }]],
    // It was sent again on another day.
    [[sent, entry.sent(later)], [{ isSent: true, sentAt: later.toISOString() }]],
    [[sent, created], [{ leadsSearchId: 'ls_1' }]],
    [[sent, created, renamed], [{ leadsSearchId: 'ls_1' }]],
    [[sent, cut], [{ outcome: 'partial', charged: 'yes', received: 3 }]],
    [[sent, complete(5, 2)], [{ outcome: 'complete', received: 7 }]],
    [[sent, lost], [{ outcome: 'partial', charged: 'maybe', received: undefined }]],
    [
      [sent, cut, rest(3)],
      [
        { ...first, received: 3, outcome: 'partial' },
        { ...second, ...unsent },
      ],
    ],
    // What is stored when the rest begins belongs to the part that it came from.
    [
      [sent, created, rest(5, 2), entry.sent(later), renamed],
      [
        { received: 7, leadsSearchId: 'ls_1', outcome: undefined },
        { isSent: true, sentAt: later.toISOString(), leadsSearchId: 'ls_2', received: undefined },
      ],
    ],
    // What a part has received alone, however many came before.
    [
      [sent, cut, rest(3), sent, complete(5, 1)],
      [{ received: 3 }, { received: 3, outcome: 'complete', charged: 'yes' }],
    ],
    [
      [sent, rest(3), sent, rest(5, 1), sent, complete(9, 2)],
      [{ received: 3 }, { received: 3 }, { ...second, received: 5 }],
    ],
    // A refused rest is its own, and the end of the one before stays that of the operation.
    [
      [sent, cut, rest(3), sent, refused],
      [
        { outcome: 'partial', charged: 'yes' },
        { outcome: 'credits', charged: 'no', received: undefined },
      ],
    ],
  ])('%j', (entries, parts) => {
    const operation = read('search', entries);
    expect(operation.parts).toHaveLength(parts.length);
    expect(operation.parts).toMatchObject(parts);
  });

  it('has none where nothing is bought with one key', () => {
    for (const command of ['task wait', 'contact list']) expect(read(command, [sent]).parts).toEqual([]);
  });
});

describe('how it ended', () => {
  const charged = { charged: 'yes', leads: 3 } as const;
  it.each<readonly [entries: readonly JournalEntry[], also: object]>([
    [[sent], { end: undefined, failed: undefined, creditsAfter: undefined }],
    [[cut], { end: { outcome: 'partial', ...charged } }],
    [[terminal('complete')], { end: terminal('complete') }],
    [[dropped], { isDropped: true }],
    [[sent, cut, rest(3), sent, refused], { end: { outcome: 'partial', leads: 3 } }],
    [[sent, cut, rest(3), sent, complete(5)], { end: { outcome: 'complete', leads: 5 } }],
    [[sent, cut, rest(3), sent, lost], { end: lost }],
    // One that was complete before stays so, also where a run of it ended otherwise.
    [
      [complete(), terminal('partial', { charged: 'yes' })],
      { isComplete: true, end: { outcome: 'partial' } },
    ],
    [[dropped, cut], { isDropped: true }],
    [
      [failed({ error_type: 'api_error', gone: true })],
      {
        failed: {
          ...{ outcome: 'unknown', message: 'lost', error_type: 'api_error', request_id: 'req_4' },
          ...{ charged: 'maybe', gone: true },
        },
      },
    ],
    [[failed({ charged: null, request_id: null })], { failed: { charged: null, request_id: null } }],
    [[entry.balance(9), entry.balance(8)], { creditsAfter: 8 }],
  ])('%j', (entries, also) => {
    expect(read('search', entries)).toMatchObject(also);
  });

  it('has the output for which it was begun', () => {
    const more = { output: '/a.csv', options: { format: 'csv' } };
    expect(read('contact list', [entry.part('/b.csv.abcdef.part')], more).terms).toEqual(more);
  });
});

describe('what it has cost at most', () => {
  const unpriced = (setting: string, units: number) => ({ credits: 0, unknown: { setting, units } });
  const enriched = { worst_case: unpriced('price.search', 10) };
  const none: Cost = { credits: 0 };
  it.each<[says: string, command: string, entries: readonly JournalEntry[], cost: object, more?: object]>([
    // Searches and tasks that have ended are settled by what they brought.
    ['a whole search what it brought', 'search', [sent, complete(4)], { credits: 4 }],
    ['with leads that were dropped here', 'search', [sent, complete(4, 3)], { credits: 7 }],
    ['one that found nothing, nothing', 'search', [sent, complete(0)], none],
    [
      'an enriched one as much more',
      'search',
      [sent, complete(4)],
      { credits: 10 },
      { worst_case: { credits: 25 } },
    ],
    ['one that brought more than it may, its worst case', 'search', [sent, complete(12)], { credits: 10 }],
    [
      'one without a limit, that of the interface',
      'search',
      [sent, complete(4)],
      { credits: 4 },
      { body: '{}', worst_case: { credits: 100 } },
    ],
    ['a task run, too', 'task run', [sent, created, page(0, 4), complete(4)], { credits: 4 }],
    [
      'decimals without their errors',
      'search',
      [sent, complete(3)],
      { credits: 0.3 },
      { worst_case: { credits: 1 } },
    ],
    // Of all others the worst case holds.
    ['one that is not answered, its worst case', 'search', [sent, created], { credits: 10 }],
    [
      'one that has everything, and has not ended, its worst case',
      'search',
      [sent, created, answered],
      { credits: 10 },
    ],
    ['a cut one its worst case', 'search', [sent, cut], { credits: 10 }],
    ['a task that ended in error, its worst case', 'task run', [sent, created, lost], { credits: 10 }],
    ['a created task its worst case', 'task create', [sent, created, terminal('complete')], { credits: 10 }],
    [
      'one whose journal counts nothing, its worst case',
      'search',
      [sent, terminal('complete')],
      { credits: 10 },
    ],
    ['a contact its price', 'contact', [sent, answered, complete(1)], { credits: 10 }],
    ['an extraction its worst case', 'extract', [sent, answered, complete(3)], { credits: 10 }],
    ['a kind of another version its worst case', 'divine', [sent, complete(3)], { credits: 10 }],
    // What was refused cost nothing.
    ['a refused one nothing', 'search', [sent, refused], none],
    ['a refused contact nothing, whatever its price', 'contact', [sent, refused], none, enriched],
    ['one whose answer was lost, its worst case', 'contact', [sent, failed()], { credits: 10 }],
    // The rest of a search is paid for beside what came before.
    ['a rest that was sent, both worst cases', 'search', [sent, cut, rest(3), sent], { credits: 12 }],
    ['a whole rest what it brought', 'search', [sent, cut, rest(3), sent, complete(4)], { credits: 11 }],
    ['a refused rest nothing', 'search', [sent, cut, rest(3), sent, refused], { credits: 10 }],
    ['a lost rest its worst case', 'search', [sent, cut, rest(3), sent, lost], { credits: 12 }],
    [
      'three parts each its own',
      'search',
      [sent, cut, rest(3), sent, rest(4), sent, complete(5)],
      { credits: 10 + 2 + 1 },
    ],
    // What had no price is told with its units.
    ['an unpriced one that was cut', 'search', [sent, cut], unpriced('price.search', 10), enriched],
    ['an unpriced one what it brought', 'search', [sent, complete(4)], unpriced('price.search', 4), enriched],
    ['an unpriced one that found nothing, nothing', 'search', [sent, complete(0)], none, enriched],
    [
      'an unpriced one with a priced rest, both',
      'search',
      [sent, cut, rest(3), sent],
      { credits: 2, unknown: { setting: 'price.search', units: 10 } },
      enriched,
    ],
    // Each row of a list that was sent may have cost as much as a row can.
    ['a list that has sent nothing, nothing', 'contact list', [sent], none],
    ['a list its rows', 'contact list', [sent, terminal('partial', { sent_rows: 4 })], { credits: 40 }],
    ['a list that did not end', 'contact list', [sent, entry.spent(none, 2), reserved], { credits: 20 }],
    [
      'a complete list its rows, too',
      'contact list',
      [sent, terminal('complete', { sent_rows: 3 })],
      { credits: 30 },
    ],
    [
      'an unpriced list the units of its rows',
      'contact list',
      [entry.spent(none, 3)],
      unpriced('price.contact.email', 3),
      { worst_case: unpriced('price.contact.email', 1) },
    ],
    ['what reads a task, nothing', 'task wait', [page(0, 5), complete(5)], none],
  ])('%s', (_, command, entries, cost, more) => {
    const { unknown, ...known } = costOf(read(command, entries, more));
    expect({ ...known, ...(unknown && { unknown }) }).toEqual(cost);
  });

  it('is, of a list that was killed, that of the rows that it has stored as sent', () => {
    const operation = read('contact list', [sent, entry.spent(none, 2), reserved]);
    expect(costOf(operation, 5)).toEqual({ credits: 50 });
    expect(costOf(read('search', [sent, complete(4)]), 5)).toMatchObject({ credits: 4 });
  });
});

it('a part that was never sent has cost nothing', () => {
  // Killed between `rest` and `sent`, then resumed once more: 10 for the search, 2 for the rest.
  const done = complete(5);
  expect(costOf(fold('op_1', [intent('search'), sent, cut, rest(3), rest(3), sent, done]))).toEqual({
    credits: 12,
  });
});
