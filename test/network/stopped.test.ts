import type { Socket } from 'node:net';
import { setTimeout as wait } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import {
  chunk,
  type FaultServer,
  jsonAnswer,
  lastChunk,
  searchFrames,
  startFaultServer,
  streamHead,
} from '../helpers/fault-server.ts';
import { pointedAt, resultOf, start } from '../helpers/run.ts';

let server: FaultServer | undefined;

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
  server = await startFaultServer((socket) => {
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
  return await resultOf(child);
}

describe.skipIf(process.platform === 'win32')(
  'a process that was stopped longer than its time limits',
  () => {
    it('reads the answer that lies in its socket', async () => {
      const answer = jsonAnswer(
        '{"object":"contact_search_result","request":{},"result":{"content":"a@b.example","reference":null}}',
      );
      const { code, stdout } = await runStopped(
        ['contact', 'email', 'someone', '-f', 'jsonl'],
        () => {},
        (socket) => void socket.write(answer),
      );
      expect({ code, stdout, requests: server?.requests.length }).toMatchObject({ code: 0, requests: 1 });
      expect(stdout).toContain('a@b.example');
    });

    it('reads the rest of a stream, also when nothing lies there yet', async () => {
      const { code, stdout } = await runStopped(
        ['search', 'company', 'x', '-f', 'jsonl'],
        (socket) => void socket.write(streamHead + chunk(first)),
        (socket) =>
          void setTimeout(() => socket.write(rest.map((one) => chunk(one)).join('') + lastChunk), 2800),
      );
      expect({ code, stdout, requests: server?.requests.length }).toEqual({
        code: 0,
        stdout: '{"name":"a"}\n{"name":"b"}\n',
        requests: 1,
      });
    });
  },
);
