import type { Socket } from 'node:net';
import { taskPage, taskStatus } from './bodies.ts';
import { jsonAnswer, type RawRequest } from './fault-server.ts';
import { machineWith } from './machine.ts';

/** A state with the number of leads that are ready in it. */
export type Step = readonly [state: string, ready: number];

export interface TaskScript {
  /** What successive status requests see; the last one stays. */
  readonly steps: readonly Step[];
  readonly entities?: readonly string[];
  /** Another answer to the nth request (from 0) of an operation; undefined lets it be. */
  readonly fault?: (operation: Operation, nth: number, request: RawRequest) => Fault | undefined;
}

export type Operation = 'create' | 'status' | 'fetch';
export type Fault = string | ((socket: Socket, request: RawRequest) => void);

export const taskId = 'ls_task';
/** Numbers that no JavaScript number can hold: records must stay text. */
export const someEntities = Array.from(
  { length: 45 },
  (_, index) =>
    `{"name":"Lead ${index}","follower_id":123456789012345678${String(index).padStart(2, '0')},"ratio":1.10}`,
);
/** Those before `end`, as JSONL. */
export const rowsTo = (end: number, from = 0): string =>
  someEntities
    .slice(from, end)
    .map((entity) => `${entity}\n`)
    .join('');

export type TaskServer = Awaited<ReturnType<typeof startTaskServer>>;

/** A service with one task that follows a script, and a machine configured for it. Any creation returns that task. */
export async function startTaskServer(script: TaskScript) {
  const { steps, entities = someEntities } = script;
  const counts = { create: 0, status: 0, fetch: 0 };
  let step: Step = ['created', 0];
  const server = await machineWith((socket, request) => {
    const operation = operationOf(request);
    const nth = counts[operation]++;
    if (operation === 'status') step = steps[Math.min(nth, steps.length - 1)] ?? step;
    const fault = script.fault?.(operation, nth, request);
    if (typeof fault === 'function') return fault(socket, request);
    socket.write(fault ?? answerTo(operation, request, step, entities));
  });
  return {
    ...server,
    /** Requests of an operation so far. */
    count: (operation: Operation) => counts[operation],
    /** The start positions that were asked for. */
    positions: () =>
      server.requests
        .filter((request) => operationOf(request) === 'fetch')
        .map((request) => positionsOf(request).pts),
  };
}

/** A fetch page; `changes` replace members with wrong values. */
export function page(
  entities: readonly string[],
  pts: number,
  num: number,
  step: Step,
  changes: Readonly<Record<string, unknown>> = {},
): string {
  const [status, ready_count] = step;
  const { entities: _, ...head } = taskPage(taskId, status, [], { pts, num });
  const all = { ...head, count: entities.length, ready_count, ...changes };
  const body = `${JSON.stringify(all).slice(0, -1)},"entities":[${entities.join(',')}]}`;
  return jsonAnswer(body, ['X-Request-Id: req_fetch']);
}

/** A page of other leads than there are, from the position that was asked for. */
export const paging =
  (toLeads: (pts: number, num: number) => readonly string[], step: Step, changes = {}): Fault =>
  (socket, request) => {
    const { pts, num } = positionsOf(request);
    socket.write(page(toLeads(pts, num), pts, num, step, changes));
  };

function positionsOf({ path }: RawRequest): { pts: number; num: number } {
  const query = new URL(path, 'http://host').searchParams;
  return { pts: Number(query.get('pts')), num: Number(query.get('num')) };
}

function operationOf({ path }: RawRequest): Operation {
  if (path.endsWith('/create_task')) return 'create';
  return path.includes('/status') ? 'status' : 'fetch';
}

function answerTo(
  operation: Operation,
  request: RawRequest,
  step: Step,
  entities: readonly string[],
): string {
  const json = (body: object): string => jsonAnswer(body, [`X-Request-Id: req_${operation}`]);
  const [status, ready] = step;
  if (operation === 'create') return json({ leads_search_id: taskId });
  if (operation === 'status') return json(taskStatus(status, ready));
  const { pts, num } = positionsOf(request);
  return page(entities.slice(pts, Math.min(pts + num, ready)), pts, num, step);
}
