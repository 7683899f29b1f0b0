import { terminalTaskStates } from '../../contract/types.ts';
import { accepted, bodyLike } from '../expectations.ts';
import { taskStatus } from '../resources.ts';
import type { Answer, Row } from '../row.ts';
import { companies, post } from '../samples.ts';
import { quoted } from '../shapes.ts';
import { ofCreatedTask, ofFinishedTask, searchIdOf, statusOf } from '../tested-service.ts';
import { taskIdRows } from './task-ids.ts';

const ended = ofFinishedTask('status');

export const statusRows: readonly Row[] = [
  {
    id: 'status/body',
    rule: 'the status of a new task has status, ready_count, verified_count and stop_reason',
    costs: true,
    before: [post('createTask', { body: companies({ limit: 3 }) })],
    request: ofCreatedTask('status'),
    expect: bodyLike('a task status', taskStatus),
  },
  {
    id: 'status/body-when-ended',
    rule: 'the status of an ended task has status, ready_count, verified_count and stop_reason',
    costs: true,
    request: ended,
    expect: bodyLike('a task status', taskStatus),
  },
  {
    id: 'status/ends',
    rule: 'a task runs by itself until it is done or in error',
    costs: true,
    request: ended,
    expect: accepted('done or error', (answer) => {
      const state = statusOf(answer)?.status;
      return terminalTaskStates.some((one) => one === state) ? [] : [`the state is ${quoted(state)}`];
    }),
  },
  {
    id: 'status/verified-count',
    rule: 'verified_count is never below ready_count',
    costs: true,
    before: [
      post('createTask', { body: companies({ limit: 3 }) }),
      (service, [task]) => service.statusWhen(searchIdOf(task as Answer), (ready) => ready > 0),
    ],
    request: ended,
    expect: accepted('verified_count >= ready_count', (answer, [, running]) =>
      [running as Answer, answer].flatMap((one) => {
        const status = statusOf(one);
        if (status === undefined || status.verified >= status.ready) return [];
        return [`verified_count is ${status.verified}, but ready_count is ${status.ready}`];
      }),
    ),
  },
  {
    id: 'status/at-most-limit',
    rule: 'a task gives at most limit leads',
    costs: true,
    request: ended,
    expect: accepted('ready_count at most 7', (answer) => {
      const ready = statusOf(answer)?.ready ?? 0;
      return ready <= 7 ? [] : [`ready_count is ${ready}`];
    }),
  },
  ...taskIdRows('status'),
];
