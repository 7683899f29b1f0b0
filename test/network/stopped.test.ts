import type { Socket } from 'node:net';
import { expect, it } from 'vitest';
import { runInProcess } from '../helpers/fake-context.ts';
import {
  chunk,
  jsonAnswer,
  lastChunk,
  searchFrames,
  startFaultServer,
  streamHead,
} from '../helpers/fault-server.ts';
import { pointedAt, until } from '../helpers/run.ts';

/** The clock of a process that is stopped (SIGSTOP, a sleeping machine) and wakes an hour later, when all timers are late. */
function createStoppedClock() {
  let time = 0;
  const timers = new Set<() => void>();
  return {
    now: () => new Date(Date.UTC(2026, 0, 1) + time),
    monotonic: () => time,
    after(_: number, callback: () => void) {
      timers.add(callback);
      return () => timers.delete(callback);
    },
    isWaiting: () => timers.size > 0,
    wake(): void {
      time += 3_600_000;
      const late = [...timers];
      timers.clear();
      for (const callback of late) callback();
    },
  };
}

const [first = '', ...rest] = searchFrames([['{"name":"a"}'], ['{"name":"b"}']]);
const found = '{"object":"contact_search_result","request":{},"result":{"content":"a@b.example"}}';
const lookUp = ['contact', 'email', 'someone', '--timeout', '0.5'];
const search = ['search', 'company', 'x', '--timeout', '1'];

it.each<[what: string, args: string[], begin: string | Buffer, printed: string, end: string, stdout: string]>(
  [
    ['the answer that lies in its socket', lookUp, jsonAnswer(found), '', '', `${found}\n`],
    [
      'the rest of a stream, also when nothing lies there yet',
      search,
      streamHead + chunk(first),
      '{"name":"a"}',
      rest.map((one) => chunk(one)).join('') + lastChunk,
      '{"name":"a"}\n{"name":"b"}\n',
    ],
  ],
)('a process that was stopped for too long reads %s', async (_, args, begin, printed, end, stdout) => {
  const clock = createStoppedClock();
  let seen = '';
  const server = await startFaultServer(async (socket: Socket) => {
    socket.write(begin);
    if (printed === '') return void setImmediate(clock.wake);
    await until(() => seen.includes(printed) && clock.isWaiting());
    clock.wake();
    // It waits again, and only now does the rest arrive.
    await until(clock.isWaiting);
    socket.write(end);
  });
  const result = await runInProcess([...args, '-f', 'jsonl', '--json-errors'], {
    env: pointedAt(server.url),
    context: { clock },
    heard: (_stream, text) => {
      seen += text;
    },
  });
  expect(result).toMatchObject({ code: 0, stdout });
  expect(server.requests).toHaveLength(1);
});
