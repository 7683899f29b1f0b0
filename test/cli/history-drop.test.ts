import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { ending, failing } from '../helpers/ending.ts';
import { historyOf, runInProcess } from '../helpers/fake-context.ts';
import {
  type FaultServer,
  searchFrames,
  startCutting,
  startFaultServer,
  wholeStream,
} from '../helpers/fault-server.ts';
import { bareEnvironment, pointedAt, temporaryFolder } from '../helpers/run.ts';
import { someEntities, startTaskServer } from '../helpers/task-server.ts';

/** What was left before its end, and nobody wants. */

let server: FaultServer | undefined;

type Env = Record<string, string>;

async function cutting(): Promise<Env> {
  server = await startCutting();
  return { ...bareEnvironment(temporaryFolder()), ...pointedAt(server.url) };
}

describe('history drop', () => {
  it('ends a cut search: it says what is lost, nothing resumes it, and the same search is a new purchase', async () => {
    const env = await cutting();
    const file = join(temporaryFolder(), 'leads.csv');
    const search = ['search', 'company', 'fintech', '--limit', '5', '-o', file];
    expect((await runInProcess(search, { env })).code).toBe(3);
    const [cut] = (await historyOf(env)).records;
    const id = String(cut?.operation_id);
    expect(cut).toMatchObject({ state: 'partial', charged: 'yes', leads: 2 });
    expect(await runInProcess(`history drop ${id}`, { env })).toMatchObject(
      failing(
        0,
        `${id}, search company: fintech, started `,
        '2 leads have arrived.',
        `leadpipe history show ${id}`,
        /Dropped\.\n$/,
      ),
    );
    const after = (await historyOf(env)).records;
    expect(after).toEqual([{ ...cut, state: 'dropped' }]);
    // What arrived can be printed as before.
    expect((await runInProcess(`history show ${id}`, { env })).stdout).toBe('{"name":"A"}\n{"name":"B"}\n');
    for (const resume of [
      ['history', 'resume', id],
      ['search', '--continue', id],
    ]) {
      expect(await runInProcess(resume, { env })).toMatchObject(failing(2, `${id} was dropped`));
    }
    expect((await runInProcess('history resume', { env })).stderr).toContain('There is nothing to resume.');
    expect((await runInProcess(`history drop ${id}`, { env })).code).toBe(2);
    const posts = () => server?.requests.filter(({ method }) => method === 'POST') ?? [];
    const before = posts().length;
    const again = await runInProcess(search, { env });
    expect(again.stderr).not.toContain('Resuming');
    expect(JSON.parse(posts()[before]?.body ?? '{}')).toMatchObject({ limit: 5 });
    expect((await historyOf(env)).records).toHaveLength(2);
  });

  it('asks on a terminal, and changes nothing without a yes', async () => {
    const env = await cutting();
    await runInProcess(
      ['search', 'company', 'fintech', '--limit', '5', '-o', join(temporaryFolder(), 'x.csv')],
      { env },
    );
    const [cut] = (await historyOf(env)).records;
    const asked = (answer: string) =>
      runInProcess(['history', 'drop', String(cut?.operation_id)], {
        env,
        stdinIsTerminal: true,
        stderrIsTerminal: true,
        stdin: `${answer}\n`,
      });
    expect((await asked('n')).stderr).toContain('Nothing was changed.');
    expect((await historyOf(env)).records).toEqual([cut]);
    expect((await asked('y')).code).toBe(0);
    expect((await historyOf(env)).records).toEqual([{ ...cut, state: 'dropped' }]);
  });

  it('ends a task here, and says that it keeps running there', async () => {
    const tasks = await startTaskServer({ steps: [['running', 20]] });
    server = tasks;
    const env = { ...bareEnvironment(temporaryFolder()), ...pointedAt(tasks.url) };
    const file = join(temporaryFolder(), 'x.csv');
    const words = `task run company x --poll-interval 0.01 --wait-timeout 0.2 -o ${file}`;
    const run = words.split(' ');
    expect((await runInProcess(run, { env })).code).toBe(75);
    const [left] = (await historyOf(env)).records;
    const id = String(left?.operation_id);
    const dropped = await runInProcess(`history drop ${id}`, { env });
    expect(dropped.stderr).toContain('leadpipe task wait ls_task');
    expect(dropped.stderr).toContain('charged as usual');
    // What it costs is known no better than before.
    expect((await historyOf(env)).records).toEqual([{ ...left, state: 'dropped' }]);
    expect((await runInProcess('task resume', { env })).stderr).toContain('There is nothing to resume.');
    const again = await runInProcess(run, { env });
    expect(again.stderr).not.toContain('Resuming');
    expect(tasks.count('create')).toBe(2);
  });

  it('leaves alone what is complete, or unknown', async () => {
    server = await startFaultServer(
      (socket) => void socket.end(wholeStream(searchFrames([['{"name":"A"}']]))),
    );
    const env = { ...bareEnvironment(temporaryFolder()), ...pointedAt(server.url) };
    await runInProcess('search company x', { env });
    const [done] = (await historyOf(env)).records;
    expect(await runInProcess(['history', 'drop', String(done?.operation_id)], { env })).toMatchObject(
      ending(2, 'is not unfinished (state: complete)'),
    );
    expect((await runInProcess('history drop op_1', { env })).code).toBe(6);
    expect((await historyOf(env)).records).toEqual([done]);
  });
});

describe('without an operation', () => {
  it('history show prints the latest, and history list --search finds what it was about', async () => {
    server = await startFaultServer((socket, { body }) => {
      const { objective } = JSON.parse(body || '{}');
      const frames = searchFrames([[JSON.stringify({ name: objective })]]).join('');
      socket.end(wholeStream(frames));
    });
    const env = { ...bareEnvironment(temporaryFolder()), ...pointedAt(server.url) };
    expect(await runInProcess('history show', { env })).toMatchObject(
      failing(6, 'No purchases recorded on this machine yet.'),
    );
    // Far behind what the history shows of it.
    const long = `${'dentist '.repeat(60)}in Graz`;
    for (const objective of ['Fintech in Berlin', long]) {
      expect((await runInProcess(['search', 'company', objective], { env })).code).toBe(0);
    }
    expect((await runInProcess('history show', { env })).stdout).toBe(`${JSON.stringify({ name: long })}\n`);
    const found = async (text: string) =>
      (await historyOf(env, 'list', '--search', text)).records.map(({ subject }) =>
        String(subject).slice(0, 7),
      );
    expect(await found('BERLIN')).toEqual(['Fintech']);
    expect(await found('graz')).toEqual(['dentist']);
    expect(await found('in ')).toEqual(['Fintech', 'dentist']);
    const none = await historyOf(env, 'list', '--search', 'Vienna');
    expect(none).toMatchObject({ code: 0, records: [] });
    expect(none.stderr).toContain('No purchases match these options.');
  });
});

describe('task list --refresh', () => {
  it('asks about each task that has not ended, and about no other', async () => {
    const steps: [string, number][] = [['running', 20]];
    const tasks = await startTaskServer({ steps, entities: someEntities });
    server = tasks;
    const env = { ...bareEnvironment(temporaryFolder()), ...pointedAt(tasks.url) };
    await runInProcess('task create company x', { env });
    const list = async (...args: string[]) => {
      const { code, stderr, stdout } = await runInProcess(['task', 'list', ...args], { env });
      return { code, stderr, task: JSON.parse(stdout) };
    };
    expect(await list()).toMatchObject({ task: { state: 'created', ready_count: null } });
    expect(tasks.count('status')).toBe(0);
    expect(await list('--refresh')).toMatchObject({
      code: 0,
      stderr: '',
      task: { state: 'running', ready_count: 20 },
    });
    expect(tasks.count('status')).toBe(1);
    const other = await runInProcess('task list --refresh', {
      env: { ...env, LEADPIPE_API_KEY: 'another-key-0123456789' },
    });
    expect(other.stderr).toContain('1 task of another address or API key: shown as last seen.');
    expect(tasks.count('status')).toBe(1);
    // A task that was seen to end is not asked about.
    steps.push(['done', 45]);
    await runInProcess(
      ['task', 'wait', 'ls_task', '--poll-interval', '0.01', '-o', join(temporaryFolder(), 'a.csv')],
      { env },
    );
    const asked = tasks.count('status');
    expect(await list('--refresh')).toMatchObject({ task: { state: 'done', ready_count: 45 } });
    expect(tasks.count('status')).toBe(asked);
  });
});
