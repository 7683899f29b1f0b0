import type { Dispatcher } from 'undici';
import { createClient } from '../../src/client.ts';
import type { Records } from '../../src/json/text.ts';
import { type Running, runToEnd } from '../../src/operations/events.ts';
import { searchEntities } from '../../src/operations/kinds/search-stream.ts';
import { createTransport } from '../../src/transport/request.ts';
import { RequestError } from '../../src/transport/request-error.ts';
import { readPlainly } from './reference.ts';
import type { Stream } from './streams.ts';

const clock = { now: () => new Date(0), monotonic: () => 0, after: () => () => {} };
const timeouts = { headers: 1, idle: 1, event: 1, total: 1 };
const request = { entity_type: 'company', objective: 'anything', limit: 10 } as const;

export interface Read {
  readonly rows: readonly string[];
  readonly isComplete: boolean;
  readonly warnings: readonly string[];
}

/** Reads a stream as the command does, from the body of the answer to what `deliver` is given. */
async function readWithLeadpipe(stream: Stream): Promise<Read> {
  const transport = createTransport({
    dispatcher: { dispatch: (options, handler) => answer(stream, options, handler as never) },
    clock,
    baseUrl: new URL('https://service.example'),
    apiKey: 'key-0123456789',
    keyHeader: undefined,
    userAgent: 'test',
    random: () => 0,
    retryAttempts: 0,
    retryBudgetMs: 0,
    timeouts,
  });
  const client = createClient(transport);
  const rows: string[] = [];
  const waiting = { clock, random: () => 0, signal: new AbortController().signal };
  const deliver = async function* (entities: Records): Running<void> {
    rows.push(...entities);
    yield { is: 'delivered', records: entities.length };
  };
  const summary = await runToEnd(searchEntities(client, request, 'key', deliver, waiting), () => {});
  const { cut, cause, warnings, leads } = summary;
  if (cause !== undefined && !(cause instanceof RequestError)) throw cause;
  if (leads !== rows.length) throw new Error(`${leads} leads were counted, and ${rows.length} delivered`);
  return { rows, isComplete: cut === undefined, warnings };
}

/** What undici calls while an answer comes. */
type Handler = Required<Dispatcher.DispatchHandler>;

/** Answers the search with the stream, whose pieces come when there is room for them, and the rest with the task. */
function answer(stream: Stream, { method, path }: Dispatcher.DispatchOptions, handler: Handler): boolean {
  const { pieces, end } = stream;
  const rest = pieces.values();
  let isPaused = false;
  const controller = {
    abort() {},
    pause() {
      isPaused = true;
    },
    resume() {
      isPaused = false;
      setImmediate(go);
    },
  } as unknown as Dispatcher.DispatchController;
  const go = (): void => {
    for (const piece of rest) {
      handler.onResponseData(controller, Buffer.from(piece));
      if (isPaused) return;
    }
    if (end === 'error') handler.onResponseError(controller, new Error('other side closed'));
    else handler.onResponseEnd(controller, {});
  };
  handler.onRequestStart(controller, {});
  if (method === 'POST') {
    const proof = end === 'unproven' ? {} : { 'transfer-encoding': 'chunked' };
    handler.onResponseStart(controller, 200, { 'content-type': 'text/event-stream', ...proof });
    go();
    return true;
  }
  const { status, text } = toTaskAnswer(stream, new URL(path, 'https://service.example'));
  handler.onResponseStart(controller, status, { 'content-type': 'application/json' });
  handler.onResponseData(controller, Buffer.from(text));
  handler.onResponseEnd(controller, {});
  return true;
}

function toTaskAnswer(
  { task }: Stream,
  { pathname, searchParams }: URL,
): { readonly status: number; readonly text: string } {
  if (task === undefined) {
    return { status: 404, text: '{"error":{"type":"not_found","message":"no such task"}}' };
  }
  const ready = task.length;
  if (pathname.endsWith('/status')) {
    const status = { status: 'done', ready_count: ready, verified_count: ready, stop_reason: 'limit' };
    return { status: 200, text: JSON.stringify({ status }) };
  }
  const page = {
    pts: Number(searchParams.get('pts')),
    num: Number(searchParams.get('num')),
    count: ready,
    ready_count: ready,
  };
  return { status: 200, text: `${JSON.stringify(page).slice(0, -1)},"entities":[${task}]}` };
}

/** What is wrong with how a stream is read; undefined when nothing is. */
export async function faultOf(stream: Stream): Promise<string | undefined> {
  const expected = readPlainly(Buffer.concat(stream.pieces), stream.task);
  let read: Read;
  try {
    read = await readWithLeadpipe(stream);
  } catch (error) {
    return `it threw ${error instanceof Error ? error.stack : String(error)}`;
  }
  const { rows, isComplete, warnings } = read;
  if (JSON.stringify(rows) !== JSON.stringify(expected.rows)) return `it brought ${JSON.stringify(rows)}`;
  if (isComplete !== (expected.doubts.length === 0)) return `it is ${isComplete ? 'complete' : 'partial'}`;
  const lost = isComplete ? stream.due.filter((lead) => !rows.includes(lead)) : [];
  if (lost.length > 0) return `it is complete without ${lost}`;
  if (warnings.length > 20 || warnings.some((line) => line.length > 1000))
    return `it warns ${warnings.length} times`;
  return undefined;
}

/** Everything that is needed to see a fault again. */
export function toReport(stream: Stream, fault: string): string {
  const { rows, doubts } = readPlainly(Buffer.concat(stream.pieces), stream.task);
  const pieces = stream.pieces.map((piece) => JSON.stringify(piece.toString('latin1')).slice(0, 2000));
  return [
    `the stream of seed ${stream.seed} (${stream.damage.join(', ') || 'no damage'}; the body's end: ${stream.end}): ${fault}`,
    `expected: ${JSON.stringify(rows)}, ${doubts.join(', ') || 'complete'}`,
    `the task: ${stream.task === undefined ? 'none' : JSON.stringify(stream.task)}`,
    ...pieces.slice(0, 200),
    `again: FUZZ_STREAMS=1 FUZZ_SEED=${stream.seed} npm run soak`,
  ].join('\n');
}
