import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { ending } from '../helpers/ending.ts';
import {
  chunk,
  errorAnswer,
  jsonAnswer,
  searchFrames,
  streamStart,
  wholeStream,
} from '../helpers/fault-server.ts';
import { type Machine, machineWith } from '../helpers/machine.ts';
import { resultOf, until } from '../helpers/run.ts';

const serve = (answer: string | object) => machineWith(jsonAnswer(answer));

/** The one purchase that there is. */
const operationIn = ({ state }: Machine): string => readdirSync(join(state, 'operations'))[0] ?? '';
/** How many rows of CSV there are in a file, or none yet. */
const rowsIn = ({ files, read }: Machine, name: string): string[] =>
  files().includes(name) ? read(name).split('\r\n') : [];

const prose = 'Some ordinary words of prose, and some more of them. '.repeat(4000);
const enriched = { success: true, answer: { notes: prose } };
const enrich = 'enrich x --field notes';
/** A list of which each item has ten columns of its own. */
const ownColumns = Array.from(
  { length: 3000 },
  (_, item) => `{${Array.from({ length: 10 }, (_each, nth) => `"c${item}_${nth}":"v"`).join(',')}}`,
);
const extracted = `{"success":true,"data":[${ownColumns.join(',')}],"metadata":{}}`;
const extract = 'extract x_followers ada';

describe('200 kB of prose in the sheet of a single answer', () => {
  it.each<[line: string, answer: object]>([
    [enrich, enriched],
    ['contact email x', { result: { content: prose, reference: null } }],
    ['balance', { object: 'credit_balance', available_credits: 1, updated_at: prose }],
  ])('is shown at once, as far as anyone reads it: %s', async (line, answer) => {
    const at = await serve(answer);
    const { code, stdout } = await at.run(`${line} -f table`);
    expect(code).toBe(0);
    expect(stdout.match(/Some ordinary words/g)?.length).toBeGreaterThan(500);
    expect(stdout.split('\n').length).toBeLessThan(510);
    expect(stdout.match(/^ +…$/m)).not.toBeNull();
  });

  it('and again by history show', async () => {
    const at = await serve(enriched);
    expect(await at.run(`${enrich} -f jsonl`)).toMatchObject({ code: 0 });
    const shown = await at.run('history show -f table');
    expect(shown).toMatchObject({ code: 0, stdout: expect.stringContaining('notes  Some ordinary') });
  });
});

// Each of these computes for far longer than a test may take.
describe('a signal ends a run that computes', () => {
  it.each([
    ['csv', 'SIGINT', 130],
    ['cards', 'SIGTERM', 143],
  ] as const)('90,000,000 cells as %s, %s: %i', async (format, signal, code) => {
    const at = await serve(extracted);
    const child = at.start(`${extract} -f ${format}`);
    const ended = resultOf(child);
    await once(child.stdout, 'data');
    const memory = readFileSync(`/proc/${child.pid}/status`, 'utf8');
    child.kill(signal);
    // It ended in order, and not because its time was up.
    expect(await ended).toMatchObject(ending(code, `leadpipe history show ${operationIn(at)}`));
    expect(Number(/VmHWM:\s+(\d+) kB/.exec(memory)?.[1])).toBeLessThan(700_000);
  });

  it('into a file: its rows stay, each of them complete', async () => {
    const at = await serve(extracted);
    const child = at.start(`${extract} -o items.csv`);
    const ended = resultOf(child);
    await until(() => rowsIn(at, 'items.csv.part').length > 1);
    child.kill('SIGINT');
    expect(await ended).toMatchObject(ending(130, `leadpipe history show ${operationIn(at)}`));
    const rows = rowsIn(at, 'items.csv.part');
    expect(rows.pop()).toBe('');
    for (const row of rows) expect(row.split(',')).toHaveLength(30_000);
  });

  it('half-way through a batch: the search that is resumed has each lead once', async () => {
    const leads = Array.from({ length: 901 }, (_, nth) => `{"name":"N${nth}"}`);
    const [first = '', second = '', ...end] = searchFrames([leads.slice(0, 1), leads.slice(1)]);
    let searches = 0;
    let goOn = (): unknown => undefined;
    const at = await machineWith((socket, { method }) => {
      if (method === 'GET') socket.end(errorAnswer('404 Not Found', 'not_found', 'no'));
      else if (searches++ === 0) socket.write(streamStart(first));
      else socket.end(wholeStream(searchFrames([])));
      if (searches === 1) goOn = () => socket.write(chunk(second + end.join('')));
    });
    const columns = Array.from({ length: 3000 }, (_, nth) => `c${nth}`);
    const child = at.start(`search company x --limit 1000 -o leads.csv --columns name,${columns}`);
    const ended = resultOf(child);
    const rows = (): number => rowsIn(at, 'leads.csv.part').length;
    await until(() => rows() === 3);
    goOn();
    await until(() => rows() > 3);
    child.kill('SIGINT');
    const says = '901 leads arrived, but not all of them could be written';
    expect(await ended).toMatchObject(ending(130, says));
    expect(rows()).toBeLessThan(900);
    // What is stored is paid for, printed or not.
    expect(await at.history()).toMatchObject([{ leads: 901, charged: 'yes' }]);
    expect(await at.run(`resume ${operationIn(at)}`)).toMatchObject({ code: 0 });
    const names = rowsIn(at, 'leads.csv').map((row) => row.split(',', 1)[0]);
    expect(names).toEqual(['name', ...leads.map((lead) => JSON.parse(lead).name), '']);
  });

  it('an answer that is printed again', async () => {
    const nested = `${'['.repeat(40)}${'0,'.repeat(900_000)}0${']'.repeat(40)}`;
    const at = await serve(`{"success":true,"answer":${nested}}`);
    expect(await at.run('research x -o answer.json')).toMatchObject({ code: 0 });
    const child = at.start('history show -f table');
    const ended = resultOf(child);
    await once(child.stdout, 'data');
    child.kill('SIGINT');
    const { code, stdout } = await ended;
    expect(code).toBe(130);
    expect(stdout.length).toBeLessThan(60_000_000);
  });
});
