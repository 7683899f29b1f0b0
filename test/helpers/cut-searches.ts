import { join } from 'node:path';
import { beforeEach } from 'vitest';
import { runInProcess } from './fake-context.ts';
import {
  errorAnswer,
  type FaultServer,
  searchFrames,
  startFaultServer,
  streamStart,
  wholeStream,
} from './fault-server.ts';
import { bareEnvironment, pointedAt, temporaryFolder } from './run.ts';

/** A service that cuts searches, and a machine with nothing on it: new for each test of a file that imports this. */
export let server: FaultServer;
export let env: Record<string, string>;
export let cwd: string;
export let file: string;

/** What the searches bring: those that are cut, and the one behind them. */
export const first = ['{"name":"A","id":12345678901234567890}', '{"name":"B"}'];
export const rest = ['{"name":"C"}'];
export const lines = (...leads: string[]): string => leads.map((lead) => `${lead}\n`).join('');

/** How many searches are refused, and how many cut then, after a batch; what the next one brings, and what happens before an answer. */
export let script: { refusals: number; cuts: number; last: readonly string[]; before?: () => void };

beforeEach(async () => {
  script = { refusals: 0, cuts: 1, last: rest };
  server = await startFaultServer((socket, { method }) => {
    // What was cut can't be read as a task.
    if (method === 'GET') return void socket.write('HTTP/1.1 404 Not Found\r\nContent-Length: 2\r\n\r\n{}');
    script.before?.();
    if (script.refusals-- > 0)
      return void socket.end(errorAnswer('402 Payment Required', 'insufficient_credits', 'no'));
    const [cut = ''] = searchFrames([first]);
    const { last } = script;
    socket.end(
      script.cuts-- > 0 ? streamStart(cut) : wholeStream(searchFrames(last.length === 0 ? [] : [last])),
    );
  });
  env = { ...bareEnvironment(), ...pointedAt(server.url) };
  cwd = temporaryFolder();
  file = join(cwd, 'leads.jsonl');
});

export const run = (...args: string[]) => runInProcess(args, { env });
export const bodies = (): Record<string, unknown>[] =>
  server.requests.filter(({ method }) => method === 'POST').map(({ body }) => JSON.parse(body));
