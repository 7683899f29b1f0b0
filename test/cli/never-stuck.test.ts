import { appendFileSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { lockFolder } from '../../src/files/folder-lock.ts';
import { entry, type JournalEntry, toLine } from '../../src/operations/journal/entries.ts';
import { at, bodies, first, lines, rest, script } from '../helpers/cut-searches.ts';
import { ending } from '../helpers/ending.ts';
import { notFound, searchFrames, streamStart, wholeStream } from '../helpers/fault-server.ts';
import { machineWith } from '../helpers/machine.ts';
import { readOperations } from '../helpers/stored.ts';

/** An earlier run never blocks the same command, or another one, with the same output file. */

const into = (more = '') => at.leadpipe(`search company x --limit 9 -o leads.jsonl ${more}`);
const part = (): string => at.pathOf('leads.jsonl.part');
const latest = async () => (await readOperations(at.state)).operations.at(-1)?.operationId ?? '';
const folderOf = (operationId: string): string => join(at.state, 'operations', operationId);

/** Takes lines away from the journal of an operation, as a kill at that moment would. */
function keepLines(operationId: string, isKept: (line: string) => boolean): void {
  const path = join(folderOf(operationId), 'journal.jsonl');
  writeFileSync(path, readFileSync(path, 'utf8').split('\n').filter(isKept).join('\n'));
}

/** A search that was killed: its journal does not know how it ended. */
async function leave(more = ''): Promise<string> {
  // Both buy nothing but what is missing.
  const going = /^To (complete \S+, for free|buy the rest): leadpipe resume op_/m;
  expect(await into(more)).toMatchObject(ending(3, going));
  const operationId = await latest();
  keepLines(operationId, (line) => !line.includes('"terminal"'));
  return operationId;
}

interface Case {
  readonly name: string;
  /** Of the run that is left. */
  readonly left?: string;
  /** What happens to it. */
  readonly meanwhile?: (operationId: string) => void | Promise<void>;
  /** Of the run that comes after it. */
  readonly again?: string;
  readonly says: RegExp;
  /** How many leads the second purchase asks for, and what it leaves out. */
  readonly asks: { readonly limit: number; readonly dedup_service_leads?: readonly string[] };
  readonly file: string;
  readonly beside?: Readonly<Record<string, string>>;
}

const resuming =
  /^Resuming op_\w+ \(the same search, unfinished since .*\)\. 2 leads stored\. Buying up to 7 more, for at most 7 credits\. You are not charged again for what arrived\.$[\s\S]*^3 leads (?:in|added to) .*, 2 of them stored earlier · /m;
/** The rest alone is bought, into the same file. */
const goesOn = {
  says: resuming,
  asks: { limit: 7, dedup_service_leads: ['ls_test'] },
  file: lines(...first, ...rest),
};
/** It is a new purchase, and the earlier files stay. */
const anew = {
  says: /^1 lead /m,
  asks: { limit: 9 },
  file: lines(...rest),
  beside: { 'leads.jsonl.part': lines(...first) },
};

const old = '{"name":"old"}';

const cases: readonly Case[] = [
  { name: 'the same search', ...goesOn },
  {
    name: 'a higher limit',
    again: '--limit 20',
    says: /Buying up to 18 more/,
    asks: { limit: 18 },
    file: lines(...first, ...rest),
  },
  {
    name: 'another format',
    again: '-f csv --columns name,id',
    ...anew,
    says: /^You started this at .* and did not finish it: search company x, 2 leads\. This run buys everything again, for at most 9 credits\. To finish that one instead: leadpipe resume op_\w+$/m,
    file: 'name,id\r\nC,\r\n',
  },
  { name: 'another objective', again: '--enrich-fields email', ...anew },
  { name: 'no record of it any more', meanwhile: (id) => rmSync(folderOf(id), { recursive: true }), ...anew },
  {
    name: 'its leads pruned',
    meanwhile: (id) => rmSync(join(folderOf(id), 'received.jsonl')),
    ...anew,
    says: /The leads of op_\w+ \(.*\) are no longer stored\. All of them are charged again, for at most 9 credits/,
  },
  {
    name: 'its leads damaged',
    meanwhile: (id) => {
      const path = join(folderOf(id), 'received.jsonl');
      writeFileSync(path, readFileSync(path, 'utf8').replace('"B"', '"X"'));
    },
    ...anew,
    says: /can't be read: line 2 of .* is damaged\. All of them are charged again/,
  },
  { name: 'its .part changed by someone', meanwhile: () => writeFileSync(part(), 'torn'), ...goesOn },
  { name: 'its .part removed', meanwhile: () => rmSync(part()), ...goesOn },
  {
    name: 'the key changed',
    meanwhile: () => void Object.assign(at.env, { LEADPIPE_API_KEY: 'another-key-0123456789' }),
    ...anew,
  },
  {
    name: 'the key of the purchase fixed: the rest has one of its own',
    left: '--idempotency-key mine',
    again: '--idempotency-key mine',
    ...goesOn,
  },
  { name: '--append', left: '--append', again: '--append', ...goesOn, file: lines(old, ...first, ...rest) },
  {
    name: '--append, and half a row in the .part',
    left: '--append',
    meanwhile: () => appendFileSync(part(), '{"name":"tor'),
    again: '--append',
    ...goesOn,
    file: lines(old, ...first, ...rest),
  },
  {
    name: '--append, and the file moved away',
    left: '--append',
    meanwhile: () => rmSync(at.pathOf('leads.jsonl')),
    again: '--append',
    ...goesOn,
  },
  {
    name: '--append of another search',
    left: '--append',
    again: '--append --enrich-fields email',
    ...anew,
    file: lines(old, ...rest),
  },
  { name: '--only-new', left: '--only-new', again: '--only-new', ...goesOn },
  {
    name: '--only-new, before its leads were counted',
    left: '--only-new',
    meanwhile: (id) => keepLines(id, (line) => !line.includes('"batch"')),
    again: '--only-new',
    ...goesOn,
  },
];

it('a search that was killed before its leads counted for their list brings none of them twice', async () => {
  let searches = 0;
  const there = await machineWith((socket, { method }) => {
    if (method === 'GET') return void socket.write(notFound);
    if (searches++ > 0)
      return void socket.write(wholeStream(searchFrames([['{"name":"A"}', '{"name":"C"}']])));
    socket.end(streamStart(searchFrames([['{"name":"A"}', '{"name":"B"}']])[0] ?? ''));
  });
  const search = () => there.leadpipe('search company x --limit 4 --only-new -o x.jsonl');
  expect((await search()).code).toBe(3);
  rmSync(join(there.state, 'lists'), { recursive: true });
  expect((await search()).code).toBe(0);
  expect(there.read('x.jsonl')).toBe('{"name":"A"}\n{"name":"B"}\n{"name":"C"}\n');
});

it('a search that is cut again and again sends the key that the user chose once', async () => {
  const keys: (string | undefined)[] = [];
  const there = await machineWith((socket, { method, headers }) => {
    if (method === 'GET') return void socket.write(notFound);
    keys.push(headers['idempotency-key']);
    const [batch = ''] = searchFrames([[`{"name":"${keys.length}"}`]], 'limit', `ls_${keys.length}`);
    socket.end(streamStart(batch));
  });
  for (const _ of [1, 2, 3]) {
    const { code } = await there.leadpipe('search company x --limit 9 -o x.jsonl --idempotency-key mine');
    expect(code).toBe(3);
  }
  expect([keys[0], new Set(keys).size]).toEqual(['mine', 3]);
});

describe('a search that was killed', () => {
  it.each(cases)('$name', async ({ left = '', meanwhile, again, says, asks, beside = {}, file }) => {
    if (left === '--append') at.write('leads.jsonl', lines(old));
    const id = await leave(left);
    await meanwhile?.(id);
    expect(await into(again)).toMatchObject(ending(0, says));
    const [, asked, ...more] = bodies();
    expect(asked).toMatchObject(asks);
    if (asks === anew.asks) expect(asked).not.toHaveProperty('dedup_service_leads');
    expect(Object.fromEntries(at.files().map((name) => [name, at.read(name)]))).toEqual({
      'leads.jsonl': file,
      ...beside,
    });
    expect(more).toEqual([]);
  });

  it.each(['search company x --limit 2 -o leads.jsonl', 'resume'])(
    'with everything that was asked for is finished by `%s`, and nothing is bought',
    async (way) => {
      const id = await leave('--limit 2');
      const says =
        /All 2 leads have arrived\. Nothing is bought\.$[\s\S]*^2 leads in \S*leads\.jsonl, 2 of them stored earlier · cost at most 2 credits \(none of them now\)$/m;
      expect(await at.leadpipe(way)).toMatchObject(ending(0, id, says));
      expect(bodies()).toHaveLength(1);
      expect(at.read('leads.jsonl')).toBe(lines(...first));
    },
  );

  it.each(['--only-new', ''])(
    'whose rest was refused once has all its leads in the file: %j',
    async (more) => {
      const id = await leave(more);
      // Killed before its journal counted the leads that are stored.
      keepLines(id, (line) => !line.includes('"batch"'));
      script.refusals = 1;
      expect((await into(more)).code).toBe(5);
      expect(await into(more)).toMatchObject({ code: 0 });
      expect(at.read('leads.jsonl')).toBe(lines(...first, ...rest));
      expect(at.files()).toEqual(['leads.jsonl']);
    },
  );

  it('with a damaged record is not bought again silently: the error names the file, also without the index', async () => {
    const id = await leave();
    const path = join(folderOf(id), 'journal.jsonl');
    const [intent = '', ...others] = readFileSync(path, 'utf8').split('\n');
    writeFileSync(path, [intent, ...others].join('\n').replace('"type":"part"', '"type":"pert"'));
    for (const isMade of [true, false]) {
      if (isMade) rmSync(join(at.state, 'index'), { recursive: true });
      for (const way of [into, () => at.leadpipe('resume')]) {
        expect(await way()).toMatchObject(ending(78, `${path} is damaged`));
      }
    }
    expect(bodies()).toHaveLength(1);
  });

  it('before any lead arrived starts over, and says that it may have been charged', async () => {
    const id = await leave();
    writeFileSync(join(folderOf(id), 'received.jsonl'), '');
    keepLines(id, (line) => line === '' || /"(intent|part|sent)"/.test(line));
    const says = 'was stopped before any lead arrived. It may have been charged';
    expect(await into()).toMatchObject(ending(0, `The search ${id} (`, says));
    expect(at.read('leads.jsonl')).toBe(lines(...rest));
    // That one is complete: what was left before it is not thought of again.
    expect((await into()).stderr).not.toContain(id);
  });

  it('is the one that resume takes, and names', async () => {
    const id = await leave();
    const latest = `^Resuming ${id}: search company x, started .*, into ${at.pathOf('leads.jsonl')}\\.`;
    const bought = '2 leads stored. Buying up to 7 more, for at most 7 credits';
    expect(await at.leadpipe('resume')).toMatchObject(ending(0, RegExp(latest, 'm'), bought));
    expect(at.read('leads.jsonl')).toBe(lines(...first, ...rest));
    const nothingLeft = { code: 0, stderr: 'There is nothing to resume.\n' };
    expect(await at.leadpipe('resume')).toMatchObject(nothingLeft);
  });

  it.each([
    ['search', '', () => into()],
    ['search --append', '--append', () => into('--append')],
    ['resume', '', () => at.leadpipe('resume')],
  ])('is left alone while another run works on it: %s ends with 75 and its pid', async (_, left, way) => {
    const id = await leave(left);
    const lock = await lockFolder(folderOf(id), process.pid, id);
    const says = 'this process is working on';
    expect(await way()).toMatchObject(ending(75, says, 'charged: no'));
    await lock.release();
    expect(bodies()).toHaveLength(1);
  });
});

it.each([
  ['was left', true],
  ['is active', false],
  ['ended when its reader had what it wanted', false],
])('a search that %s is told of where the same is bought into another file: %s', async (what, isTold) => {
  const id = await leave();
  if (what.includes('reader'))
    appendFileSync(
      join(folderOf(id), 'journal.jsonl'),
      toLine(entry.terminal('reader_closed', { charged: 'yes', leads: 2 })),
    );
  const lock = what === 'is active' ? await lockFolder(folderOf(id), process.pid, id) : undefined;
  const { code, stderr } = await at.leadpipe('search company x --limit 9 -o other.jsonl');
  await lock?.release();
  expect({ code, isTold: stderr.includes(`leadpipe resume ${id}`) }).toEqual({ code: 0, isTold });
});

it('rows that are in a file are not added again where an earlier try to add them has failed', async () => {
  const there = await machineWith(wholeStream(searchFrames([['{"name":"A"}']])));
  there.write('leads.jsonl', lines(old));
  const line = 'search company x --limit 1 -o leads.jsonl --append';
  expect((await there.leadpipe(line)).code).toBe(0);
  const [operation] = (await readOperations(there.state)).operations;
  const path = join(there.state, 'operations', operation?.operationId ?? '', 'journal.jsonl');
  // Killed before it said that they are in place; before that, the file had changed between both.
  const entries = (operation?.entries ?? []).filter(({ type }) => type !== 'terminal' && type !== 'placed');
  const tries = entries.flatMap((one): JournalEntry[] =>
    one.type === 'adding' ? [{ ...one, at: one.at + 1, ino: one.ino + 1 }, one] : [one],
  );
  writeFileSync(path, tries.map(toLine).join(''));
  rmSync(join(there.state, 'index'), { recursive: true });
  expect((await there.leadpipe('resume')).code).toBe(0);
  expect(there.read('leads.jsonl')).toBe(lines(old, '{"name":"A"}'));
});

it('a search and a task run with the same file do not change rows of the other', async () => {
  await leave();
  // This service knows no tasks: the run is left.
  await at.leadpipe('task run company x -o leads.jsonl');
  script.cuts = 0;
  expect(await into()).toMatchObject(ending(0, '3 leads in leads.jsonl, 2 of them stored earlier'));
  // What the search had brought is stored, and bought once.
  expect(at.read('leads.jsonl')).toBe(lines(...first, ...rest));
});

it.each(['', '--append'])(
  'a file whose folder was removed meanwhile: what arrived is told, and is kept (-o %s)',
  async (more) => {
    mkdirSync(at.pathOf('sub'));
    script.cuts = 0;
    script.before = () => rmSync(at.pathOf('sub'), { recursive: true });
    const result = await at.leadpipe(`search company x -o sub/leads.jsonl ${more}`);
    const kept = /for free: leadpipe history show (op_\w+)/;
    expect(result).toMatchObject(ending(74, 'charged: yes', kept));
    const [, operation] = kept.exec(result.stderr) ?? [];
    // As it comes out of a line of CSV.
    const shown = await at.leadpipe(`history show "${operation}\\r"`);
    expect(shown).toMatchObject({ code: 0, stdout: lines(...rest) });
  },
);
