import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, closeSync, existsSync, openSync, readdirSync, readFileSync, statSync } from 'node:fs';
import type { Socket } from 'node:net';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { ending } from '../helpers/ending.ts';
import {
  chunk,
  type FaultServer,
  lastChunk,
  searchFrames,
  startFaultServer,
  startSearchServer,
  streamHead,
  streamStart,
  wholeStream,
} from '../helpers/fault-server.ts';
import { createMachine, type Machine } from '../helpers/machine.ts';
import { command, resultOf } from '../helpers/run.ts';

let server: FaultServer;

const frames = searchFrames([['{"name":"A"}', '{"name":"B"}'], ['{"name":"C"}']]);
const [first = '', ...rest] = frames;
const search = ['search', 'company', 'x', '-f', 'jsonl'];
const toFile = (name: string, ...more: string[]) => ['search', 'company', 'x', '-o', name, ...more];

/** A machine that knows a server which sends the first batch, and the rest when told. */
async function serveInTwo(): Promise<Machine & { goOn: () => void }> {
  const sockets: Socket[] = [];
  server = await startFaultServer((socket) => {
    sockets.push(socket);
    socket.write(streamStart(first));
  });
  const goOn = (): void => {
    for (const socket of sockets) socket.write(Buffer.concat([chunk(rest.join('')), Buffer.from(lastChunk)]));
  };
  return { ...createMachine(server.url), goOn };
}

async function serveWhole(all = frames): Promise<Machine> {
  server = await startSearchServer(() => all);
  return createMachine(server.url);
}

const hasRows = ({ pathOf }: Machine, name: string): boolean =>
  (statSync(pathOf(name), { throwIfNoEntry: false })?.size ?? 0) > 0;

describe('rows as they are found', () => {
  it.each(['jsonl', 'csv', 'table'])(
    '%s: the first are printed before later ones are made',
    async (format) => {
      const { start, goOn } = await serveInTwo();
      const child = start(['search', 'company', 'x', '-f', format]);
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
    server = await startFaultServer((socket) => {
      socket.write(streamHead);
      let index = 0;
      beat = setInterval(
        () => socket.write(chunk(first.replace('"batch_index":1', `"batch_index":${++index}`))),
        10,
      );
    });
    const { env } = createMachine(server.url);
    const words = ['-c', `"$0" "$@" | head -1; echo "\${PIPESTATUS[0]}"`, process.execPath, command];
    const shell = spawn('bash', [...words, ...search], { env });
    // The stream never ends: nothing but the reader's end can end this run.
    expect(await resultOf(shell)).toEqual({ stdout: '{"name":"A"}\n141\n', stderr: '', code: 0 });
    clearInterval(beat);
  });
});

describe('signals', () => {
  it.each([
    ['SIGINT', 130, 'interrupted'],
    ['SIGTERM', 143, 'terminated'],
  ] as const)('%s: what arrived is kept, %i', async (signal, code, type) => {
    const machine = await serveInTwo();
    const child = machine.start(toFile('leads.csv', '--json-errors'));
    const ended = resultOf(child);
    await waitFor(() => hasRows(machine, 'leads.csv.part'));
    child.kill(signal);
    const { stderr, code: exit } = await ended;
    expect(exit).toBe(code);
    expect(machine.read('leads.csv.part').split('\r\n')).toHaveLength(4);
    const told = { type, exit: code, charged: 'yes', request_id: 'req_test' };
    expect(JSON.parse(stderr).error).toMatchObject(told);
    expect(stderr).toContain('leads.csv.part');
    expect(stderr).toContain('leadpipe search --continue op_');
  });

  it('a Ctrl-C that npx passes on a second time is one: what arrived is told', async () => {
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
    server = await startFaultServer((socket) => {
      if (asked) socket.write(wholeStream(frames));
      asked = true;
    });
    const { start, run, files } = createMachine(server.url);
    const again = toFile('leads.csv');
    const child = start([...again, '--json-errors']);
    const ended = resultOf(child);
    await waitFor(() => asked);
    child.kill('SIGINT');
    const { stderr, code } = await ended;
    expect(code).toBe(130);
    const { error } = JSON.parse(stderr);
    expect(error).toMatchObject({
      charged: 'maybe',
      idempotency_key: expect.stringMatching(/^lp-/),
      hint: expect.stringContaining('check `leadpipe balance`'),
    });
    expect(error.hint).toContain('a new run is a new purchase');
    expect(files()).toEqual([]);
    const told = `the search ${error.operation_id} (`;
    expect(await run(again)).toMatchObject({ code: 0, stderr: expect.stringContaining(told) });
    // Then the last run is one of which all is known.
    expect((await run(again)).stderr).not.toContain('may or may not have been charged');
  });

  it('a reader that does not read does not hold Ctrl-C up', async () => {
    const many = searchFrames(Array.from({ length: 200 }, () => [`{"name":"${'x'.repeat(5000)}"}`]));
    server = await startFaultServer((socket) => void socket.write(streamStart(many)));
    const child = createMachine(server.url).start(search);
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
    const machine = await serveWhole();
    execFileSync('mkfifo', [machine.pathOf('fifo')]);
    const child = machine.start('task run company x -o fifo');
    const ended = resultOf(child);
    // Its intent is written down before the output is opened.
    await expect.poll(() => hasIntent(machine), { timeout: 20_000 }).toBe(true);
    child.kill(signal);
    expect((await ended).code).toBe(exit);
    expect(server.requests).toEqual([]);
  });

  it('a reader that does not read does not hold Ctrl-C up', async () => {
    const lead = `{"name":"${'x'.repeat(1000)}"}`;
    server = await startFaultServer((socket) => {
      const [batch = ''] = searchFrames([Array.from({ length: 1000 }, () => lead)]);
      socket.write(streamStart(batch));
    });
    const machine = createMachine(server.url);
    execFileSync('mkfifo', [machine.pathOf('fifo')]);
    const reader = openSync(machine.pathOf('fifo'), 'r+');
    const child = machine.start([...search, '-o', 'fifo']);
    const ended = resultOf(child);
    // Leads are stored before they are written.
    const hasLeads = () => filesIn(machine, 'leads.jsonl').some((file) => statSync(file).size > 0);
    await expect.poll(hasLeads, { timeout: 20_000 }).toBe(true);
    child.kill('SIGINT');
    expect((await ended).code).toBe(130);
    closeSync(reader);
  });
});

function filesIn({ state }: Machine, name: string): string[] {
  const operations = join(state, 'operations');
  if (!existsSync(operations)) return [];
  return readdirSync(operations)
    .map((one) => join(operations, one, name))
    .filter((file) => existsSync(file));
}

function hasIntent(machine: Machine): boolean {
  return filesIn(machine, 'journal.jsonl').some((file) => readFileSync(file, 'utf8').endsWith('\n'));
}

describe('-o', () => {
  it('shows the old file until the new one is whole, and keeps its mode', async () => {
    const machine = await serveInTwo();
    machine.write('leads.jsonl', 'old\n');
    chmodSync(machine.pathOf('leads.jsonl'), 0o640);
    const ended = machine.run(toFile('leads.jsonl'));
    await waitFor(() => hasRows(machine, 'leads.jsonl.part'));
    expect(machine.read('leads.jsonl')).toBe('old\n');
    machine.goOn();
    expect(await ended).toMatchObject({ code: 0, stdout: '' });
    expect(machine.read('leads.jsonl')).toBe('{"name":"A"}\n{"name":"B"}\n{"name":"C"}\n');
    expect(statSync(machine.pathOf('leads.jsonl')).mode & 0o777).toBe(0o640);
    expect(machine.files()).toEqual(['leads.jsonl']);
  });

  it('appends under the same header, and refuses another one before anything is sent', async () => {
    const { run, read } = await serveWhole();
    const args = toFile('leads.csv', '--append', '--columns', 'name');
    for (const _ of [1, 2]) expect(await run(args)).toMatchObject({ code: 0 });
    expect(read('leads.csv')).toBe('name\r\nA\r\nB\r\nC\r\nA\r\nB\r\nC\r\n');
    expect(await run([...args.slice(0, -1), 'name,score'])).toMatchObject({ code: 2 });
    expect(server.requests).toHaveLength(2);
  });

  it('a full disk: 74, and what it cost', async () => {
    const { run } = await serveWhole();
    const { code, stderr } = await run(toFile('/dev/full', '-f', 'jsonl', '--json-errors'));
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
    await run(toFile(name));
    expect(read(name).startsWith(begins)).toBe(true);
  });
});

describe('stderr', () => {
  it('has the closing lines, which -q silences', async () => {
    const { run } = await serveWhole();
    const loud = await run(search);
    expect(loud.stderr).toMatch(
      /^3 leads · limit reached · cost at most 3 credits\nsearch ls_test · request req_test · operation op_\w+\n$/,
    );
    expect(await run([...search, '-q', '-o', '-'])).toMatchObject({
      stderr: '',
      stdout: expect.stringContaining('"A"'),
    });
    expect((await run([...search, '--json-errors'])).stderr).toBe('');
  });
});

/** Looks again with every turn of the event loop until something outside has happened; the test's time-out bounds it. */
async function waitFor(happened: () => boolean): Promise<void> {
  while (!happened()) await new Promise((resolve) => setImmediate(resolve));
}
