import { beforeAll, describe, expect, it } from 'vitest';
import { sectionOf } from '../../src/conformance/row.ts';
import { rows } from '../../src/conformance/run.ts';
import { recordsIn, runInProcess } from '../helpers/fake-context.ts';
import { errorAnswer, type FaultServer, jsonAnswer, startFaultServer } from '../helpers/fault-server.ts';
import { fileOf } from '../helpers/local-service.ts';
import { bareEnvironment, pointedAt, type Result, resultOf, run, start } from '../helpers/run.ts';

const key = 'a-secret-key-0123456789';

const recordsOf = ({ stdout }: Result) => recordsIn(stdout) as Record<string, string>[];

const env: Record<string, string> = { LEADPIPE_API_KEY: key };
/** The command against a service, with the key of `env`. */
const against = ({ url }: FaultServer, ...args: string[]) =>
  runInProcess(['conformance', url, ...args], { env });

/** A service whose balance is there, and everything else as `answer` says. */
const withBalance = (answer: Parameters<typeof startFaultServer>[0]) =>
  startFaultServer((socket, request) => {
    if (request.path !== '/v1/credit/balance') return answer(socket, request);
    socket.write(jsonAnswer('{}'));
  });

describe('leadpipe conformance', () => {
  let agreeing: FaultServer;
  let refusing: FaultServer;
  beforeAll(async () => {
    agreeing = await startFaultServer((socket, { headers }) => {
      const sent = headers['x-api-key'] ?? headers.authorization ?? '';
      socket.write(jsonAnswer({ sent }, [`X-Request-Id: of ${sent}`]));
    });
    refusing = await startFaultServer((socket) => {
      socket.write(errorAnswer('422 Unprocessable', 'invalid_request_error', 'no'));
    });
  });

  it('checks the local service, and says how many rows', { timeout: 60_000 }, async () => {
    const result = await run(['conformance', '--local', '--only', 'fetch']);
    const count = rows.filter(({ id }) => id.startsWith('fetch/')).length;
    expect(result.stderr).toContain(`${count} rows: ${count} passed, 0 failed, 0 skipped`);
    expect(result.code).toBe(0);
    expect(recordsOf(result)).toHaveLength(count);
    expect(recordsOf(result).find(({ row }) => row === 'fetch/body')).toEqual({
      row: 'fetch/body',
      section: 'fetch',
      rule: 'a page has all its fields',
      result: 'passed',
      expected: '200, and what the rule says',
      got: '200',
      request_id: expect.stringMatching(/^req_/),
    });
  });

  it('no row passes whatever the service does', { timeout: 60_000 }, async () => {
    const names = ['other', 'revoked', 'expired', 'no_access', 'no_credits', 'busy'];
    const further = Object.fromEntries(names.map((name, at) => [name, `further-key-${at}`]));
    const keys = fileOf('all.json', JSON.stringify(further));
    const sections = new Set(rows.map(sectionOf));
    sections.delete('settlement');
    const passed = async (server: FaultServer): Promise<string[]> => {
      const all: Record<string, string>[] = [];
      for (const section of sections)
        all.push(...recordsOf(await against(server, '--keys', keys, '--only', section)));
      return all.filter(({ result }) => result === 'passed').map(({ row }) => row ?? '');
    };
    const [agreed, refused] = await Promise.all([passed(agreeing), passed(refusing)]);
    expect(agreed.length).toBeGreaterThan(50);
    expect(refused.length).toBeGreaterThan(150);
    expect(agreed.filter((row) => refused.includes(row))).toEqual([]);
  });

  it('fails with 76, names the rows, warns of the cost, and never shows a key', async () => {
    const elsewhere = pointedAt('http://127.0.0.1:9', key);
    const result = await runInProcess(['conformance', agreeing.url, '--only', 'contact'], { env: elsewhere });
    expect(result.code).toBe(76);
    expect(result.stderr).toMatch(/^warning: this costs credits: at most 1 search lead, \d+ email lookups/);
    expect(result.stderr).toContain('contact/contact-type-missing');
    expect(result.stderr).toMatch(/\n\d+ rows: \d+ passed, \d+ failed, 0 skipped\n/);
    expect(result.stdout + result.stderr).not.toContain(key);
    expect(recordsOf(result)[0]?.request_id).toBe('of Bearer [API key]');
    const wrong = recordsOf(result).find(({ row }) => row === 'contact/contact-type-missing');
    const expected = '422 invalid_request_error';
    expect(wrong).toMatchObject({ result: 'failed', expected, got: '200 instead of 422' });
  });

  it('says first what it may cost, keeps to --max-credits, and stands in the history', async () => {
    const env = { ...bareEnvironment(), LEADPIPE_API_KEY: key };
    const before = agreeing.requests.length;
    const args = ['conformance', agreeing.url, '--only', 'deep-search/body'];
    const unknown = await runInProcess([...args, '--max-credits', '5'], { env });
    expect(unknown).toMatchObject({ code: 5, stdout: '' });
    expect(unknown.stderr).toContain('price.research');
    await runInProcess(['config', 'set', 'price.research', '20'], { env });
    const over = await runInProcess([...args, '--max-credits', '19'], { env });
    expect(over).toMatchObject({ code: 5, stdout: '' });
    expect(agreeing.requests).toHaveLength(before);
    const within = await runInProcess([...args, '--max-credits', '20'], { env });
    expect(within.stderr).toMatch(
      /^warning: this costs credits: at most 1 research question; by your prices at most 20 credits/,
    );
    const history = await runInProcess(['history', 'list', '-f', 'jsonl'], { env });
    const known = { command: 'conformance', charged: 'maybe', service: agreeing.url };
    expect(recordsOf(history)).toMatchObject([known]);
  });

  it('ends with 3 when rows were skipped for lack of credits', async () => {
    const poor = await withBalance((socket) => {
      socket.write(errorAnswer('402 Payment Required', 'insufficient_credits', 'no'));
    });
    const result = await against(poor, '--only', 'deep-search/body');
    expect(result.code).toBe(3);
    expect(result.stderr).toContain('1 row was skipped for lack of credits');
  });

  it('--free sends no request that costs, and needs no warning', async () => {
    const before = agreeing.requests.length;
    const result = await against(agreeing, '--free', '--only', 'events');
    expect(result.stderr).toBe('20 rows: 0 passed, 0 failed, 0 skipped, 20 left out\n');
    expect(result.code).toBe(0);
    expect(agreeing.requests.slice(before).map(({ path }) => path)).toEqual(['/v1/credit/balance']);
  });

  it('leaves out rows whose key is missing', async () => {
    const result = await against(agreeing, '--only', 'errors/extract-busy');
    expect(result.stderr).toBe('1 row: 0 passed, 0 failed, 0 skipped, 1 left out\n');
    expect(recordsOf(result)[0]?.got).toBe('needs the API key "busy"');
  });

  it('sends the main key and those of --keys, each where it belongs', async () => {
    const keys = fileOf('busy.json', '{"busy":"the-busy-key"}');
    const before = refusing.requests.length;
    await against(refusing, '--keys', keys, '--only', 'errors/contact-busy');
    expect(
      refusing.requests.slice(before).map(({ headers }) => headers.authorization ?? headers['x-api-key']),
    ).toEqual([key, 'Bearer the-busy-key']);
  });

  const noKey = 'a value for "other" that is not an API key';
  const withKeys = (name: string, text: string) => () => ['--local', '--keys', fileOf(name, text)];
  it.each<[name: string, args: () => string[], code: number, says: string, known?: typeof env]>([
    ['no address', () => [], 78, 'the address and the API key are missing'],
    ['an address that is not https', () => ['http://example.com'], 78, 'it uses http, not https'],
    ['no key', () => [agreeing.url], 78, 'no API key'],
    ['two addresses', () => [agreeing.url, '--local'], 2, 'the address is given twice'],
    ['an unknown section', () => ['--local', '--only', 'nothing'], 2, 'there is no section nothing'],
    ['no such file of keys', () => ['--local', '--keys', 'nowhere.json'], 2, 'there is no such file'],
    ['a file of keys that is not JSON', withKeys('bad.json', '{"other":'), 2, 'is not a JSON object'],
    [
      'a key of an unknown name',
      withKeys('name.json', '{"second":"secret-2"}'),
      2,
      'an unknown name: "second"',
    ],
    ['a key that no header can carry', withKeys('space.json', '{"other":"secret 2"}'), 2, noKey],
    ['nobody there', () => ['http://127.0.0.1:9'], 75, "the service can't be reached", env],
  ])('%s', async (_, args, code, says, known = {}) => {
    const result = await runInProcess(['conformance', ...args()], { env: known });
    expect(result.stderr).toContain(says);
    expect(result.stderr).not.toContain('secret');
    expect(result).toMatchObject({ code, stdout: '' });
  });

  it('ends when the main key is refused', async () => {
    const server = await startFaultServer((socket) => {
      socket.write(errorAnswer('401 Unauthorized', 'authentication_error', 'unknown key'));
    });
    const result = await against(server);
    expect(result).toMatchObject({ code: 4, stdout: '' });
    expect(server.requests).toHaveLength(1);
  });

  it('fails a row whose answer does not come within --timeout', async () => {
    const silent = await withBalance(() => {});
    const result = await against(silent, '--timeout', '0.2', '--only', 'status/unknown-task');
    expect(result.code).toBe(76);
    expect(recordsOf(result)[0]?.got).toBe('no complete answer within 0.2 seconds');
  });

  it('stops on Ctrl-C', async () => {
    const silent = await startFaultServer((_, { path }) => {
      // The first request is the balance, which comes before all rows.
      if (path === '/v1/credit/balance') child.kill('SIGINT');
    });
    const child = start(['conformance', silent.url, '--only', 'fetch'], { env });
    const result = await resultOf(child);
    expect(result).toMatchObject({ code: 130, stdout: '' });
    expect(result.stderr).toContain('the check was stopped');
  });
});
