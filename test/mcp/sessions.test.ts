import { describe, expect, it } from 'vitest';
import {
  chunk,
  errorAnswer,
  lastChunk,
  type RawRequest,
  searchFrames,
  startFaultServer,
  streamHead,
  wholeAnswer,
} from '../helpers/fault-server.ts';
import { bareEnvironment, pointedAt, run } from '../helpers/run.ts';
import { startAgent, startHttp, startLedger } from './agent.ts';

const json = (body: object): string => wholeAnswer('200 OK', 'application/json', JSON.stringify(body));
const credits = json({ object: 'credit_balance', available_credits: 1000 });
const used = errorAnswer('409 Conflict', 'request_already_exists', 'this key was used before');

/** The purchases of the history, as the command line lists them. */
async function purchasesOf(env: Record<string, string>) {
  const { stdout } = await run(['history', 'list', '-f', 'jsonl'], { env });
  return stdout
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));
}

const keyOf = ({ headers }: RawRequest): string | undefined => headers['idempotency-key'];

describe('two servers for one person', () => {
  it('buy what both are asked for at the same moment once, and both have the answer', async () => {
    const { service, env } = await startLedger({});
    const agents = [await startAgent({ version: 1, env }), await startAgent({ version: 2, env })];
    // What is loaded for the first call would come between them.
    for (const agent of agents) await agent.call('balance');
    const calls = [1, 2].flatMap((number) => [
      ['contact', { contact_type: 'email', objective: `Lena Weber ${number}` }] as const,
      ['search', { entity_type: 'company', objective: 'fintech', limit: number }] as const,
      ['task_create', { entity_type: 'company', objective: 'fintech', limit: number }] as const,
    ]);
    const both = calls.map(async ([name, args]) => {
      const answers = await Promise.all(agents.map((agent) => agent.call(name, args)));
      const ids = answers.map(({ structuredContent }) => structuredContent.operation_id);
      expect({ name, ids: new Set(ids).size }).toEqual({ name, ids: 1 });
      expect(answers.map(({ isError }) => isError ?? false)).toEqual([false, false]);
    });
    await Promise.all(both);
    await Promise.all(agents.map((agent) => agent.close()));
    const keys = (await purchasesOf(env)).map(({ idempotency_key }) => idempotency_key);
    const ledger = await service.close();
    expect(ledger.size).toBe(calls.length);
    expect(new Set(keys)).toEqual(new Set(ledger.keys()));
    expect(keys).toHaveLength(calls.length);
  });
});

describe('a purchase whose answer was lost', () => {
  it('goes on as the same purchase after a kill', async () => {
    let asked = (): void => {};
    const arrived = new Promise<void>((resolve) => {
      asked = resolve;
    });
    const item = { login: 'lena' };
    const answer = json({ success: true, data: [item], metadata: { type: 'x_followers', limit: 5 } });
    const service = await startFaultServer((socket) => {
      if (service.requests.length > 1) socket.write(answer);
      else asked();
    });
    const env = { ...bareEnvironment(), ...pointedAt(service.url) };
    const args = { type: 'x_followers', target: 'lena', limit: 5 };
    const first = await startAgent({ version: 2, env });
    const killed = first.call('extract', args);
    await arrived;
    first.kill();
    await expect(killed).rejects.toThrow();
    expect(await purchasesOf(env)).toMatchObject([{ state: 'unknown', charged: 'maybe' }]);
    const second = await startAgent({ version: 2, env });
    expect((await second.call('extract', args)).structuredContent).toMatchObject({
      items: [item],
      charged: 'yes',
    });
    await second.close();
    expect(await purchasesOf(env)).toMatchObject([{ state: 'complete', charged: 'yes', leads: 1 }]);
    expect(keyOf(service.requests[1] as RawRequest)).toBe(keyOf(service.requests[0] as RawRequest));
  });

  it('is not counted twice against the limit, and not sent again when the service does not give it', async () => {
    const posts: RawRequest[] = [];
    let isLost = true;
    const service = await startFaultServer((socket, request) => {
      if (request.method === 'GET') return void socket.write(credits);
      posts.push(request);
      if (isLost) return void socket.destroy();
      if (request.path !== '/v1/entity-search') return void socket.write(used);
      socket.write(streamHead);
      for (const one of searchFrames([['{"name":"Kontora"}']])) socket.write(chunk(one));
      return void socket.write(lastChunk);
    });
    const env = { ...bareEnvironment(), ...pointedAt(service.url) };
    await run(['config', 'set', 'price.contact.email', '5'], { env });
    const agent = await startAgent({ version: 1, env, args: ['--max-credits', '40'] });
    const search = { entity_type: 'company', objective: 'fintech', limit: 30 };
    const contact = { contact_type: 'email', objective: 'Lena Weber' };
    const lost = { exit: 8, charged: 'maybe' };
    expect((await agent.call('search', search)).structuredContent.error).toMatchObject(lost);
    expect((await agent.call('contact', contact)).structuredContent.error).toMatchObject(lost);
    isLost = false;
    expect((await agent.call('search', search)).structuredContent).toMatchObject({
      count: 1,
      charged: 'yes',
    });
    const refused = (await agent.call('contact', contact)).structuredContent.error;
    expect(refused).toMatchObject({ ...lost, type: 'request_already_exists' });
    expect((await agent.call('balance')).structuredContent.session.spent_at_most).toBe(35);
    const sent = posts.length;
    // The service has said that it does not give it: what it said is given again.
    expect((await agent.call('contact', contact)).structuredContent.error).toMatchObject({
      type: refused.type,
      operation_id: refused.operation_id,
      hint: refused.hint,
      charged: 'maybe',
    });
    expect(posts).toHaveLength(sent);
    await agent.close();
    expect(new Set(posts.map(keyOf)).size).toBe(2);
    expect(await purchasesOf(env)).toMatchObject([
      { command: 'search company', state: 'complete', charged: 'yes' },
      { operation_id: refused.operation_id, state: 'unknown', charged: 'maybe' },
    ]);
  });
});

describe('what came to nothing', () => {
  it('is an error to the client, and costs nothing when it is given again', async () => {
    const none = { success: false, answer: { answer: 'No result generated from deep search' } };
    const service = await startFaultServer((socket, { method, path }) => {
      if (path === '/v1/deep-search') return void socket.write(json(none));
      if (method === 'GET') return void socket.write(errorAnswer('404 Not Found', 'not_found', 'no'));
      socket.write(streamHead);
      for (const one of searchFrames([[]]).slice(0, 1)) socket.write(chunk(one));
      return void socket.write(lastChunk);
    });
    const agent = await startAgent({
      version: 2,
      env: { ...bareEnvironment(), ...pointedAt(service.url) },
    });
    const research = { query: 'What is Kontora?' };
    const first = (await agent.call('research', research)).structuredContent.error;
    expect(first).toMatchObject({ exit: 7, charged: 'maybe' });
    const again = await agent.call('research', research);
    expect(again).toMatchObject({ isError: true });
    expect(again.structuredContent.error).toMatchObject({
      exit: 7,
      charged: 'no',
      request_id: first.request_id,
      hint: expect.stringContaining('cost nothing'),
    });
    expect(service.requests).toHaveLength(1);
    const cut = await agent.call('search', { entity_type: 'company', objective: 'fintech', limit: 3 });
    expect(cut.isError).toBe(true);
    expect(cut.structuredContent.error).toMatchObject({ exit: 8 });
    await agent.close();
  });
});

describe('a server that many clients came to', () => {
  /** Begins a session as clients of the earlier revisions do, and goes away without a word. */
  async function beginSession(url: string): Promise<string> {
    const clientInfo = { name: 'test', version: '1' };
    const params = { protocolVersion: '2025-06-18', capabilities: {}, clientInfo };
    const response = await post(url, { jsonrpc: '2.0', id: 1, method: 'initialize', params });
    await response.text();
    return response.headers.get('mcp-session-id') ?? '';
  }
  const post = (url: string, message: object, headers: Record<string, string> = {}): Promise<Response> =>
    fetch(url, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        ...headers,
      },
      body: JSON.stringify(message),
    });

  it('lets the oldest idle session go for a new one, and never one in which something is bought', async () => {
    const { service, env } = await startLedger({ batch_size: 1, batch_pause_ms: 150 });
    const http = await startHttp([], env);
    const agent = await startAgent({ version: 1, url: http.url });
    let bought: ReturnType<typeof agent.call> | undefined;
    await new Promise<void>((resolve) => {
      const search = { entity_type: 'company', objective: 'fintech', limit: 20 };
      const onProgress = (message: string) => message.includes('so far') && resolve();
      bought = agent.call('search', search, { onProgress });
    });
    const idle: string[] = [];
    for (let number = 0; number < 110; number++) idle.push(await beginSession(http.url));
    expect((await bought)?.structuredContent).toMatchObject({ count: 20, complete: true });
    const ping = (id = '') =>
      post(http.url, { jsonrpc: '2.0', id: 2, method: 'ping' }, { 'mcp-session-id': id });
    // A program that reaches this port may be anybody's: it writes no file unless the person has named a folder.
    const { operation_id } = (await bought)?.structuredContent ?? {};
    const written = await agent.call('history_show', { operation_id, output: 'leads.csv' });
    expect(written.structuredContent.error).toMatchObject({ hint: expect.stringContaining('--files') });
    expect((await ping(idle[0])).status).toBe(404);
    expect((await ping(idle.at(-1))).status).toBe(200);
    await agent.close();
    await http.stop();
    expect((await service.close()).size).toBe(1);
  });
});

describe('a free read that has to wait', () => {
  it('says so, that the client waits on', async () => {
    let asked = 0;
    const busy = errorAnswer('429 Too Many Requests', 'rate_limited', 'slow down', ['Retry-After: 1']);
    const service = await startFaultServer((socket) => void socket.write(asked++ % 2 === 0 ? busy : credits));
    const env = { ...bareEnvironment(), ...pointedAt(service.url) };
    const agent = await startAgent({ version: 2, env });
    const heard: string[] = [];
    const { structuredContent } = await agent.call('balance', {}, { onProgress: (line) => heard.push(line) });
    expect(structuredContent.balance.available_credits).toBe(1000);
    expect(heard).toContainEqual(expect.stringContaining('trying again in 1 s'));
    await agent.close();
  });
});
