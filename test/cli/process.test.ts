import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  closeSync,
  cpSync,
  existsSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  statSync,
} from 'node:fs';
import type { Socket } from 'node:net';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { ending } from '../helpers/ending.ts';
import {
  chunk,
  lastChunk,
  searchFrames,
  streamHead,
  streamStart,
  wholeStream,
} from '../helpers/fault-server.ts';
import { type Machine, machineWith } from '../helpers/machine.ts';
import { bareEnvironment, command, resultOf, temporaryFolder, until } from '../helpers/run.ts';

const frames = searchFrames([['{"name":"A"}', '{"name":"B"}'], ['{"name":"C"}']]);
const [first = '', ...rest] = frames;
const search = 'search company x -f jsonl';

/** A machine that knows a server which sends the first batch, and the rest when told. */
async function serveInTwo() {
  const sockets: Socket[] = [];
  const machine = await machineWith((socket) => {
    sockets.push(socket);
    socket.write(streamStart(first));
  });
  const goOn = (): void => {
    for (const socket of sockets) socket.write(Buffer.concat([chunk(rest.join('')), Buffer.from(lastChunk)]));
  };
  return { ...machine, goOn };
}

const serveWhole = () => machineWith(wholeStream(frames));

/** A byte alone is tried before anything is sent. */
const hasRows = ({ pathOf }: Machine, name: string): boolean =>
  (statSync(pathOf(name), { throwIfNoEntry: false })?.size ?? 0) > 1;

describe('rows as they are found', () => {
  it.each(['jsonl', 'csv', 'table'])(
    '%s: first rows are printed before later ones are created',
    async (format) => {
      const { start, goOn } = await serveInTwo();
      const child = start(`search company x -f ${format}`);
      let seen = '';
      child.stdout.setEncoding('utf8');
      while (!/\bB\b/.test(seen)) seen += (await once(child.stdout, 'data'))[0];
      expect(seen).not.toMatch(/\bC\b/);
      const ended = resultOf(child);
      goOn();
      expect(await ended).toMatchObject({ code: 0, stdout: expect.stringMatching(/\bC\b/) });
    },
  );

  it('a reader that takes one line ends the run at once, silently, with 141', async () => {
    let beat: NodeJS.Timeout | undefined;
    const { env } = await machineWith((socket) => {
      socket.write(streamHead);
      let index = 0;
      const send = () => socket.write(chunk(first.replace('"batch_index":1', `"batch_index":${++index}`)));
      beat = setInterval(send, 10);
    });
    const script = `"$0" "$1" ${search} | head -1; echo "\${PIPESTATUS[0]}"`;
    const shell = spawn('bash', ['-c', script, process.execPath, command], { env });
    // The stream never ends: nothing but the reader's end can end this run.
    expect(await resultOf(shell)).toEqual({ stdout: '{"name":"A"}\n141\n', stderr: '', code: 0 });
    clearInterval(beat);
  });
});

describe('signals', () => {
  it.each([
    ['SIGINT', 130, 'interrupted'],
    ['SIGTERM', 143, 'terminated'],
    ['SIGHUP', 129, 'hung_up'],
  ] as const)('%s: what arrived is kept, %i', async (signal, code, type) => {
    const at = await serveInTwo();
    const child = at.start('search company x -o leads.csv --json-errors');
    const ended = resultOf(child);
    await until(() => hasRows(at, 'leads.csv.part'));
    child.kill(signal);
    const result = await ended;
    expect(result).toMatchObject(ending(code, 'leads.csv.part', 'leadpipe resume op_'));
    expect(at.read('leads.csv.part').split('\r\n')).toHaveLength(4);
    const told = { type, exit: code, charged: 'yes', request_id: 'req_test' };
    expect(JSON.parse(result.stderr).error).toMatchObject(told);
  });

  it('a Ctrl-C that npx passes on twice counts once: the result is reported', async () => {
    const { start } = await serveInTwo();
    const child = start(search);
    await once(child.stdout, 'readable');
    const ended = resultOf(child);
    child.kill('SIGINT');
    child.kill('SIGINT');
    expect(await ended).toMatchObject(ending(130, '2 leads arrived'));
  });

  it('Ctrl-C before any answer leaves no file and says that it may have cost something, twice', async () => {
    let asked = false;
    const { start, run, files } = await machineWith((socket) => {
      if (asked) socket.write(wholeStream(frames));
      asked = true;
    });
    const again = 'search company x -o leads.csv';
    const child = start(`${again} --json-errors`);
    const ended = resultOf(child);
    await until(() => asked);
    child.kill('SIGINT');
    const { stderr, code } = await ended;
    expect(code).toBe(130);
    const { error } = JSON.parse(stderr);
    expect(error).toMatchObject({
      charged: 'maybe',
      idempotency_key: expect.stringMatching(/^lp-/),
      hint: expect.toSay('check `leadpipe balance`', 'a new run is a new purchase'),
    });
    expect(files()).toEqual([]);
    expect(await run(again)).toMatchObject(ending(0, `The search ${error.operation_id} (`));
    // Then the last run is one of which all is known.
    expect((await run(again)).stderr).not.toContain('may or may not have been charged');
  });

  it('a reader that does not read does not hold Ctrl-C up', async () => {
    const many = searchFrames(Array.from({ length: 200 }, () => [`{"name":"${'x'.repeat(5000)}"}`]));
    const { start } = await machineWith((socket) => void socket.write(streamStart(many)));
    const child = start(search);
    child.stdout.pause();
    await once(child.stdout, 'readable');
    child.kill('SIGINT');
    await once(child, 'exit');
    expect(child.exitCode).toBe(130);
  });
});

describe('-o to a FIFO', () => {
  it.each([
    ['SIGINT', 130],
    ['SIGTERM', 143],
  ] as const)('%s ends the wait for a reader, before anything is sent', async (signal, exit) => {
    const at = await serveWhole();
    execFileSync('mkfifo', [at.pathOf('fifo')]);
    const child = at.start('task run company x -o fifo');
    const ended = resultOf(child);
    // Its intent is written down before the output is opened.
    const hasIntent = () => textsOf(at, 'journal.jsonl').some((text) => text.endsWith('\n'));
    await expect.poll(hasIntent).toBe(true);
    child.kill(signal);
    expect((await ended).code).toBe(exit);
    expect(at.requests).toEqual([]);
  });

  it('a reader that does not read does not hold Ctrl-C up', async () => {
    const lead = `{"name":"${'x'.repeat(1000)}"}`;
    const [batch = ''] = searchFrames([Array(1000).fill(lead)]);
    const at = await machineWith((socket) => void socket.write(streamStart(batch)));
    execFileSync('mkfifo', [at.pathOf('fifo')]);
    const reader = openSync(at.pathOf('fifo'), 'r+');
    const child = at.start(`${search} -o fifo`);
    const ended = resultOf(child);
    // Leads are stored before they are written.
    const hasLeads = () => textsOf(at, 'received.jsonl').some((text) => text !== '');
    await expect.poll(hasLeads).toBe(true);
    child.kill('SIGINT');
    expect((await ended).code).toBe(130);
    closeSync(reader);
  });
});

/** The content of the files with this name, of all operations. */
function textsOf({ state }: Machine, name: string): string[] {
  const operations = join(state, 'operations');
  if (!existsSync(operations)) return [];
  const files = readdirSync(operations).map((one) => join(operations, one, name));
  return files.filter((file) => existsSync(file)).map((file) => readFileSync(file, 'utf8'));
}

describe('-o', () => {
  it('shows the old file until the new one is whole, and keeps its mode', async () => {
    const at = await serveInTwo();
    at.write('leads.jsonl', 'old\n');
    chmodSync(at.pathOf('leads.jsonl'), 0o640);
    const ended = at.run('search company x -o leads.jsonl');
    await until(() => hasRows(at, 'leads.jsonl.part'));
    expect(at.read('leads.jsonl')).toBe('old\n');
    at.goOn();
    expect(await ended).toMatchObject({ code: 0, stdout: '' });
    expect(at.read('leads.jsonl')).toBe('{"name":"A"}\n{"name":"B"}\n{"name":"C"}\n');
    expect(statSync(at.pathOf('leads.jsonl')).mode & 0o777).toBe(0o640);
    expect(at.files()).toEqual(['leads.jsonl']);
  });

  it('appends under the same header, and refuses another one before anything is sent', async () => {
    const at = await serveWhole();
    const line = 'search company x -o leads.csv --append --columns name';
    for (const _ of [1, 2]) expect(await at.run(line)).toMatchObject({ code: 0 });
    expect(at.read('leads.csv')).toBe('name\r\nA\r\nB\r\nC\r\nA\r\nB\r\nC\r\n');
    expect(await at.run(`${line},score`)).toMatchObject({ code: 2 });
    expect(at.requests).toHaveLength(2);
  });

  it('a full disk: 74, and what it cost', async () => {
    const { run } = await serveWhole();
    const { code, stderr } = await run('search company x -o /dev/full -f jsonl --json-errors');
    expect(code).toBe(74);
    expect(JSON.parse(stderr).error).toMatchObject({ type: 'local_io', exit: 74, request_id: 'req_test' });
    expect(stderr).toContain('no space left');
  });

  it.each([
    ['leads.csv', 'name,description'],
    ['leads.json', '['],
    ['leads.ndjson', '{"name":"A"}\n'],
    ['leads', '{"name":"A"}\n'],
    ['leads.md', '| name | description |'],
    ['leads.XLSX', 'PK\u0003\u0004'],
  ])('%s has the format of its extension', async (name, begins) => {
    const { run, read } = await serveWhole();
    await run(`search company x -o ${name}`);
    expect(read(name).startsWith(begins)).toBe(true);
  });
});

it('stderr has the closing lines, which -q silences', async () => {
  const { run } = await serveWhole();
  expect((await run(search)).stderr).toMatch(
    /^3 leads · limit reached · cost at most 3 credits\nsearch ls_test · request req_test · operation op_\w+\n$/,
  );
  const quiet = { code: 0, stderr: '', stdout: expect.stringContaining('"A"') };
  expect(await run(`${search} -q -o -`)).toEqual(quiet);
  expect((await run(`${search} --json-errors`)).stderr).toBe('');
});

it('a run whose program files were replaced by an update says so once, and ends', async () => {
  const folder = temporaryFolder();
  const root = join(command, '../..');
  for (const part of ['bin', 'dist', 'package.json'])
    cpSync(join(root, part), join(folder, part), { recursive: true });
  const args = [join(folder, 'bin/leadpipe.js'), 'serve', '--port', '0', '-q'];
  const child = spawn(process.execPath, args, { env: bareEnvironment() });
  onTestFinished(() => void child.kill('SIGKILL'));
  const ended = resultOf(child);
  await once(child.stdout, 'data');
  renameSync(join(folder, 'dist/chunks'), join(folder, 'dist/gone'));
  child.kill('SIGTERM');
  const { code, stderr } = await ended;
  expect({ code, stderr }).toEqual({
    code: 1,
    stderr: expect.stringMatching(/^error: .*\nThe files of leadpipe were changed while it ran.*\n$/),
  });
});
