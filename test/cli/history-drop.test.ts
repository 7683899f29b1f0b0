import { once } from 'node:events';
import { describe, expect, it } from 'vitest';
import { ending, failing } from '../helpers/ending.ts';
import { cutting, errorAnswer, searchFrames, wholeStream } from '../helpers/fault-server.ts';
import { createMachine, machineWith } from '../helpers/machine.ts';
import { createGate, startRowService } from '../helpers/row-service.ts';
import { resultOf, until } from '../helpers/run.ts';
import { writeSettings } from '../helpers/settings.ts';
import { type Step, startTaskServer } from '../helpers/task-server.ts';

/** Dropping unfinished operations. */

describe('history drop', () => {
  it('ends a cut search: it says what is lost, nothing resumes it, and the same search is a new purchase', async () => {
    const at = await machineWith(cutting);
    const search = 'search company fintech --limit 5 -o leads.csv';
    expect((await at.leadpipe(search)).code).toBe(3);
    const [cut] = await at.history();
    const id = cut?.operation_id;
    expect(cut).toMatchObject({ state: 'partial', charged: 'yes', leads: 2 });
    const lost = [`${id}, search company: fintech, started `, '2 leads have arrived.'];
    expect(await at.leadpipe(`history drop ${id}`)).toEqual({
      ...ending(0, ...lost, `leadpipe history show ${id}`, /Dropped\.\n$/),
      stdout: '',
    });
    expect(await at.history()).toEqual([{ ...cut, state: 'dropped' }]);
    expect(at.files()).toEqual([]);
    // What arrived can be printed as before.
    expect((await at.leadpipe(`history show ${id}`)).stdout).toBe('{"name":"A"}\n{"name":"B"}\n');
    expect(await at.leadpipe(`resume ${id}`)).toMatchObject(failing(2, `${id} was dropped`));
    expect((await at.leadpipe('resume')).stderr).toContain('There is nothing to resume.');
    expect((await at.leadpipe(`history drop ${id}`)).code).toBe(2);
    expect((await at.leadpipe(search)).stderr).not.toContain('Resuming');
    const bodies = at.requests.filter(({ method }) => method === 'POST').map(({ body }) => JSON.parse(body));
    expect(bodies).toMatchObject([{ limit: 5 }, { limit: 5 }]);
    expect(await at.history()).toHaveLength(2);
  });

  it('asks on a terminal, and changes nothing without a yes', async () => {
    const at = await machineWith(cutting);
    await at.leadpipe('search company fintech --limit 5 -o x.csv');
    const [cut] = await at.history();
    const asked = (answer: string) =>
      at.leadpipe(`history drop ${cut?.operation_id}`, {
        stdinIsTerminal: true,
        stderrIsTerminal: true,
        stdin: `${answer}\n`,
      });
    expect((await asked('n')).stderr).toContain('Nothing was changed.');
    expect(await at.history()).toEqual([cut]);
    expect((await asked('y')).code).toBe(0);
    expect(await at.history()).toEqual([{ ...cut, state: 'dropped' }]);
  });

  it('ends a task here, and says that it keeps running there', async () => {
    const at = await startTaskServer({ steps: [['running', 20]] });
    const run = 'task run company x --poll-interval 0.01 --wait-timeout 0.2 -o x.csv';
    expect((await at.leadpipe(run)).code).toBe(75);
    const [left] = await at.history();
    const dropped = await at.leadpipe(`history drop ${left?.operation_id}`);
    expect(dropped).toMatchObject(ending(0, 'leadpipe task wait ls_task', 'charged as usual'));
    // What it costs is known no better than before.
    expect(await at.history()).toEqual([{ ...left, state: 'dropped' }]);
    expect((await at.leadpipe('resume')).stderr).toContain('There is nothing to resume.');
    expect((await at.leadpipe(run)).stderr).not.toContain('Resuming');
    expect(at.count('create')).toBe(2);
  });

  it.each(['SIGKILL', 'SIGINT'] as const)('keeps what a list has cost (%s)', async (signal) => {
    const { gate, open } = createGate('Cy');
    const service = await startRowService({ gate });
    const at = createMachine(service.url);
    writeSettings(at.env, { 'price.contact.email': 3, max_credits_per_day: 20 });
    at.write('rows.txt', 'Ada\nBo\nCy\n');
    const child = at.start('contact email --input rows.txt -o out.csv --concurrency 1');
    await until(() => service.requests() === 3);
    child.kill(signal);
    if (signal === 'SIGINT') open();
    await once(child, 'close');
    const [left] = await at.history();
    const found = signal === 'SIGINT' ? 3 : 2;
    expect(left).toMatchObject({ state: 'interrupted', charged: 'yes', found, credits_at_most: 9 });
    expect((await at.leadpipe(`history drop ${left?.operation_id}`)).code).toBe(0);
    expect(await at.history()).toEqual([{ ...left, state: 'dropped' }]);
    expect((await at.leadpipe('search company x --limit 12 --dry-run')).stderr).toContain('11 are left');
    open();
  });

  it('is for all that the history calls interrupted: not for what was stopped before it could cost anything', async () => {
    const at = await machineWith(errorAnswer('429 Too Many Requests', 'rate_limit_exceeded', 'slow down'));
    const child = at.start('search company x -o x.csv');
    const ended = resultOf(child);
    await until(() => at.requests.length === 1);
    child.kill('SIGINT');
    expect(await ended).toMatchObject({ code: 130 });
    const [stopped] = await at.history();
    expect(stopped).toMatchObject({ state: 'failed', charged: 'no' });
    expect(await at.leadpipe(`resume ${stopped?.operation_id}`)).toMatchObject(
      ending(2, 'has already ended (state: failed). Nothing was bought'),
    );
  });

  it('leaves alone what is complete, or unknown', async () => {
    const at = await machineWith(wholeStream(searchFrames([['{"name":"A"}']])));
    await at.leadpipe('search company x');
    const [done] = await at.history();
    const says = 'only unfinished purchases can be dropped (state: complete)';
    expect(await at.leadpipe(`history drop ${done?.operation_id}`)).toMatchObject(ending(2, says));
    expect((await at.leadpipe('history drop op_1')).code).toBe(6);
    expect(await at.history()).toEqual([done]);
  });
});

it('without an operation history show prints the latest, and history list --search finds what it was about', async () => {
  const at = await machineWith((socket, { body }) => {
    const name = JSON.stringify({ name: JSON.parse(body || '{}').objective });
    socket.end(wholeStream(searchFrames([[name]])));
  });
  const says = 'No purchases recorded on this machine yet. Those with --no-history are not listed.';
  expect(await at.leadpipe('history show')).toMatchObject(failing(6, says));
  // Far behind what the history shows of it.
  const long = `${'dentist '.repeat(60)}in Graz`;
  for (const objective of ['Fintech in Berlin', long]) {
    expect((await at.leadpipe(['search', 'company', objective])).code).toBe(0);
  }
  expect((await at.leadpipe('history show')).stdout).toBe(`${JSON.stringify({ name: long })}\n`);
  const found = async (text: string) =>
    (await at.history('list', '--search', text)).map(({ subject }) => String(subject).slice(0, 7));
  expect(await found('BERLIN')).toEqual(['Fintech']);
  expect(await found('graz')).toEqual(['dentist']);
  expect(await found('in ')).toEqual(['Fintech', 'dentist']);
  const none = await at.leadpipe('history list --search Vienna');
  expect(none).toEqual({ code: 0, stdout: '', stderr: 'No purchases match these options.\n' });
});

it('task list --refresh asks about each task that has not ended, and about no other', async () => {
  const steps: Step[] = [['running', 20]];
  const at = await startTaskServer({ steps });
  await at.leadpipe('task create company x');
  const list = async (more = '') => {
    const { stdout, ...end } = await at.leadpipe(`task list ${more}`);
    return { ...end, task: JSON.parse(stdout) };
  };
  expect(await list()).toMatchObject({ task: { state: 'created', ready_count: null } });
  const terminal = { stderrIsTerminal: true };
  const old = (await at.leadpipe('task list', terminal)).stderr;
  expect(old).toMatch(/^These states may be old\. .*\nleadpipe task list --refresh\n$/);
  expect(at.count('status')).toBe(0);
  const running = { state: 'running', ready_count: 20 };
  expect(await list('--refresh')).toMatchObject({ code: 0, stderr: '', task: running });
  expect(at.count('status')).toBe(1);
  const env = { LEADPIPE_API_KEY: 'another-key-0123456789' };
  expect(await at.leadpipe('task list --refresh', { env })).toMatchObject(
    ending(0, '1 task of another address or API key: the last known state is shown.'),
  );
  expect(at.count('status')).toBe(1);
  // A task that was seen to end is not asked about.
  steps.push(['done', 45]);
  await at.leadpipe('task wait ls_task --poll-interval 0.01 -o a.csv');
  const asked = at.count('status');
  expect(await list('--refresh')).toMatchObject({ task: { state: 'done', ready_count: 45 } });
  expect((await at.leadpipe('task list', terminal)).stderr).toBe('');
  expect(at.count('status')).toBe(asked);
});
