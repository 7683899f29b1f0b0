import { describe, expect, it } from 'vitest';
import { entry, type Intent, type JournalEntry } from '../../src/operations/journal/entries.ts';
import { fold, type Operation, toRestarted } from '../../src/operations/operation.ts';

/** What the one reader of a journal makes of its entries. Each row shows one thing, and is short. */

const time = new Date('2026-01-31T09:00:00Z');
const addition = { at: 10, from: 0, before: '', length: 5, digest: 'd' };

/** An intent of this kind; what is bought has a key and a body. */
function intent(command: string, more: Partial<Intent> = {}): Intent {
  const isBought = !command.endsWith(' list') && command !== 'task wait';
  return {
    type: 'intent',
    version: 1,
    index: { like: '' },
    time: time.toISOString(),
    command,
    ...(isBought ? { idempotency_key: 'key 1', body: '{}', worst_case: 10 } : {}),
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
const placed = entry.placed();
const opened = (length: number) => entry.opened(length)[0] as JournalEntry;
const written = entry.written(70, { stopReason: 'limit', state: 'done', readyCount: 9 });
const adding = (rows?: string) => entry.adding(addition, rows);
const answered = entry.answered('req_2');
const ids = { leadsSearchId: undefined, requestId: undefined };
const batch = (delivered: number, length: number | undefined, excluded = 0, leadsSearchId = 'ls_1') =>
  entry.batch({ delivered, excluded, leadsSearchId, requestId: 'req_3', length });
const unnamed = entry.batch({ ...ids, delivered: 1, excluded: 0, length: 30 });
const page = (pts: number, count: number, more: object = {}) =>
  entry.page({
    ...{ pts, count, next: pts + count, readyCount: 20, state: 'running', length: 100 + pts },
    ...{ enrichFields: [], excluded: 0 },
    ...more,
  });
const rest = (delivered: number, excluded = 0) =>
  entry.rest({
    ...{ time: time.toISOString(), idempotency_key: 'key 2', body: '{"limit":2}', worst_case: 2 },
    ...{ delivered, excluded },
  });
const terminal = entry.terminal;
const complete = (leads = 5) => terminal('complete', { charged: 'yes', leads });
const cut = terminal('partial', { charged: 'yes', leads: 3 });
const refused = terminal('credits', { charged: 'no' });
const failed = (more: object = {}) =>
  entry.failed({ outcome: 'unknown', message: 'lost', request_id: 'req_4', charged: 'maybe', ...more });
const dropped = terminal('partial', { charged: 'yes', dropped: true });

const read = (command: string, entries: readonly JournalEntry[], more: object = {}): Operation =>
  fold('/state/operations/op_1', [intent(command, more), ...entries]);

const unrecorded = { idempotency_key: undefined, body: undefined };

type Row = [
  command: string,
  entries: readonly JournalEntry[],
  phase: Operation['phase'],
  resumes: Operation['resumes'],
  also?: Readonly<Record<string, unknown>>,
  more?: object,
];

describe('how far an operation is, and what resuming it means', () => {
  it.each<Row>([
    // A search: the rest of what has arrived can be bought, and nothing else.
    ['search', [], 'new', 'no', { isSent: false, isBegun: false, isInDoubt: false }],
    ['search', [sent], 'sent', 'no', { isSent: true, isBegun: true, isInDoubt: true }],
    ['search', [sent, created], 'receiving', 'rest', { isInDoubt: false }],
    ['search', [sent, batch(2, 20)], 'receiving', 'rest', { isInDoubt: false }],
    // Everything that arrived was dropped here: it has arrived all the same.
    ['search', [sent, batch(0, 0, 3)], 'receiving', 'rest', { isInDoubt: false }],
    ['search', [sent, created, batch(3, 30), written], 'received', 'rest', { isComplete: false }],
    ['search', [sent, created, written, adding()], 'placing', 'rest'],
    ['search', [sent, created, written, adding(), placed], 'received', 'rest'],
    ['search', [sent, created, batch(3, 30), cut], 'ended', 'rest', { isComplete: false, isRefused: false }],
    ['search', [sent, created, complete()], 'ended', 'no', { isComplete: true }],
    ['search', [sent, refused], 'ended', 'no', { isRefused: true, isBegun: false, isInDoubt: false }],
    ['search', [refused], 'ended', 'no', { isRefused: true }],
    ['search', [sent, failed()], 'sent', 'no', { isInDoubt: true, isRefused: false }],
    ['search', [sent, created, dropped], 'ended', 'no', { isDropped: true }],
    ['search', [sent, created, terminal('reader_closed')], 'ended', 'rest', { isReaderGone: true }],
    // What was not recorded has no request, so that nothing can be bought of it.
    ['search', [sent, created], 'receiving', 'no', { parts: [], isInDoubt: false }, unrecorded],
    ['search', [sent, created], 'receiving', 'no', { parts: [] }, { body: undefined }],
    // One lead is enough, also without the ID of the search.
    [
      'search',
      [sent, unnamed],
      'receiving',
      'rest',
      { isInDoubt: false, parts: [{ delivered: 1, leadsSearchId: undefined }] },
    ],
    // The rest of a search.
    ['search', [sent, batch(3, 30), cut, rest(3)], 'receiving', 'rest', { isInDoubt: false, end: undefined }],
    ['search', [sent, batch(3, 30), cut, rest(3), sent], 'receiving', 'rest', { isInDoubt: true }],
    ['search', [sent, batch(3, 30), cut, rest(3), sent, created], 'receiving', 'rest', { isInDoubt: false }],
    ['search', [sent, batch(3, 30), written, rest(3)], 'receiving', 'rest'],
    ['search', [sent, batch(3, 30), cut, rest(3), sent, complete()], 'ended', 'no', { isComplete: true }],
    // Its refusal leaves what came before as it was, and its loss is told.
    ['search', [sent, batch(3, 30), cut, rest(3), sent, refused], 'ended', 'rest', { isBegun: true }],
    ['search', [sent, batch(3, 30), rest(3), sent, refused], 'receiving', 'rest', { end: undefined }],
    ['search', [sent, cut, rest(0), sent, terminal('partial', { charged: 'maybe' })], 'ended', 'rest'],
    ['search', [sent, cut, rest(0), dropped], 'ended', 'no', { isDropped: true }],
    // A task goes on by itself until it ends.
    ['task run', [], 'new', 'itself'],
    ['task run', [sent], 'sent', 'itself', { isInDoubt: true }],
    ['task run', [sent, created], 'receiving', 'itself', { isInDoubt: false }],
    ['task run', [sent, created, page(0, 5), written], 'received', 'itself'],
    ['task run', [sent, created, complete()], 'ended', 'no', { isComplete: true }],
    ['task run', [sent, created, terminal('not_found')], 'ended', 'no'],
    ['task run', [sent, created, terminal('reader_closed')], 'ended', 'itself', { isReaderGone: true }],
    ['task run', [sent, created, terminal('reader_closed', { dropped: true })], 'ended', 'no'],
    ['task wait', [], 'new', 'itself', { parts: [], isSearch: false }],
    ['task wait', [page(0, 5)], 'receiving', 'itself'],
    ['task create', [sent], 'sent', 'no', { isInDoubt: true }],
    ['task create', [sent, created], 'receiving', 'no', { isInDoubt: false }],
    // One answer is bought whole or not at all.
    ['contact', [sent], 'sent', 'no', { isInDoubt: true }],
    ['contact', [sent, answered], 'received', 'no', { isInDoubt: false }],
    ['contact', [sent, answered, complete(1)], 'ended', 'no', { isInDoubt: false }],
    // A list, until every row is answered.
    ['contact list', [], 'new', 'itself', { parts: [], isInDoubt: false, isSearch: false }],
    ['contact list', [sent], 'receiving', 'itself', { isInDoubt: false }],
    ['contact list', [sent, terminal('partial', { charged: 'yes' })], 'ended', 'itself', { isBegun: true }],
    ['contact list', [sent, complete()], 'ended', 'no', { isComplete: true }],
    ['contact list', [sent, terminal('partial', { charged: 'no' })], 'ended', 'itself', { isBegun: false }],
    ['contact list', [sent, dropped], 'ended', 'no'],
    ['no kind of today', [sent, created], 'receiving', 'no'],
  ])('%s %j: %s, %s', (command, entries, phase, resumes, also, more) => {
    expect(read(command, entries, more)).toMatchObject({ operationId: 'op_1', phase, resumes, ...also });
  });
});

describe('what has been received and written', () => {
  const pages = [
    page(0, 5, { enrichFields: ['size'] }),
    page(5, 5, { enrichFields: ['other'], excluded: 2 }),
  ];
  it.each<readonly [command: string, entries: readonly JournalEntry[], progress: object]>([
    [
      'search',
      [],
      {
        ...{
          leadsSearchId: undefined,
          isNamed: false,
          requestId: undefined,
          isAnswered: false,
          delivered: 0,
        },
        ...{ excluded: 0, counted: 0, hasCounts: false, hasOpened: false, isAdded: false, added: [] },
        ...{ outputLength: undefined, written: undefined, adding: undefined, additions: 0 },
      },
    ],
    ['search', [created], { leadsSearchId: 'ls_1', isNamed: true, requestId: 'req_1' }],
    ['search', [created, entry.created('ls_2', undefined)], { leadsSearchId: 'ls_2', requestId: 'req_1' }],
    ['contact', [answered], { isAnswered: true, requestId: 'req_2' }],
    ['contact', [answered, entry.answered(undefined)], { requestId: 'req_2' }],
    ['contact', [failed()], { requestId: 'req_4' }],
    ['contact', [answered, failed()], { requestId: 'req_2' }],
    // Batches count from the beginning of their part, and what has no length was perhaps not written.
    [
      'search',
      [batch(2, 20), batch(5, 50, 1)],
      { delivered: 5, excluded: 1, counted: 5, hasCounts: true, leadsSearchId: 'ls_1', requestId: 'req_3' },
    ],
    ['search', [batch(2, 20), batch(5, undefined)], { delivered: 5, counted: 2 }],
    ['search', [batch(2, undefined), batch(5, undefined)], { delivered: 5, counted: 5 }],
    ['search', [batch(2, 20), unnamed], { leadsSearchId: 'ls_1', requestId: 'req_3', delivered: 1 }],
    // The rest begins with what is stored, which may be more than was counted; all of it is in the output then.
    ['search', [batch(2, 20), rest(4, 1)], { delivered: 4, excluded: 1, counted: 4, hasCounts: true }],
    ['search', [rest(4, 1), batch(3, 30, 2)], { delivered: 7, excluded: 3, counted: 7 }],
    ['search', [rest(4, 1), batch(3, undefined)], { delivered: 7, excluded: 1, counted: 7 }],
    ['search', [rest(4), batch(3, 30), rest(7), batch(1, 10)], { delivered: 8, counted: 8 }],
    ['search', [written, rest(4)], { written: undefined }],
    // Pages: the last one of each position counts, and the columns are those of the first.
    [
      'task run',
      pages,
      {
        ...{ delivered: 8, excluded: 2, position: 10, lastPage: 5, outputLength: 105, start: 0 },
        ...{ state: 'running', readyCount: 20, enrichFields: ['size'], hasPage: true, hasCounts: true },
      },
    ],
    [
      'task run',
      [...pages, page(5, 3, { state: undefined, readyCount: 21, length: undefined })],
      { delivered: 8, excluded: 0, position: 8, state: 'running', readyCount: 21, outputLength: undefined },
    ],
    // Written anew: what the service told is still true, and nothing else.
    [
      'task run',
      [created, opened(9), ...pages, adding('rows-1'), placed, entry.restarted({ pts: 4 })],
      {
        ...{ leadsSearchId: 'ls_1', isNamed: true, requestId: 'req_1', hasOpened: true, additions: 1 },
        ...{
          delivered: 0,
          excluded: 0,
          position: 0,
          hasPage: false,
          enrichFields: undefined,
          isAdded: false,
        },
        ...{ outputLength: undefined, added: ['rows-1'], state: undefined },
      },
    ],
    ['task run', [...pages, entry.restarted({}), page(0, 4)], { delivered: 4, excluded: 0, position: 4 }],
    // The output.
    ['search', [opened(9)], { hasOpened: true, outputLength: 9 }],
    [
      'search',
      [written],
      { written: { outputLength: 70, stopReason: 'limit', state: 'done', readyCount: 9 } },
    ],
    [
      'search',
      [entry.written(undefined)],
      {
        written: { outputLength: undefined, stopReason: undefined, state: undefined, readyCount: undefined },
      },
    ],
    ['search', [adding()], { adding: addition, additions: 1, isAdded: false }],
    ['search', [adding(), placed], { adding: undefined, isAdded: true, added: [] }],
    ['contact list', [adding('rows-1'), placed], { added: ['rows-1'], additions: 1 }],
    [
      'contact list',
      [adding('rows-1'), placed, adding('rows-2'), placed, placed],
      { added: ['rows-1', 'rows-2'], additions: 2 },
    ],
    // Opened again, what was being added never was, and what was placed belongs to an earlier run.
    ['contact list', [adding('rows-1'), opened(9)], { adding: undefined, added: [], additions: 1 }],
    ['contact list', [adding('rows-1'), opened(9), placed], { added: [], isAdded: true }],
    [
      'search',
      [{ ...entry.written(70), stop_reason: null } as JournalEntry],
      { written: { stopReason: undefined } },
    ],
    ['contact', [failed({ request_id: null })], { requestId: undefined }],
    ['search', [placed, opened(9)], { isAdded: false }],
    ['search', [placed, sent], { isAdded: false }],
    // Entries about money alone change nothing here.
    [
      'contact list',
      [entry.reserved(time, { credits: 3 }), entry.spent({ credits: 2, sent_rows: 1 }), entry.balance(9)],
      { hasCounts: false },
    ],
  ])('%s %j', (command, entries, progress) => {
    expect(read(command, entries).progress).toMatchObject(progress);
  });

  it.each([
    [
      'a task',
      'task wait',
      { leads_search_id: 'ls_0', options: { pts: 4 } },
      { leadsSearchId: 'ls_0', start: 4 },
    ],
    ['a position', 'task wait', { options: { pts: 4 } }, { position: 4, lastPage: 4, isNamed: false }],
  ])('begins with %s that was named', (_, command, more, progress) => {
    expect(read(command, [], more).progress).toMatchObject(progress);
  });

  it('is, where it is written anew, what the service told', () => {
    const operation = read('task run', [created, opened(9), page(0, 5)]);
    expect(toRestarted(operation)).toMatchObject({ leadsSearchId: 'ls_1', hasOpened: true, position: 0 });
    expect(toRestarted(operation).hasPage).toBe(false);
  });
});

it.each<readonly [entries: readonly JournalEntry[], openRun: object | undefined]>([
  [[], { sentBefore: 0 }],
  [[entry.spent({ credits: 2, sent_rows: 1 })], undefined],
  [[entry.spent({ credits: 2, sent_rows: 1 }), entry.reserved(time, { credits: 3 })], { sentBefore: 1 }],
  [[entry.terminal('partial', { sent_rows: 4 })], undefined],
  [[entry.terminal('partial', { sent_rows: 4 }), entry.reserved(time, { credits: 3 })], { sentBefore: 4 }],
])('the last run of a list is open until it says what it cost: %j', (entries, openRun) => {
  expect(read('contact list', entries).openRun).toEqual(openRun);
  expect(read('search', entries).openRun).toBeUndefined();
});

describe('the purchases of an operation', () => {
  const first = { idempotencyKey: 'key 1', body: '{}', worstCase: 10 };
  const second = { idempotencyKey: 'key 2', body: '{"limit":2}', worstCase: 2 };
  const unsent = { isSent: false, leadsSearchId: undefined, delivered: 0, excluded: 0, outcome: undefined };
  it.each<readonly [entries: readonly JournalEntry[], parts: readonly object[]]>([
    [[], [{ ...first, ...unsent, charged: undefined }]],
    [[sent], [{ ...first, isSent: true }]],
    [[sent, created], [{ leadsSearchId: 'ls_1' }]],
    [[sent, created, entry.created('ls_2', undefined)], [{ leadsSearchId: 'ls_1' }]],
    [[sent, batch(3, 30, 1)], [{ delivered: 3, excluded: 1, leadsSearchId: 'ls_1' }]],
    [[sent, created, batch(3, 30, 0, 'ls_2')], [{ leadsSearchId: 'ls_1' }]],
    [[sent, cut], [{ outcome: 'partial', charged: 'yes' }]],
    [
      [sent, batch(3, 30), cut, rest(3)],
      [
        { ...first, delivered: 3, outcome: 'partial' },
        { ...second, ...unsent, charged: undefined },
      ],
    ],
    // What was stored and not counted belongs to the part that it came from.
    [
      [sent, batch(3, 30), rest(5, 2), sent, batch(2, 20, 1, 'ls_2')],
      [
        { delivered: 5, excluded: 2, leadsSearchId: 'ls_1' },
        { isSent: true, delivered: 2, excluded: 1, leadsSearchId: 'ls_2' },
      ],
    ],
    [
      [sent, batch(3, 30), rest(3), batch(2, 20), rest(6)],
      [{ delivered: 3 }, { delivered: 3 }, { ...second, delivered: 0 }],
    ],
    // A refused rest is its own, and the end of the one before stays that of the operation.
    [
      [sent, batch(3, 30), cut, rest(3), sent, refused],
      [
        { outcome: 'partial', charged: 'yes' },
        { outcome: 'credits', charged: 'no' },
      ],
    ],
  ])('%j', (entries, parts) => {
    const operation = read('search', entries);
    expect(operation.parts).toHaveLength(parts.length);
    expect(operation.parts).toMatchObject(parts);
  });
});

describe('how it ended', () => {
  const whole = {
    ...{ outcome: 'partial', state: 'error', readyCount: 7, charged: 'yes', leads: 3 },
    ...{ stopReason: 'limit', sentRows: 4 },
  };
  const nothing = { state: undefined, readyCount: undefined, stopReason: undefined };
  it.each<readonly [entries: readonly JournalEntry[], also: object]>([
    [[sent], { end: undefined, failed: undefined, creditsAfter: undefined }],
    [
      [
        terminal('partial', {
          ...{ charged: 'yes', leads: 3, state: 'error', ready_count: 7, stop_reason: 'limit', sent_rows: 4 },
        }),
      ],
      { end: whole },
    ],
    [[terminal('complete', { stop_reason: null })], { end: { outcome: 'complete', ...nothing } }],
    [[dropped], { isDropped: true }],
    [[sent, batch(3, 30), cut, rest(3), sent, refused], { end: { outcome: 'partial', leads: 3 } }],
    [[sent, batch(3, 30), cut, rest(3), sent, complete(5)], { end: { outcome: 'complete', leads: 5 } }],
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
          ...{ outcome: 'unknown', message: 'lost', errorType: 'api_error', requestId: 'req_4' },
          ...{ charged: 'maybe', isGone: true },
        },
      },
    ],
    [
      [failed({ charged: null, request_id: null })],
      { failed: { charged: undefined, requestId: undefined, isGone: false } },
    ],
    [[entry.balance(9), entry.balance(8)], { creditsAfter: 8 }],
  ])('%j', (entries, also) => {
    expect(read('search', entries)).toMatchObject(also);
  });

  it('has the output that was asked for last', () => {
    const more = { output: '/a.csv', options: { format: 'csv' } };
    expect(read('contact list', [], more).terms).toEqual(more);
    const again = read('contact list', [entry.restarted({ format: 'jsonl' })], more);
    expect(again.terms).toEqual({ output: '/a.csv', options: { format: 'jsonl' } });
  });
});
