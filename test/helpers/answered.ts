import type { FakeOptions } from './fake-context.ts';
import { jsonAnswer } from './fault-server.ts';
import { machineWith } from './machine.ts';
import type { Words } from './words.ts';

/** Runs a command in this process against a service that answers every request with this JSON; `sent` is the first request. */
export async function runAnswered(json: string, line: Words, options: FakeOptions = {}) {
  const at = await machineWith(jsonAnswer(json, ['X-Request-Id: req_test']));
  const result = await at.leadpipe(line, options);
  return { ...result, sent: JSON.parse(at.requests[0]?.body ?? 'null') };
}
