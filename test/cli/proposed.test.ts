import { describe, expect, it } from 'vitest';
import { ending } from '../helpers/ending.ts';
import {
  errorAnswer,
  notFound,
  searchFrames,
  streamStart,
  wholeAnswer,
  wholeStream,
} from '../helpers/fault-server.ts';
import { createMachine, machineWith } from '../helpers/machine.ts';
import { startRowService } from '../helpers/row-service.ts';
import { partsOf } from '../helpers/run-parts.ts';
import { writeConfig } from '../helpers/settings.ts';
import { page, someEntities, startTaskServer, taskId } from '../helpers/task-server.ts';

/** A command that is proposed does what was said when it is run as it was printed. */

/** The words behind `leadpipe` of a command that is named behind these. */
const proposed = (stderr: string, behind: string): string =>
  stderr
    .split('\n')
    .find((line) => line.includes(`${behind}leadpipe `))
    ?.split('leadpipe ')
    .at(-1) ?? '';

/** A service whose first search is cut behind two leads. */
async function cutting() {
  let isCut = false;
  return await machineWith((socket, { method }) => {
    if (method === 'GET') return void socket.write(notFound);
    const frames = searchFrames([isCut ? ['{"name":"C"}'] : ['{"name":"A"}', '{"name":"B"}']]);
    socket.end(isCut ? wholeStream(frames) : streamStart(frames[0] ?? ''));
    isCut = true;
  });
}

describe('of a run with --base-url', () => {
  it('the rest of a search, and in its summary', async () => {
    const at = await cutting();
    delete at.env.LEADPIPE_BASE_URL;
    const { stderr } = await at.leadpipe(
      `search company x --limit 9 -o a.jsonl --summary s.json --base-url ${at.url}`,
    );
    const rest = proposed(stderr, 'To buy the rest: ');
    expect(JSON.parse(at.read('s.json')).resume).toBe(`leadpipe ${rest}`);
    expect(await at.leadpipe(rest)).toMatchObject(ending(0, '3 leads in'));
  });

  it('the earlier run that can be finished, where all is bought again', async () => {
    const at = await cutting();
    delete at.env.LEADPIPE_BASE_URL;
    const line = `search company x --limit 9 --base-url ${at.url}`;
    await at.leadpipe(line);
    const { stderr } = await at.leadpipe(line);
    const first = proposed(stderr, 'To finish that one instead: ');
    expect(await at.leadpipe(first)).toMatchObject({ code: 0, stdout: '{"name":"C"}\n' });
  });

  it('the rest of a search that nothing records', async () => {
    const at = await cutting();
    delete at.env.LEADPIPE_BASE_URL;
    const { stderr } = await at.leadpipe(`search company x --limit 9 --no-history --base-url ${at.url}`);
    expect(await at.leadpipe(proposed(stderr, 'To buy the rest: '))).toMatchObject({
      code: 0,
      stdout: '{"name":"C"}\n',
    });
  });
});

it('the rest of a list, with the address of the run', async () => {
  const service = await startRowService();
  const at = createMachine(service.url);
  delete at.env.LEADPIPE_BASE_URL;
  at.write('list.txt', 'Ada\nBo\n');
  const { stderr } = await at.leadpipe(`contact email --input list.txt --first 1 --base-url ${service.url}`);
  const [, rest = ''] = /run `leadpipe (.*?)`/.exec(stderr) ?? [];
  expect(await at.leadpipe(rest)).toMatchObject(ending(0, '1 already bought'));
});

it('the rest of a search that nothing records, with all that was asked for and left out', async () => {
  const bodies: string[] = [];
  const at = await machineWith((socket, { body, method }) => {
    if (method === 'GET') return void socket.write(notFound);
    bodies.push(body);
    socket.end(streamStart(searchFrames([['{"name":"A"}']])[0] ?? ''));
  });
  at.write('known.txt', 'Acme, Inc.\n');
  const more = '--enrich-fields city,size --dedup-custom-leads @known.txt --dedup-service-leads ls_1';
  const { stderr } = await at.leadpipe(`search company x --limit 9 --no-history ${more}`);
  await at.leadpipe(proposed(stderr, 'To buy the rest: '));
  const [first, second] = bodies.map((body) => JSON.parse(body));
  expect(second).toEqual({ ...first, limit: 8, dedup_service_leads: ['ls_1', 'ls_test'] });
});

it('the stored leads of an answer with a wrong content type, in the form of the output', async () => {
  const frames = searchFrames([['{"name":"A"}', '{"name":"B"}']]);
  const at = await machineWith(wholeAnswer('200 OK', 'application/json', frames.join('')));
  const { stderr } = await at.leadpipe('search company x --limit 2 -o a.txt -f csv --columns name');
  await at.leadpipe(proposed(stderr, 'for free: '));
  expect(at.read('a.txt')).toBe('name\r\nA\r\nB\r\n');
});

describe('of a run with --profile', () => {
  /** A machine whose only address is that of a profile. */
  async function withProfile() {
    const at = await startTaskServer({ steps: [['done', 45]] });
    writeConfig(at.env, JSON.stringify({ profiles: { work: { base_url: at.url } } }));
    delete at.env.LEADPIPE_BASE_URL;
    await at.leadpipe('task create company x --profile work');
    return at;
  }

  it.each([
    ['its task, where it is bought again', 'task create company x --profile work', 'for free: '],
    ['its task, in the history', 'history show', 'for free: '],
    ['its task, where it is to be resumed', 'resume', 'for free: '],
  ])('%s', async (_, line, behind) => {
    const at = await withProfile();
    const [{ operation_id } = {}] = await at.history();
    const { stderr } = await at.leadpipe(line === 'resume' ? `resume ${operation_id}` : line);
    const next = proposed(stderr, behind);
    expect(next).toMatch(new RegExp(`^task (wait|fetch) ${taskId} --profile work$`));
    expect(await at.leadpipe(`${next} -f jsonl`)).toMatchObject({ code: 0 });
  });

  it('the balance, where the rest of its search was lost', async () => {
    let posts = 0;
    const at = await machineWith((socket, { method }) => {
      if (method === 'GET') return void socket.write(notFound);
      if (posts++ > 0) return void socket.destroy();
      socket.end(streamStart(searchFrames([['{"name":"A"}']])[0] ?? ''));
    });
    writeConfig(at.env, JSON.stringify({ profiles: { work: { base_url: at.url } } }));
    delete at.env.LEADPIPE_BASE_URL;
    await at.leadpipe('search company x --limit 9 -o a.jsonl --profile work');
    const { stderr } = await at.leadpipe('resume --yes');
    expect(stderr).toContain('`leadpipe balance --profile work`');
    // A profile that is in use anyway is not named.
    const inUse = await at.leadpipe('resume --yes', { env: { LEADPIPE_PROFILE: 'work' } });
    expect(inUse.stderr).toContain('`leadpipe balance`');
  });

  it('the balance, where credits are missing', async () => {
    const at = await machineWith(errorAnswer('402 X', 'insufficient_credits', 'refused'));
    writeConfig(at.env, JSON.stringify({ profiles: { work: { base_url: at.url } } }));
    delete at.env.LEADPIPE_BASE_URL;
    const { stderr } = await at.leadpipe('contact email Ada --profile work');
    expect(stderr).toContain('`leadpipe balance --profile work`');
  });
});

it('a task of the local service is read with --local', async () => {
  const at = await startTaskServer({ steps: [] });
  await at.leadpipe('task create company fintech --limit 3 --local');
  const { stderr } = await at.leadpipe('history show');
  expect(await at.leadpipe(proposed(stderr, 'for free: '))).toMatchObject({ code: 0 });
});

it('nothing is proposed to be printed where nothing is stored', async () => {
  const at = await machineWith(errorAnswer('402 X', 'insufficient_credits', 'refused'));
  await at.leadpipe('contact email Ada');
  const [{ operation_id } = {}] = await at.history();
  const { code, stderr } = await at.leadpipe(`resume ${operation_id}`);
  expect({ code, stderr }).toEqual({ code: 2, stderr: expect.not.stringContaining('history show') });
});

it('a temporary file of a run is no output: the run would remove it', async () => {
  const at = await cutting();
  await at.leadpipe('search company x --limit 9 -o a.jsonl');
  const parts = partsOf(at, 'a.jsonl');
  const [part = ''] = parts.keys();
  expect(await at.leadpipe(`resume -o ${part} -f jsonl`)).toMatchObject(ending(2, part));
  expect(await at.leadpipe(`balance --summary ${part}`)).toMatchObject({ code: 2 });
  expect(partsOf(at, 'a.jsonl')).toEqual(parts);
});

it('a position of a task that still runs, where nothing came, leaves the file as it is', async () => {
  const at = await startTaskServer({
    steps: [],
    fault: (_, nth) =>
      page(nth === 0 ? someEntities.slice(0, 5) : [], nth === 0 ? 0 : 5, 500, ['running', 5]),
  });
  const { stderr } = await at.leadpipe(`task fetch ${taskId} -o a.jsonl`);
  const before = at.read('a.jsonl');
  const next = proposed(stderr, 'from position 5: ');
  expect(await at.leadpipe(`${next} -o a.jsonl`)).toMatchObject(ending(0, '0 leads', 'was not changed'));
  expect(at.read('a.jsonl')).toBe(before);
});

it.each(['csv', 'md'])(
  'what only later rows of a list have brought is in its stored answers, too: %s',
  async (format) => {
    const fields = [{ login: 'a' }, { login: 'b', bio: 'paid for' }];
    const at = await machineWith((socket, { body }) => {
      const found = fields.find(({ login }) => login === JSON.parse(body).target);
      socket.write(
        wholeAnswer('200 OK', 'application/json', JSON.stringify({ success: true, data: [found] })),
      );
    });
    at.write('list.txt', 'a\nb\n');
    await at.leadpipe('extract x_followers --limit 5 --input list.txt --concurrency 1 -o a.csv');
    expect(at.read('a.csv')).toContain('paid for');
    expect((await at.leadpipe(`history show -f ${format}`)).stdout).toContain('paid for');
  },
);
