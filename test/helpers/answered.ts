import { type FakeOptions, runInProcess } from './fake-context.ts';
import { startFaultServer, wholeAnswer } from './fault-server.ts';
import { pointedAt } from './run.ts';

/** Runs a command in this process against a service that answers every request with this JSON; `sent` is what it was sent first. */
export async function runAnswered(json: string, args: readonly string[], options: FakeOptions = {}) {
  const answer = wholeAnswer('200 OK', 'application/json', json, ['X-Request-Id: req_test']);
  const server = await startFaultServer((socket) => void socket.end(answer));
  const result = await runInProcess(args, { env: pointedAt(server.url), ...options });
  return { ...result, sent: JSON.parse(server.requests[0]?.body ?? 'null') };
}
