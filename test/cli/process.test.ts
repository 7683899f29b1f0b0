import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import type { Socket } from 'node:net';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import {
  chunk,
  type FaultServer,
  lastChunk,
  searchFrames,
  startFaultServer,
  streamHead,
  streamStart,
  wholeStream,
} from '../helpers/fault-server.ts';
import {
  bareEnvironment,
  command,
  pointedAt,
  resultOf,
  run,
  start,
  temporaryFolder,
} from '../helpers/run.ts';

let server: FaultServer | undefined;

const frames = searchFrames([['{"name":"A"}', '{"name":"B"}'], ['{"name":"C"}']]);
const [first = '', ...rest] = frames;
const search = ['search', 'company', 'x', '-f', 'jsonl'];

/** A server that sends the first batch, and the rest when told. */
async function serveInTwo(): Promise<{ url: string; sockets: Socket[]; goOn: () => void }> {
  const sockets: Socket[] = [];
  server = await startFaultServer((socket) => {
    sockets.push(socket);
    socket.write(streamStart(first));
  });
  const goOn = (): void => {
    for (const socket of sockets) socket.write(Buffer.concat([chunk(rest.join('')), Buffer.from(lastChunk)]));
  };
  return { url: server.url, sockets, goOn };
}

async function serveWhole(): Promise<string> {
  server = await startFaultServer((socket) => {
    socket.write(wholeStream(frames));
  });
  return server.url;
}

describe('rows as they are found', () => {
  it.each(['jsonl', 'csv', 'table'])(
    '%s: the first are printed before later ones are made',
    async (format) => {
      const { url, goOn } = await serveInTwo();
      const child = start(['search', 'company', 'x', '-f', format], { env: pointedAt(url) });
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
    const { url } = server;
    const shell = spawn(
      'bash',
      ['-c', `"$0" "$@" | head -1; echo "\${PIPESTATUS[0]}"`, process.execPath, command, ...search],
      {
        env: { ...bareEnvironment(), ...pointedAt(url) },
      },
    );
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
    const { url } = await serveInTwo();
    const cwd = temporaryFolder();
    const child = start(['search', 'company', 'x', '-o', 'leads.csv', '--json-errors'], {
      env: pointedAt(url),
      cwd,
    });
    const ended = resultOf(child);
    await waitFor(
      () => existsSync(join(cwd, 'leads.csv.part')) && statSync(join(cwd, 'leads.csv.part')).size > 0,
    );
    child.kill(signal);
    const { stderr, code: exit } = await ended;
    expect(exit).toBe(code);
    expect(readFileSync(join(cwd, 'leads.csv.part'), 'utf8').split('\r\n')).toHaveLength(4);
    expect(JSON.parse(stderr).error).toMatchObject({
      type,
      exit: code,
      charged: 'yes',
      request_id: 'req_test',
    });
    expect(stderr).toContain('leads.csv.part');
    expect(stderr).toContain('leadpipe search --continue op_');
  });

  it('a Ctrl-C that npx passes on a second time is one: what arrived is told', async () => {
    const { url } = await serveInTwo();
    const child = start(search, { env: pointedAt(url) });
    await once(child.stdout, 'readable');
    const ended = resultOf(child);
    child.kill('SIGINT');
    child.kill('SIGINT');
    const { stderr, code } = await ended;
    expect(code).toBe(130);
    expect(stderr).toContain('2 leads arrived');
  });

  it('Ctrl-C before any answer leaves no file and says that it may have cost something, twice', async () => {
    let asked = false;
    server = await startFaultServer((socket) => {
      if (asked) {
        socket.write(wholeStream(frames));
      }
      asked = true;
    });
    const cwd = temporaryFolder();
    const env = { ...bareEnvironment(cwd), ...pointedAt(server.url), LEADPIPE_STATE_DIR: temporaryFolder() };
    const again = ['search', 'company', 'x', '-o', 'leads.csv'];
    const child = start([...again, '--json-errors'], { env, cwd });
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
    expect(readdirSync(cwd)).toEqual([]);
    const told = `the search ${error.operation_id} (`;
    expect(await run(again, { env, cwd })).toMatchObject({ code: 0, stderr: expect.stringContaining(told) });
    // Then the last run is one of which all is known.
    expect((await run(again, { env, cwd })).stderr).not.toContain('may or may not have been charged');
  });

  it('a reader that does not read does not hold Ctrl-C up', async () => {
    const many = searchFrames(Array.from({ length: 200 }, () => [`{"name":"${'x'.repeat(5000)}"}`]));
    server = await startFaultServer((socket) => void socket.write(streamStart(many)));
    const child = start(search, { env: pointedAt(server.url) });
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
    const url = await serveWhole();
    const folder = temporaryFolder();
    const env = { ...bareEnvironment(folder), ...pointedAt(url) };
    const fifo = join(folder, 'fifo');
    execFileSync('mkfifo', [fifo]);
    const child = start(['task', 'run', 'company', 'x', '-o', fifo], { env });
    const ended = resultOf(child);
    // Its intent is written down before the output is opened.
    const operations = join(folder, 'state', 'operations');
    await expect.poll(() => hasIntent(operations), { timeout: 20_000 }).toBe(true);
    child.kill(signal);
    expect((await ended).code).toBe(exit);
    expect(server?.requests).toEqual([]);
  });

  it('a reader that does not read does not hold Ctrl-C up', async () => {
    const lead = `{"name":"${'x'.repeat(1000)}"}`;
    server = await startFaultServer((socket) => {
      const [batch = ''] = searchFrames([Array.from({ length: 1000 }, () => lead)]);
      socket.write(streamStart(batch));
    });
    const folder = temporaryFolder();
    const fifo = join(folder, 'fifo');
    execFileSync('mkfifo', [fifo]);
    const reader = openSync(fifo, 'r+');
    const child = start([...search, '-o', fifo], {
      env: { ...bareEnvironment(folder), ...pointedAt(server.url) },
    });
    const ended = resultOf(child);
    // Leads are stored before they are written.
    const operations = join(folder, 'state', 'operations');
    await expect
      .poll(() => filesIn(operations, 'leads.jsonl').some((file) => statSync(file).size > 0), {
        timeout: 20_000,
      })
      .toBe(true);
    child.kill('SIGINT');
    expect((await ended).code).toBe(130);
    closeSync(reader);
  });
});

function filesIn(operations: string, name: string): string[] {
  if (!existsSync(operations)) return [];
  return readdirSync(operations)
    .map((one) => join(operations, one, name))
    .filter((file) => existsSync(file));
}

function hasIntent(operations: string): boolean {
  return filesIn(operations, 'journal.jsonl').some((file) => readFileSync(file, 'utf8').endsWith('\n'));
}

describe('-o', () => {
  it('shows the old file until the new one is whole, and keeps its mode', async () => {
    const { url, goOn } = await serveInTwo();
    const cwd = temporaryFolder();
    writeFileSync(join(cwd, 'leads.jsonl'), 'old\n', { mode: 0o640 });
    const ended = run(['search', 'company', 'x', '-o', 'leads.jsonl'], { env: pointedAt(url), cwd });
    await waitFor(
      () => existsSync(join(cwd, 'leads.jsonl.part')) && statSync(join(cwd, 'leads.jsonl.part')).size > 0,
    );
    expect(readFileSync(join(cwd, 'leads.jsonl'), 'utf8')).toBe('old\n');
    goOn();
    expect(await ended).toMatchObject({ code: 0, stdout: '' });
    expect(readFileSync(join(cwd, 'leads.jsonl'), 'utf8')).toBe('{"name":"A"}\n{"name":"B"}\n{"name":"C"}\n');
    expect(statSync(join(cwd, 'leads.jsonl')).mode & 0o777).toBe(0o640);
    expect(readdirSync(cwd)).toEqual(['leads.jsonl']);
  });

  it('appends under the same header, and refuses another one before anything is sent', async () => {
    const url = await serveWhole();
    const cwd = temporaryFolder();
    const args = ['search', 'company', 'x', '-o', 'leads.csv', '--append', '--columns', 'name'];
    for (const _ of [1, 2]) expect(await run(args, { env: pointedAt(url), cwd })).toMatchObject({ code: 0 });
    expect(readFileSync(join(cwd, 'leads.csv'), 'utf8')).toBe('name\r\nA\r\nB\r\nC\r\nA\r\nB\r\nC\r\n');
    expect(await run([...args.slice(0, -1), 'name,score'], { env: pointedAt(url), cwd })).toMatchObject({
      code: 2,
    });
    expect(server?.requests).toHaveLength(2);
  });

  it.each([
    ['a folder', 2, 'folder', 'it is a folder'],
    ['a folder that does not exist', 74, 'nowhere/leads.csv', 'the folder nowhere does not exist'],
  ])('%s: %i, and nothing is sent', async (_, exit, target, says) => {
    const url = await serveWhole();
    const cwd = temporaryFolder();
    mkdirSync(join(cwd, 'folder'));
    const { code, stderr } = await run(['search', 'company', 'x', '-o', target], {
      env: pointedAt(url),
      cwd,
    });
    expect(code).toBe(exit);
    expect(stderr).toContain(says);
    expect(server?.requests).toEqual([]);
  });

  it('a full disk: 74, and what it cost', async () => {
    const url = await serveWhole();
    const { code, stderr } = await run(
      ['search', 'company', 'x', '-o', '/dev/full', '-f', 'jsonl', '--json-errors'],
      {
        env: pointedAt(url),
      },
    );
    expect(code).toBe(74);
    expect(JSON.parse(stderr).error).toMatchObject({ type: 'local_io', exit: 74, request_id: 'req_test' });
    expect(stderr).toContain('no space left');
  });

  it('follows a symbolic link, and takes - for standard output', async () => {
    const url = await serveWhole();
    const cwd = temporaryFolder();
    mkdirSync(join(cwd, 'real'));
    symlinkSync('real/leads.jsonl', join(cwd, 'link.jsonl'));
    await run(['search', 'company', 'x', '-o', 'link.jsonl'], { env: pointedAt(url), cwd });
    expect(readdirSync(join(cwd, 'real'))).toEqual(['leads.jsonl']);
    expect(await run([...search, '-o', '-'], { env: pointedAt(url), cwd })).toMatchObject({
      stdout: expect.stringContaining('"A"'),
    });
    expect(readdirSync(cwd).sort()).toEqual(['link.jsonl', 'real']);
  });

  it.each([
    ['leads.csv', 'name,description'],
    ['leads.json', '['],
    ['leads.ndjson', '{"name":"A"}\n'],
    ['leads', '{"name":"A"}\n'],
    ['leads.md', '| name | description |'],
    ['leads.XLSX', 'PK\u0003\u0004'],
  ])('%s has the format of its extension', async (name, begins) => {
    const url = await serveWhole();
    const cwd = temporaryFolder();
    await run(['search', 'company', 'x', '-o', name], { env: pointedAt(url), cwd });
    expect(readFileSync(join(cwd, name), 'utf8').startsWith(begins)).toBe(true);
  });
});

describe('stderr', () => {
  it('has the closing lines, which -q silences', async () => {
    const url = await serveWhole();
    const loud = await run(search, { env: pointedAt(url) });
    expect(loud.stderr).toMatch(
      /^3 leads · limit reached · cost at most 3 credits\nsearch ls_test · request req_test · operation op_\w+\n$/,
    );
    expect((await run([...search, '-q'], { env: pointedAt(url) })).stderr).toBe('');
    expect((await run([...search, '--json-errors'], { env: pointedAt(url) })).stderr).toBe('');
  });

  it('--exit-status makes nothing found a 7', async () => {
    server = await startFaultServer((socket) => {
      socket.write(wholeStream(searchFrames([], 'source_finished')));
    });
    expect(await run(search, { env: pointedAt(server.url) })).toMatchObject({ code: 0, stdout: '' });
    expect(await run([...search, '--exit-status'], { env: pointedAt(server.url) })).toMatchObject({
      code: 7,
      stdout: '',
    });
  });
});

/** Looks again with every turn of the event loop until something outside has happened; the test's time-out bounds it. */
async function waitFor(happened: () => boolean): Promise<void> {
  while (!happened()) await new Promise((resolve) => setImmediate(resolve));
}
