import { beforeEach } from 'vitest';
import { errorAnswer, notFound, searchFrames, streamStart, wholeStream } from './fault-server.ts';
import { machineWith } from './machine.ts';

/** A machine with nothing on it, and a service that cuts searches: new for each test of a file that imports this. */
export let at: Awaited<ReturnType<typeof machineWith>>;

/** The leads of the searches that are cut, and of the one after them. */
export const first = ['{"name":"A","id":12345678901234567890}', '{"name":"B"}'];
export const rest = ['{"name":"C"}'];
/** What the search brings that is cut for the nth time, from 0. */
export const leadsOfCut = (nth: number): string[] =>
  first.map((lead) => (nth === 0 ? lead : lead.replace(/"name":"(.)"/, `"name":"$1${nth}"`)));
export const lines = (...leads: string[]): string => leads.map((lead) => `${lead}\n`).join('');

/** Searches that are refused, then cut after a batch; the leads of the next one (`last`); a hook before each answer. */
export let script: { refusals: number; cuts: number; last: readonly string[]; before?: () => void };

beforeEach(async () => {
  script = { refusals: 0, cuts: 1, last: rest };
  let cuts = 0;
  at = await machineWith((socket, { method }) => {
    // What was cut can't be read as a task.
    if (method === 'GET') return void socket.write(notFound);
    script.before?.();
    if (script.refusals-- > 0)
      return void socket.end(errorAnswer('402 Payment Required', 'insufficient_credits', 'no'));
    const { last } = script;
    if (script.cuts-- > 0) return void socket.end(streamStart(searchFrames([leadsOfCut(cuts++)])[0] ?? ''));
    socket.end(wholeStream(searchFrames(last.length === 0 ? [] : [last])));
  });
});

export const bodies = (): Record<string, unknown>[] =>
  at.requests.filter(({ method }) => method === 'POST').map(({ body }) => JSON.parse(body));
