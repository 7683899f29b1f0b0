import { mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { jsonAnswer, searchFrames, startFaultServer, wholeStream } from '../helpers/fault-server.ts';
import { createMachine, type Machine } from '../helpers/machine.ts';
import { type Fault, runWith } from './faulty-run.ts';

/** Existing files: what a run does to them if it has no results, or can't write them. */

let requests: number;
let machine: Machine;
/** Whether the stream ends before its end. */
let isCut: boolean;
const leads = ['{"name":"A"}', '{"name":"B"}', '{"name":"C"}'];

beforeEach(async () => {
  requests = 0;
  isCut = false;
  const server = await startFaultServer((socket, { path, body }) => {
    if (path.endsWith('/status'))
      return void socket.end('HTTP/1.1 404 Not Found\r\nContent-Length: 2\r\n\r\n{}');
    requests++;
    if (path.endsWith('/entity-search')) {
      const frames = searchFrames([leads]);
      return void socket.end(wholeStream(isCut ? frames.slice(0, 1) : frames));
    }
    if (body.includes('refused'))
      return void socket.end('HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\n\r\n');
    const success = !body.includes('nothing');
    socket.write(jsonAnswer({ success, answer: success ? { Result: 'Yes.', Citations: [] } : 'None.' }));
  });
  machine = createMachine(server.url);
});

describe('a journal of 0 bytes', () => {
  it('beside stored leads is named by history and resume, and stops the same order', async () => {
    isCut = true;
    const search = 'search company x --limit 9 -o a.jsonl';
    expect((await machine.leadpipe(search)).code).toBe(3);
    const [id = ''] = readdirSync(join(machine.state, 'operations'));
    const journal = join(machine.state, 'operations', id, 'journal.jsonl');
    writeFileSync(journal, '');
    const before = requests;
    const part = machine.read('a.jsonl.part');
    for (const [line, code] of [
      ['history', 0],
      ['resume', 78],
      [`resume ${id}`, 78],
      [search, 78],
    ] as const) {
      const result = await machine.leadpipe(line);
      expect({ line, ...result }).toMatchObject({ line, code, stderr: expect.stringContaining(journal) });
    }
    expect({ requests, part: machine.read('a.jsonl.part') }).toEqual({ requests: before, part });
  });

  it('alone is left by a run that was killed before it sent anything: nothing is said of it', async () => {
    expect((await machine.leadpipe('search company x --limit 3 -o a.jsonl')).code).toBe(0);
    const folder = join(machine.state, 'operations', 'op_1k8big460kbq4f');
    mkdirSync(folder, { mode: 0o700 });
    writeFileSync(join(folder, 'journal.jsonl'), '');
    // The index, which does not know it, is made again from the journals.
    rmSync(join(machine.state, 'index'), { recursive: true });
    for (const [line, stderr] of [
      ['history', ''],
      ['task list', 'No tasks recorded on this machine yet.\n'],
      ['resume', 'There is nothing to resume.\n'],
    ] as const) {
      expect(await machine.leadpipe(line)).toMatchObject({ code: 0, stderr });
    }
  });
});

describe('a disk without room while rows are added', () => {
  const old = '{"name":"old"}\n';
  const search = 'search company x --limit 3 -o days.jsonl --append'.split(' ');
  const added = `${old}${leads.map((lead) => `${lead}\n`).join('')}`;

  it.each<Fault>([
    // Behind the copy of the old rows, while they take the place of the file, and before.
    { mode: 'ENOSPC once', at: 4 },
    { mode: 'EIO', at: 7 },
    { mode: 'sync', at: 2 },
  ])('leaves no half of a row, and the next run adds them for nothing: $mode', async (fault) => {
    machine.write('days.jsonl', old);
    const full = await runWith({ ...fault, on: '/days.jsonl.part' }, machine, search);
    expect({ ...full, days: machine.read('days.jsonl') }).toMatchObject({ code: 74, days: old });
    // The suggested command does not replace them.
    expect(full.stderr).not.toContain('-o days.jsonl');
    const next = await machine.leadpipe(search);
    expect({ ...next, days: machine.read('days.jsonl'), requests }).toMatchObject({
      code: 0,
      days: added,
      requests: 1,
    });
    expect(machine.files()).toEqual(['days.jsonl']);
  });
});

describe('the file of yesterday', () => {
  const yesterday = 'yesterday\r\n';
  const list = (...more: string[]) => [...'research --input list.txt -o a.csv'.split(' '), ...more];

  it.each([
    ['without a result', 'nothing\nnothing 2\n', yesterday],
    ['without a result or with a flaw', `nothing\n${'x'.repeat(5000)}\n`, yesterday],
    // One answer is enough.
    ['with one answer', 'nothing\nAda\n', expect.stringContaining('Ada,Yes.')],
  ])('stays as it is where every row of a list is %s, and gives way to answers', async (_, rows, file) => {
    machine.write('a.csv', yesterday);
    machine.write('list.txt', rows);
    const { code, stderr } = await machine.leadpipe(list());
    expect({ code, file: machine.read('a.csv') }).toEqual({ code: 3, file });
    if (file === yesterday) expect(stderr).toSay('a.csv.part');
  });

  it.each([
    ['has its header alone where no row has failed', 'Ada\n', 0, 'query,line,error,request_id,charged\r\n'],
    ['stays as it is where there was no row', '', 0, yesterday],
    ['stays as it is where the list was stopped before a row failed', 'Ada\nrefused\n', 4, yesterday],
    [
      'is replaced by the failed rows of today, and by these alone',
      'Ada\nnothing\n',
      3,
      expect.stringMatching(/^query,line,error,request_id,charged\r\nnothing,2,[^\r]*\r\n$/),
    ],
  ] as const)('of --errors %s', async (_, rows, code, file) => {
    machine.write('failed.csv', yesterday);
    machine.write('list.txt', rows);
    expect(await machine.leadpipe(list('--errors', 'failed.csv', '--concurrency', '1'))).toMatchObject({
      code,
    });
    expect(machine.read('failed.csv')).toEqual(file);
    expect(machine.files().join()).not.toContain('failed.csv.part');
  });

  it.each(['a.xlsx', 'a.XLSX'])('that is a workbook, %s, gets no rows of CSV', async (file) => {
    machine.write(file, 'a workbook');
    const args = `search company x --limit 3 -f csv -o ${file} --append`;
    expect(await machine.leadpipe(args)).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('--append works only with csv, jsonl and sqlite files, not with xlsx'),
    });
    expect({ requests, file: machine.read(file), files: machine.files() }).toEqual({
      requests: 0,
      file: 'a workbook',
      files: [file],
    });
  });
});
