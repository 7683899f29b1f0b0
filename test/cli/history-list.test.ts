import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { toSince } from '../../src/cli/commands/history/since.ts';
import { fromWallTime, toMinutes, toZonedTime } from '../../src/clock.ts';
import { entry, type Intent, type JournalEntry, toLine } from '../../src/operations/journal/entries.ts';
import { ending, failing } from '../helpers/ending.ts';
import { recordsIn } from '../helpers/fake-context.ts';
import { createMachine } from '../helpers/machine.ts';

const dayMs = 86_400_000;
const now = Date.now();
const { leadpipe, run, state } = createMachine();
const objective = 'dental clinics in Austin\nthat opened this year';
const searchId = `ls_${'0123456789abcdef'.repeat(3).slice(0, 36)}`;

/** The ID of a purchase made this number of days ago: IDs sort chronologically. */
const idOf = (daysAgo: number): string => `op_${String(100 - daysAgo).padStart(14, '0')}`;
const timeOf = (daysAgo: number): Date => new Date(now - daysAgo * dayMs);

/** Writes the journal of a purchase. */
function write(daysAgo: number, text: string): void {
  const folder = join(state, 'operations', idOf(daysAgo));
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'journal.jsonl'), text);
}

function keep(daysAgo: number, intent: Partial<Intent>, ...rest: JournalEntry[]): void {
  const whole: Intent = {
    type: 'intent',
    version: 1,
    time: timeOf(daysAgo).toISOString(),
    command: 'search',
    idempotency_key: `k${daysAgo}`,
    body: JSON.stringify({ entity_type: 'company', objective, limit: 20 }),
    worst_case: { credits: 20 },
    profile: null,
    origin: 'https://api.example',
    key_fingerprint: 'x',
    output: null,
    options: {},
    index: { like: '', key: 'k' },
    list: 'clinics',
    ...intent,
  };
  write(daysAgo, [whole, entry.sent(timeOf(daysAgo)), ...rest].map(toLine).join(''));
}

const over: JournalEntry = {
  type: 'terminal',
  outcome: 'complete',
  state: null,
  ready_count: null,
  charged: 'yes',
  leads: 20,
};
for (let daysAgo = 24; daysAgo >= 1; daysAgo--) keep(daysAgo, {}, over);
keep(
  26,
  {
    command: 'task run',
    list: 'others',
    output: '/home/you/leads/daily/clinics-in-austin.csv',
    body: JSON.stringify({ entity_type: 'company', objective, limit: 40 }),
  },
  { type: 'created', leads_search_id: searchId, request_id: 'req_0123456789abcdef0123456789abcdef' },
  { type: 'page', pts: 0, count: 20, next: 20, ready_count: 40, state: 'running' },
);
keep(27, {
  command: 'contact list',
  body: '{}',
  worst_case: { credits: 5 },
  list: undefined as never,
  options: { contact_type: 'email', input: '/home/you/leads.csv' },
});
const oldest = 28;
keep(oldest, {
  command: 'contact',
  body: JSON.stringify({ contact_type: 'email', objective: 'CTO 🦷 '.repeat(90) }),
});
const all = 27;

async function listed(more = ''): Promise<Record<string, unknown>[]> {
  const { code, stdout } = await leadpipe(`history list ${more}`, { minutesFromUtc: 330 });
  expect(code).toBe(0);
  return recordsIn(stdout);
}

describe('history list in a pipe', () => {
  it('lists all purchases, the newest last, with subjects and times with an offset', async () => {
    const records = await listed();
    expect(records).toHaveLength(all);
    const [first, list] = records;
    expect([first?.operation_id, records.at(-1)?.operation_id]).toEqual([idOf(oldest), idOf(1)]);
    expect(records.at(-1)).toMatchObject({
      command: 'search company',
      subject: 'dental clinics in Austin that opened this year',
      credits_at_most: 20,
      leads: 20,
    });
    expect(list).toMatchObject({ command: 'contact email', subject: '/home/you/leads.csv' });
    expect(String(first?.subject)).toMatch(/^CTO 🦷 CTO .*[^\ufffd]…$/u);
    expect(String(first?.subject).length).toBeLessThanOrEqual(200);
    for (const { time } of records) {
      expect(time).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+05:30$/);
      expect(Math.abs(Date.parse(String(time)) % 1000)).toBe(0);
    }
    expect(Date.parse(String(records.at(-1)?.time))).toBe(Math.floor(timeOf(1).getTime() / 1000) * 1000);
  });

  it.each<[options: string, count: number]>([
    ['--limit 3', 3],
    ['--limit all', all],
    ['--since 7d', 6],
    ['--since 36h', 1],
    ['--since today', 0],
    [`--since ${timeOf(2).toISOString().slice(0, 19)}Z`, 2],
    ['--command search', 24],
    ['--command task', 1],
    ['--command "task r"', 0],
    ['--command "contact email"', 2],
    ['--command contact', 2],
    ['--list others', 1],
    ['--list clinics --since 10d --limit 4', 4],
    ['--command extract', 0],
  ])('%s are %d', async (options, count) => {
    const records = await listed(options);
    expect(records).toHaveLength(count);
    const ids = records.map(({ operation_id }) => String(operation_id));
    expect(ids).toEqual(ids.toSorted());
  });

  it('with a limit does not read older purchases', async () => {
    write(40, 'rubbish\nmore\n');
    rmSync(join(state, 'index'), { recursive: true });
    expect((await leadpipe('history --limit 5')).stderr).toBe('');
    expect((await leadpipe('history --since 20d')).stderr).toBe('');
    // -q silences no warning.
    expect((await leadpipe('history -q')).stderr).toContain('warning: ');
    // Gone again: the tests below see none.
    write(40, '');
  });

  it.each([
    ['--list nope', 6, 'there is no list nope on this machine'],
    ['--command serach', 2, 'did you mean search?'],
    ['--since yesterday', 2, 'For example: --since today'],
    ['--limit 0', 2, '--limit is 0'],
  ])('%s ends with %d', async (options, code, says) => {
    expect(await leadpipe(`history list ${options}`)).toEqual(failing(code, says));
  });
});

describe('on a terminal', () => {
  const shown = async (line: string, columns: number) => {
    const screen = { stdoutIsTerminal: true, columns, minutesFromUtc: -480 };
    const { stdout, ...end } = await leadpipe(line, screen);
    return { ...end, text: stdout.replace(/\x1b\[[\d;]*m/g, '') };
  };

  it('history is the newest 20, with how many there are before them and how to see them', async () => {
    const { text, stderr } = await shown('history --since 27d', 120);
    expect(stderr).toBe('Only the newest 20 are shown. To see all of them, add --limit all.\n');
    const rows = text.trimEnd().split('\n').slice(2);
    const begun = rows.filter((row) => /^\d/.test(row));
    expect(begun).toHaveLength(20);
    const local = toMinutes(timeOf(1), { minutesFromUtc: () => -480 });
    expect(begun.at(-1)).toMatch(
      new RegExp(`^${local.slice(5)}  search company: dental clinics in Austin .*${idOf(1)}`),
    );
    // What does not fit on a line continues in the next.
    expect(rows.at(-1)).toBe(`${' '.repeat(13)}year`);
    // With all of them on the screen, nothing is left to say.
    expect((await shown('history --limit all', 120)).stderr).toBe('');
  });

  it.each([80, 100, 120, 200])('tables fit %d columns, and IDs are whole', async (columns) => {
    for (const [line, whole] of [
      ['history --limit all', [idOf(1), '≤ 20', 'found', idOf(oldest)]],
      ['task list', [searchId, '40 of 40', 'company: dental']],
      ['history totals', ['purchases', 'leads', 'credits at most', '████████████']],
      ['config list', ['price.contact.phone', 'table on a terminal, else jsonl', 'not set']],
    ] as const) {
      const { text } = await shown(line, columns);
      const lines = text.split('\n');
      expect(lines.filter((one) => one.length > columns)).toEqual([]);
      // A table has its names in one line; cards have none.
      expect(lines[0]).toMatch(/^\S+ {2,}\S+/);
      expect(text).toSay(...whole.slice(0, columns < 100 ? -1 : undefined));
    }
  });

  it('60 columns have a card per purchase, of a few lines', async () => {
    const { text } = await shown('history --limit 2', 60);
    expect(text.split('\n\n')[0]?.split('\n')).toEqual([
      'search company: dental clinics in Austin that opened this',
      'year',
      expect.stringMatching(/^\d\d-\d\d \d\d:\d\d$/),
      'state: complete, leads 20, credits ≤ 20, charged yes',
      `operation: ${idOf(2)}`,
    ]);
  });

  it('totals say what a list counts as', async () => {
    const { text, ...end } = await shown('history totals --by command', 50);
    expect(text).toSay(
      /^search company\npurchases: 24, leads 480, at most 480 credits\n/,
      'contact email\npurchases: 2,',
    );
    expect(end).toEqual(ending(0, 'A list (--input) counts as one purchase'));
  });
});

it('the zone is that of TZ', async () => {
  const { stdout } = await run('history --limit 1', { TZ: 'Asia/Kathmandu' });
  expect(JSON.parse(stdout).time).toMatch(/\+05:45$/);
});

/** As in Berlin in 2026: an hour more from the 29th of March to the 25th of October. */
const berlin = {
  minutesFromUtc: (time: Date) =>
    time >= new Date('2026-03-29T01:00Z') && time < new Date('2026-10-25T01:00Z') ? 120 : 60,
};

describe('a time', () => {
  const at = new Date('2026-07-02T12:00:00.000Z');
  const meant: readonly (readonly [given: string, time: string])[] = [
    ['today', '2026-07-01T22:00:00.000Z'],
    ['month', '2026-06-30T22:00:00.000Z'],
    ['90m', '2026-07-02T10:30:00.000Z'],
    ['2w', '2026-06-18T12:00:00.000Z'],
    ['2026-03-29', '2026-03-28T23:00:00.000Z'],
    ['2026-03-30', '2026-03-29T22:00:00.000Z'],
    ['2026-10-25T04:00', '2026-10-25T03:00:00.000Z'],
    ['2026-01-31 09:30', '2026-01-31T08:30:00.000Z'],
    ['2026-01-31T09:30:15-05:00', '2026-01-31T14:30:15.000Z'],
  ];
  it.each(meant)('%s is meant as %s', (given, time) => {
    expect(toSince(given, at, berlin).toISOString()).toBe(time);
  });

  const none = [
    '',
    '7',
    'd',
    '2026-13-01',
    '2026-02-30',
    '2026-01-01T25:00',
    '2026-01-01T1:00',
    '-7d',
    '7d ',
  ];
  it.each([...none, '2026-11-01T09:30+25:00'])('%j is none', (given) => {
    expect(() => toSince(given, at, berlin)).toThrow('--since must be a time');
  });

  it('is shown in local time, west and east of UTC', () => {
    expect(toZonedTime(new Date('2026-03-29T00:59:59.999Z'), berlin)).toBe('2026-03-29T01:59:59+01:00');
    expect(toZonedTime(new Date('2026-03-29T01:00:00.000Z'), berlin)).toBe('2026-03-29T03:00:00+02:00');
    const west = { minutesFromUtc: () => -210 };
    expect(toZonedTime(new Date('2026-01-01T00:00:00Z'), west)).toBe('2025-12-31T20:30:00-03:30');
    expect(toMinutes(new Date('2026-01-01T00:00:00Z'), west)).toBe('2025-12-31 20:30');
    expect(fromWallTime('2025-12-31T20:30', west).toISOString()).toBe('2026-01-01T00:00:00.000Z');
  });
});
