import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import nock from 'nock';
import { afterAll, afterEach, describe, expect, it } from 'vitest';
import { errorAnswer, type FaultServer, jsonAnswer, startFaultServer } from '../helpers/fault-server.ts';
import { fileOf } from '../helpers/local-service.ts';
import { run } from './command.ts';

/** `npm run conformance`. */

const keys = fileOf('keys.json', JSON.stringify({ main: 'a-secret-key-0123456789', busy: 'the-busy-key' }));

async function conformance(...args: string[]) {
  const [printed, said]: [string[], string[]] = [[], []];
  const code = await run(
    args,
    (line) => printed.push(line),
    (line) => said.push(line),
  );
  return { code, stdout: printed.join('\n'), stderr: said.join('\n') };
}

/** A service that answers everything with the key that it got. */
const agreeing = () =>
  startFaultServer((socket, { headers }) => {
    const sent = headers['x-api-key'] ?? headers.authorization ?? '';
    socket.write(jsonAnswer({ sent }, [`X-Request-Id: of ${sent}`]));
  });
const pathsTo = ({ requests }: FaultServer) => requests.map(({ path }) => path);

describe('a service elsewhere', () => {
  const origin = 'https://service.example';
  const sent: string[] = [];
  const answering = () => {
    nock.disableNetConnect();
    const service = nock(origin).persist();
    service.on('request', ({ path }) => sent.push(path));
    for (const method of ['GET', 'POST'] as const)
      service.intercept(/.*/, method).reply(200, { success: true, answer: { Result: 'text' } });
  };
  afterEach(() => {
    sent.length = 0;
    nock.cleanAll();
    nock.enableNetConnect();
  });
  afterAll(() => nock.restore());

  it('is sent nothing that costs before somebody agrees, who is told the cost first', async () => {
    answering();
    const args = [origin, '--keys', keys, '--only', 'deep-search/body'];
    const refused = await conformance(...args);
    expect(refused).toMatchObject({ code: 2, stdout: '' });
    expect(refused.stderr).toMatch(
      /^This can cost at most: 1 research question\. .*\nNothing was sent\. .*--yes/,
    );
    expect(sent).toEqual([]);
    const agreed = await conformance(...args, '--yes');
    expect(agreed).toMatchObject({ code: 0, stdout: 'passed   deep-search/body' });
    expect(agreed.stderr).toMatch(
      /^This can cost at most: 1 research question\..*\n1 passed, 0 failed, 0 skipped$/,
    );
    expect(sent).toEqual(['/v1/credit/balance', '/v1/deep-search']);
  });

  it('is checked at once for what costs nothing', async () => {
    answering();
    const result = await conformance(origin, '--keys', keys, '--only', 'authentication/enrich-without-key');
    expect(result).toMatchObject({ code: 1, stderr: '0 passed, 1 failed, 0 skipped' });
    expect(sent).toEqual(['/v1/credit/balance', '/v1/enrich']);
  });
});

describe('a service on this machine', () => {
  it('is checked at once, and what it says is shown without a key', async () => {
    const server = await agreeing();
    const only = 'contact/contact-type-missing';
    const args = ['test/conformance/main.js', server.url, '--keys', keys, '--only', only];
    // Another process, since `npm run conformance` is one.
    const child = spawn(process.execPath, args, { cwd: join(import.meta.dirname, '../..') });
    let stdout = '';
    child.stdout.on('data', (bytes) => (stdout += bytes));
    const [code] = await once(child, 'close');
    expect({ code, stdout }).toEqual({
      code: 1,
      stdout: `failed   ${only}\n         contact_type is required: 200 instead of 422 (of Bearer [API key])\n`,
    });
  });

  it('skips rows whose key is missing', async () => {
    const server = await agreeing();
    const only = ['--only', 'errors/extract-busy'];
    const without = fileOf('main.json', '{"main":"a-secret-key-0123456789"}');
    const { code, stdout } = await conformance(server.url, '--keys', without, ...only);
    expect({ code, paths: pathsTo(server) }).toEqual({ code: 0, paths: ['/v1/credit/balance'] });
    expect(stdout).toContain('needs the API key "busy"');
    await conformance(server.url, '--keys', keys, ...only);
    expect(server.requests.at(-1)?.headers.authorization).toBe('Bearer the-busy-key');
    // Those of the local service.
    await conformance(server.url, ...only);
    expect(server.requests.at(-1)?.headers.authorization).toBe('Bearer lp_local_busy');
  });

  it('ends the check when it refuses the main key, or is not there', async () => {
    const server = await startFaultServer((socket) => {
      socket.write(errorAnswer('401 Unauthorized', 'authentication_error', 'unknown key'));
    });
    const refused = await conformance(server.url, '--keys', keys);
    expect(refused).toMatchObject({ code: 1, stdout: '' });
    expect(refused.stderr).toContain('the service refuses the main API key: 401');
    expect(pathsTo(server)).toEqual(['/v1/credit/balance']);
    const absent = await conformance('http://127.0.0.1:9');
    expect(absent).toMatchObject({ code: 1, stdout: '' });
    expect(absent.stderr).toContain('no complete answer');
  });
});

const here = 'http://127.0.0.1:9';
it.each<[string, args: string[], says: string]>([
  ['no address', [], 'Usage: npm run conformance -- <base-url>'],
  ['an address that is not https', ['http://example.com'], 'it uses http, not https'],
  ['no key', ['https://service.example', '--yes'], '--keys <file> is missing'],
  ['an unknown option', [here, '--free'], "Unknown option '--free'"],
  ['rows that there are not', [here, '--only', 'nothing'], 'no row begins with nothing'],
  ['no such file of keys', [here, '--keys', 'nowhere.json'], 'no such file'],
  ['keys that are not JSON', [here, '--keys', fileOf('bad.json', '{"main":')], 'is not a JSON object'],
  [
    'a key of an unknown name',
    [here, '--keys', fileOf('name.json', '{"second":"secret-2"}')],
    'an unknown name: second',
  ],
  [
    'no main key',
    [here, '--keys', fileOf('other.json', '{"other":"a-secret-key"}')],
    'has no API key as "main"',
  ],
  [
    'a key that no header can carry',
    [here, '--keys', fileOf('space.json', '{"main":"secret 2"}')],
    'no API key as "main"',
  ],
])('%s is refused', async (_, args, says) => {
  const result = await conformance(...args);
  expect(result).toMatchObject({ code: 2, stdout: '' });
  expect(result.stderr).toContain(says);
  expect(result.stderr).not.toContain('secret');
});
