import type { Socket } from 'node:net';
import { setTimeout as wait } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import {
  chunk,
  jsonAnswer,
  lastChunk,
  searchFrames,
  startFaultServer,
  streamHead,
} from '../helpers/fault-server.ts';
import { pointedAt, resultOf, start } from '../helpers/run.ts';

const [first = '', ...rest] = searchFrames([['{"name":"a"}'], ['{"name":"b"}']]);

/** Stops the command when its request is there, answers meanwhile, and wakes it when every limit has long run out. */
async function runStopped(
  args: readonly string[],
  before: (socket: Socket) => void,
  meanwhile: (socket: Socket) => void,
) {
  let asked = (_: Socket): void => {};
  const asking = new Promise<Socket>((resolve) => {
    asked = resolve;
  });
  const server = await startFaultServer((socket) => {
    before(socket);
    asked(socket);
  });
  const child = start([...args, '--timeout', '1', '--json-errors'], { env: pointedAt(server.url) });
  const socket = await asking;
  await wait(300);
  child.kill('SIGSTOP');
  meanwhile(socket);
  await wait(2500);
  child.kill('SIGCONT');
  const { code, stdout } = await resultOf(child);
  return { code, stdout, requests: server.requests.length };
}

const found = '{"object":"contact_search_result","request":{},"result":{"content":"a@b.example"}}';
const others = rest.map((one) => chunk(one)).join('') + lastChunk;

type Write = (socket: Socket) => void;
describe.skipIf(process.platform === 'win32')('a process that was stopped for too long', () => {
  it.concurrent.each<
    [what: string, args: readonly string[], before: Write, meanwhile: Write, stdout: string]
  >([
    [
      'the answer that lies in its socket',
      ['contact', 'email', 'someone'],
      () => {},
      (socket) => void socket.write(jsonAnswer(found)),
      `${found}\n`,
    ],
    [
      'the rest of a stream, also when nothing lies there yet',
      ['search', 'company', 'x'],
      (socket) => void socket.write(streamHead + chunk(first)),
      (socket) => void setTimeout(() => socket.write(others), 2800),
      '{"name":"a"}\n{"name":"b"}\n',
    ],
  ])('reads %s', async (_, args, before, meanwhile, stdout) => {
    const came = await runStopped([...args, '-f', 'jsonl'], before, meanwhile);
    expect(came).toEqual({ code: 0, stdout, requests: 1 });
  });
});
