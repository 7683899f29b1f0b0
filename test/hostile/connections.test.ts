import { writeFileSync } from 'node:fs';
import { createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { closing } from '../helpers/closing.ts';
import { runInProcess } from '../helpers/fake-context.ts';
import { errorAnswer, type FaultServer, jsonAnswer, startFaultServer } from '../helpers/fault-server.ts';
import { pointedAt, temporaryFolder } from '../helpers/run.ts';

let server: FaultServer | undefined;

const answer = (value: object): string => jsonAnswer(value, ['Connection: keep-alive']);
const page = (pts: number, name: string): string =>
  answer({
    object: 'entity_search_items',
    leads_search_id: 'ls_1',
    status: 'done',
    pts,
    num: 500,
    count: 1,
    ready_count: 2,
    limit: 2,
    entities: [{ name }],
  });
const poison = page(1, 'Poison');

describe('a connection that is used again', () => {
  it.each([
    ['a second answer behind the first', (first: string) => [first + poison]],
    ['a second answer in pieces', (first: string) => [first + poison.slice(0, 30), poison.slice(30)]],
    ['a second answer behind a body longer than its length', (first: string) => [`${first}{}${poison}`]],
    ['bytes that are no HTTP', (first: string) => [`${first}SSH-2.0-OpenSSH_9.2\r\n\r\n`]],
    [
      'a 408 to a request that was never sent',
      (first: string) => [first + errorAnswer('408 X', 'request_timeout', 'too slow')],
    ],
  ])('%s belongs to no request: the next one gets its own answer', async (_, toPieces) => {
    server = await startFaultServer(async (socket, { path }) => {
      if (path.includes('pts=1')) return void socket.write(page(1, 'B'));
      for (const piece of toPieces(page(0, 'A'))) {
        socket.write(piece);
        await new Promise((resolve) => setImmediate(resolve));
      }
    });
    const { code, stdout } = await runInProcess(['task', 'fetch', 'ls_1', '-f', 'jsonl'], {
      env: pointedAt(server.url),
    });
    expect({ code, stdout }).toEqual({ code: 0, stdout: '{"name":"A"}\n{"name":"B"}\n' });
    expect(server.requests.map(({ path }) => path.replace(/.*pts=/, ''))).toEqual(['0&num=500', '1&num=500']);
  });
});

describe('an answer before the request was sent', () => {
  const schema = JSON.stringify({
    type: 'object',
    properties: { a: { type: 'string', description: 'x'.repeat(200_000) } },
  });

  /** Answers the first bytes of a request, and goes on reading it. */
  async function startEarly(text: string): Promise<{ url: string; heads: () => number }> {
    let heads = 0;
    const listening = createServer((socket: Socket) => {
      socket.on('error', () => {});
      socket.once('data', () => socket.end(text)).resume();
      socket.on('data', (bytes) => {
        heads += bytes.includes('POST /v1/enrich') ? 1 : 0;
      });
    });
    closing(listening);
    await new Promise<void>((resolve) => listening.listen(0, '127.0.0.1', resolve));
    return { url: `http://127.0.0.1:${(listening.address() as { port: number }).port}`, heads: () => heads };
  }

  it.each([
    ['a refusal', errorAnswer('422 X', 'invalid_request_error', 'too large', ['Connection: close']), 2, 1],
    ['a result', answer({ success: true, answer: { a: 'b' } }), 0, 1],
    ['a gateway', errorAnswer('502 X', 'x', 'x', ['Connection: close']), 8, 2],
  ])('%s: the request is retried as often as its fault allows', async (_, text, code, heads) => {
    const { url, heads: sent } = await startEarly(text);
    const file = join(temporaryFolder(), 'schema.json');
    writeFileSync(file, schema);
    const result = await runInProcess(['enrich', 'someone', '--schema', file, '--json-errors'], {
      env: pointedAt(url),
    });
    expect({ code: result.code, heads: sent() }).toEqual({ code, heads });
  });
});
