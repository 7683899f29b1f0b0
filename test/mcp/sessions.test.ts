import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { Disk, readTrace } from '../durability/disk-trace.ts';
import { faultyWith } from '../durability/faulty-run.ts';
import { contactResult } from '../helpers/bodies.ts';
import {
  errorAnswer,
  jsonAnswer,
  notFound,
  type RawRequest,
  searchFrames,
  streamStart,
  wholeStream,
} from '../helpers/fault-server.ts';
import { run, temporaryFolder } from '../helpers/run.ts';
import { withSettings } from '../helpers/settings.ts';
import { page, someEntities, taskId } from '../helpers/task-server.ts';
import { credits, serving, startAgent, startLedger } from './agent.ts';

const used = errorAnswer('409 Conflict', 'request_already_exists', 'this key was used before');
const fintech = { entity_type: 'company', objective: 'fintech' };

/** The purchases of the history, as the command line lists them. */
async function purchasesOf(env: Record<string, string>) {
  const { stdout } = await run('history list -f jsonl', { env });
  const lines = stdout.trimEnd().split('\n');
  return lines.map((line) => JSON.parse(line));
}

const keyOf = (request: RawRequest | undefined): string | undefined => request?.headers['idempotency-key'];

describe('two servers for one person', () => {
  it('buy what both are asked for at the same moment once, and both have the answer', async () => {
    const { service, env } = await startLedger({});
    const agents = [await startAgent({ version: 1, env }), await startAgent({ version: 2, env })];
    // What is loaded for the first call would come between them.
    for (const agent of agents) await agent.call('balance');
    const calls = [1, 2].flatMap((limit) => [
      ['contact', { contact_type: 'email', objective: `Lena Weber ${limit}` }] as const,
      ['search', { ...fintech, limit }] as const,
      ['task_create', { ...fintech, limit }] as const,
    ]);
    const both = calls.map(async ([name, args]) => {
      const answers = await Promise.all(agents.map(({ ask }) => ask(name, args)));
      expect(answers.map(({ error }) => error)).toEqual([undefined, undefined]);
      expect({ name, id: answers[1].operation_id }).toEqual({ name, id: answers[0].operation_id });
    });
    await Promise.all(both);
    const keys = (await purchasesOf(env)).map(({ idempotency_key }) => idempotency_key);
    const ledger = await service.close();
    expect(ledger.size).toBe(calls.length);
    expect(new Set(keys)).toEqual(new Set(ledger.keys()));
    expect(keys).toHaveLength(calls.length);
  });
});

const atOnce = process.env.LEADPIPE_EXHAUSTIVE === undefined ? 120 : 500;
it(`one server answers ${atOnce} calls at once, and each buys`, async () => {
  const { service, env } = await startLedger({});
  const agent = await startAgent({ env });
  const calls = Array.from({ length: atOnce }, (_, nth) =>
    agent.ask('contact', { contact_type: 'email', objective: `Lena Weber ${nth}` }),
  );
  const answers = await Promise.all(calls);
  expect(answers.filter(({ error }) => error !== undefined)).toEqual([]);
  expect((await service.close()).size).toBe(atOnce);
});

describe('a purchase whose answer was lost', () => {
  it('is resumed as the same purchase after a kill', async () => {
    const item = { login: 'lena' };
    const answer = jsonAnswer({ success: true, data: [item], metadata: { type: 'x_followers', limit: 5 } });
    const { service, env } = await serving((socket, { method }) => {
      if (method === 'GET') socket.write(credits);
      else if (service.requests.length > 1) socket.write(answer);
      else first.kill();
    });
    const args = { type: 'x_followers', target: 'lena', limit: 5 };
    const first = await startAgent({ env });
    await expect(first.call('extract', args)).rejects.toThrow();
    expect(await purchasesOf(env)).toMatchObject([{ state: 'unknown', charged: 'maybe' }]);
    const second = await startAgent({ env });
    expect(await second.ask('extract', args)).toMatchObject({ items: [item], charged: 'yes' });
    expect(await purchasesOf(env)).toMatchObject([{ state: 'complete', charged: 'yes', leads: 1 }]);
    expect(keyOf(service.requests[1])).toBe(keyOf(service.requests[0]));
  });

  it.each([
    ['without a question', []],
    ['with one', ['--confirm']],
  ])(
    'is not counted twice against the limit, and not sent again when the service does not give it: %s',
    async (_, confirm) => {
      const posts: RawRequest[] = [];
      let isLost = true;
      const { env: bare } = await serving((socket, request) => {
        if (request.method === 'GET') return void socket.write(credits);
        posts.push(request);
        if (isLost) return void socket.destroy();
        const isSearch = request.path === '/v1/entity-search';
        socket.write(isSearch ? wholeStream(searchFrames([['{"name":"Kontora"}']])) : used);
      });
      const env = { ...bare, ...withSettings({ 'price.contact.email': 5, 'retry.attempts': 0 }) };
      const args = ['--max-credits', '40', ...confirm];
      const { ask } = await startAgent({ version: 1, env, args, answer: () => 'accept' });
      const search = { ...fintech, limit: 30 };
      const contact = { contact_type: 'email', objective: 'Lena Weber' };
      const lost = { exit: 8, charged: 'maybe' };
      expect((await ask('search', search)).error).toMatchObject(lost);
      expect((await ask('contact', contact)).error).toMatchObject(lost);
      isLost = false;
      expect(await ask('search', search)).toMatchObject({ count: 1, charged: 'yes' });
      const refused = (await ask('contact', contact)).error;
      expect(refused).toMatchObject({ ...lost, type: 'request_already_exists' });
      expect((await ask('balance')).session.spent_at_most).toBe(35);
      const sent = posts.length;
      // The service has said that it does not give it: what it said is given again.
      const { type, operation_id, hint } = refused;
      const again = (await ask('contact', contact)).error;
      expect(again).toMatchObject({ type, operation_id, hint, charged: 'maybe' });
      expect(posts).toHaveLength(sent);
      expect(new Set(posts.map(keyOf)).size).toBe(2);
      expect(await purchasesOf(env)).toMatchObject([
        { command: 'search company', state: 'complete', charged: 'yes' },
        { operation_id, state: 'unknown', charged: 'maybe' },
      ]);
    },
  );
});

it('the rest of a search that was cut costs what it can bring; dropped by the person, the search is bought again', async () => {
  const questions: string[] = [];
  const bodies: string[] = [];
  const { env } = await serving((socket, { method, path, body }) => {
    if (method === 'GET') return void socket.write(path.endsWith('balance') ? credits : notFound);
    bodies.push(body);
    const frames = searchFrames([['{"name":"A"}'], ['{"name":"B"}']]);
    if (bodies.length > 1) socket.write(wholeStream(frames));
    else socket.end(streamStart(frames[0] ?? ''));
  });
  const answer = (question: string) => {
    questions.push(question);
    return questions.length === 2 ? 'decline' : 'accept';
  };
  const { ask } = await startAgent({ env, args: ['--confirm'], answer });
  const cut = await ask('search', fintech);
  expect(cut).toMatchObject({ count: 1, complete: false });
  expect((await ask('search', fintech)).error).toMatchObject({ charged: 'no' });
  expect(questions).toEqual([
    expect.stringContaining('at most 100 credits'),
    expect.stringContaining('at most 99 credits'),
  ]);
  expect((await run(`history drop ${cut.operation_id}`, { env })).code).toBe(0);
  expect(await ask('search', fintech)).toMatchObject({ count: 2, complete: true, charged: 'yes' });
  expect(bodies[1]).toBe(bodies[0]);
});

it('the rest of a search that is refused comes with the leads of before', async () => {
  let posts = 0;
  const refusal = errorAnswer('402 Payment Required', 'insufficient_credits', 'no');
  const { env } = await serving((socket, { method }) => {
    if (method === 'GET') return void socket.write(notFound);
    if (posts++ > 0) return void socket.write(refusal);
    socket.end(streamStart(searchFrames([['{"name":"A"}']])[0] ?? ''));
  });
  const { ask } = await startAgent({ env });
  for (const type of [expect.anything(), 'insufficient_credits'])
    expect(await ask('search', fintech)).toMatchObject({ leads: [{ name: 'A' }], error: { type } });
});

it('a purchase that another process has taken over is not sent again', async () => {
  let posts = 0;
  const { env } = await serving((socket, { method }) => {
    if (method === 'GET') return void socket.write(credits);
    posts++;
    const folder = join(env.LEADPIPE_STATE_DIR ?? '', 'operations');
    for (const id of readdirSync(folder)) rmSync(join(folder, id, 'lock'), { recursive: true, force: true });
    socket.write(jsonAnswer(contactResult('email', 'x', 'a@b.example')));
  });
  const { ask } = await startAgent({ env });
  const { error } = await ask('contact', { contact_type: 'email', objective: 'Lena Weber' });
  expect(error).toMatchObject({ exit: 75, message: expect.stringContaining('took over') });
  expect(posts).toBe(1);
});

describe('an answer that is stored', () => {
  it('is given again, if the server was killed before it wrote down that it arrived', async () => {
    const { service, env } = await startLedger({});
    const args = { contact_type: 'email', objective: 'Lena Weber' };
    const dying = { ...env, ...faultyWith({ mode: 'kill', on: 'journal.jsonl', at: 2 }) };
    const first = await startAgent({ env: dying });
    await expect(first.call('contact', args)).rejects.toThrow();
    const { ask } = await startAgent({ env });
    expect(await ask('contact', args)).toMatchObject({
      answer: { object: 'contact_search_result' },
      charged: 'no',
    });
    const [known] = await purchasesOf(env);
    // The command line names it as one that was bought.
    const again = await run('contact email "Lena Weber"', { env });
    expect(again.stderr).toContain(
      `To print that one, for free: leadpipe history show ${known.operation_id}`,
    );
    expect((await service.close()).size).toBe(2);
  });

  /** A clock this number of minutes ahead. */
  const ahead = (minutes: number) => ({
    NODE_OPTIONS: `--import ${join(import.meta.dirname, '../soak/clock-preload.mjs')}`,
    CLOCK_AHEAD_MS: String(minutes * 60_000),
  });

  it.each([
    ['is given for ten minutes', 0, 9, true],
    ['is bought again later', 0, 11, false],
    // It took long to come.
    ['is as old as it is here, and not as its question is', -30, 0, true],
  ])('%s', async (_, asked, later, isStored) => {
    const { service, env } = await startLedger({});
    const contact = { contact_type: 'email', objective: 'Lena Weber' };
    const first = await startAgent({ env: { ...env, ...ahead(asked) } });
    expect(await first.ask('contact', contact)).toMatchObject({ charged: 'yes' });
    await first.close();
    const second = await startAgent({ env: { ...env, ...ahead(later) } });
    const { stored = false } = await second.ask('contact', contact);
    expect({ stored, spent: service.spent() }).toEqual({ stored: isStored, spent: isStored ? 5 : 10 });
  });
});

describe('a purchase without a result', () => {
  it('is an error to the client, and costs nothing when it is given again', async () => {
    const none = { success: false, answer: { answer: 'No result generated from deep search' } };
    const { service, env } = await serving((socket, { method, path }) => {
      if (path === '/v1/deep-search') return void socket.write(jsonAnswer(none));
      if (method === 'GET') return void socket.write(errorAnswer('404 Not Found', 'not_found', 'no'));
      socket.write(wholeStream(searchFrames([[]]).slice(0, 1)));
    });
    const { ask, call } = await startAgent({ env });
    const research = { query: 'What is Kontora?' };
    const first = (await ask('research', research)).error;
    expect(first).toMatchObject({ exit: 7, charged: 'maybe' });
    const { request_id } = first;
    const hint = expect.stringContaining('cost nothing');
    const error = expect.objectContaining({ exit: 7, charged: 'no', request_id, hint });
    const again = await call('research', research);
    expect(again).toMatchObject({ isError: true, structuredContent: { error } });
    expect(service.requests).toHaveLength(1);
    const cut = await call('search', { ...fintech, limit: 3 });
    expect(cut).toMatchObject({ isError: true, structuredContent: { error: { exit: 8 } } });
  });
});

it('a search that brings known leads again shows as many of the others as were asked for', async () => {
  const batches = [['{"name":"A"}'], ['{"name":"A"}', '{"name":"B"}', '{"name":"C"}']];
  const { env } = await serving((socket, { method }) => {
    socket.end(method === 'GET' ? notFound : wholeStream(searchFrames([batches.shift() ?? []])));
  });
  const { ask } = await startAgent({ env });
  const asked = { ...fintech, limit: 3, show: 1, only_new: true };
  await ask('search', asked);
  const second = await ask('search', { ...asked, again: true });
  expect(second).toMatchObject({ leads: [{ name: 'B' }], count: 2, next: 1, not_new: 1 });
});

describe('a file that appears while an agent writes one of this name', () => {
  it.each(['leads.csv', 'leads.xlsx'])('%s stays as it is', async (output) => {
    const files = temporaryFolder();
    const file = join(files, output);
    const { env } = await serving((socket, { path }) => {
      // By then, the server has seen that there is no such file.
      if (path.includes('/fetch')) writeFileSync(file, 'of somebody else', { flag: 'wx' });
      socket.write(page([someEntities[0] ?? ''], 0, 500, ['done', 1]));
    });
    const { ask } = await startAgent({ env, args: ['--files', files] });
    const { error } = await ask('task_fetch', { leads_search_id: taskId, output });
    expect(readFileSync(file, 'utf8')).toBe('of somebody else');
    expect(error).toMatchObject({ type: 'usage', message: expect.stringContaining('already exists') });
    expect(readdirSync(files)).toEqual([output]);
  });
});

describe('what an agent is told is on the disk:', () => {
  /** The answer of a tool, and the files that a power cut would leave. */
  async function leftOf(env: Record<string, string>, tool: string, given: object) {
    const [files, trace] = [temporaryFolder(), join(temporaryFolder(), 'trace')];
    const traced = { ...env, ...faultyWith({ mode: 'count', trace }) };
    // A client of the second version starts the server twice.
    const { ask } = await startAgent({ version: 1, env: traced, args: ['--files', files] });
    const answer = await ask(tool, given);
    const disk = new Disk(new Map());
    for (const [nth, call] of readTrace(trace).entries()) disk.take(call, nth);
    return { answer, left: disk.left('synced', () => true) };
  }

  it('a file that was written', async () => {
    const fetched = page([someEntities[0] ?? ''], 0, 500, ['done', 1]);
    const { env } = await serving((socket) => void socket.write(fetched));
    const asked = { leads_search_id: taskId, output: 'leads.csv' };
    const { answer, left } = await leftOf(env, 'task_fetch', asked);
    expect(left.get(answer.output)).toBe(readFileSync(answer.output, 'latin1'));
  });

  it('a task whose leads count for a list', async () => {
    const { env } = await startLedger({});
    const { answer, left } = await leftOf(env, 'task_create', { ...fintech, limit: 2, only_new: true });
    const lists = [...left].flatMap(([path, text]) => (path.includes('/lists/') ? [text] : []));
    expect(lists.join('')).toContain(`"${answer.leads_search_id}"`);
  });
});

describe('a free read that has to wait', () => {
  it('reports it, so that the client keeps waiting', async () => {
    let asked = 0;
    const busy = errorAnswer('429 Too Many Requests', 'rate_limited', 'slow down', ['Retry-After: 1']);
    const { env } = await serving((socket) => void socket.write(asked++ % 2 === 0 ? busy : credits));
    const { ask } = await startAgent({ env });
    const heard: string[] = [];
    const { balance } = await ask('balance', {}, { onProgress: (line) => heard.push(line) });
    expect(balance.available_credits).toBe(1000);
    expect(heard).toContainEqual(expect.stringContaining('trying again in 1 s'));
  });
});
