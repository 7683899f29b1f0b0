import { expect, it } from 'vitest';
import { contactResult } from '../helpers/bodies.ts';
import {
  errorAnswer,
  type FaultServer,
  jsonAnswer,
  searchFrames,
  startFaultServer,
  startSearchServer,
} from '../helpers/fault-server.ts';
import { createMachine, type Machine } from '../helpers/machine.ts';
import { startTaskServer } from '../helpers/task-server.ts';

/** Two services are independent even if they accept the same key. */

const posted = ({ requests }: Pick<FaultServer, 'requests'>) =>
  requests.filter(({ method }) => method === 'POST').map(({ body }) => JSON.parse(body));
const moveTo = ({ env }: Machine, { url }: { readonly url: string }) =>
  Object.assign(env, { LEADPIPE_BASE_URL: url });

it('the ID of a search is sent only to where the search was made; the names of its leads are left out everywhere', async () => {
  const found = (id: string, ...leads: string[]) =>
    startSearchServer(() => searchFrames([leads], 'limit', id));
  const one = await found('ls_one', '{"name":"A"}');
  const two = await found('ls_two', '{"name":"A"}', '{"name":"B"}');
  const at = createMachine(one.url);
  expect((await at.leadpipe('search company x --list company')).code).toBe(0);
  moveTo(at, two);
  expect((await at.leadpipe('search company x --only-new -f jsonl')).stdout).toBe('{"name":"B"}\n');
  expect(posted(two)).toMatchObject([{ dedup_custom_leads: ['A'] }]);
  expect(posted(two)[0]).not.toHaveProperty('dedup_service_leads');
  moveTo(at, one);
  expect((await at.leadpipe('search company x --only-new')).code).toBe(0);
  expect(posted(one)[1]).toMatchObject({ dedup_service_leads: ['ls_one'], dedup_custom_leads: ['B', 'A'] });
});

it('a search that was cut at one address is bought completely at the other', async () => {
  const leads = [['{"name":"A"}'], ['{"name":"B"}']];
  const one = await startSearchServer(() => searchFrames(leads).slice(0, 1));
  const two = await startSearchServer(() => searchFrames(leads));
  const at = createMachine(one.url);
  const line = 'search company x --limit 2 -o leads.jsonl';
  expect((await at.leadpipe(line)).code).toBe(3);
  moveTo(at, two);
  expect((await at.leadpipe(line)).code).toBe(0);
  expect(posted(two)).toEqual([posted(one)[0]]);
  expect(at.read('leads.jsonl')).toBe('{"name":"A"}\n{"name":"B"}\n');
});

it('a task that was left at one is created at the other', async () => {
  const one = await startTaskServer({ steps: [['running', 20]] });
  const two = await startTaskServer({ steps: [['done', 45]] });
  const line = 'task run company x --poll-interval 0.01 --wait-timeout 0.3 -o leads.jsonl';
  expect((await one.leadpipe(line)).code).toBe(75);
  moveTo(one, two);
  expect((await one.leadpipe(line)).code).toBe(0);
  expect(two.count('create')).toBe(1);
  expect(two.positions()).toEqual([0]);
});

it('an answer lost at one address is neither sent again nor refused at the other', async () => {
  const lost = errorAnswer('500 X', 'internal_error', 'no');
  const one = await startFaultServer((socket) => void socket.write(lost));
  const answer = jsonAnswer(contactResult('email', 'x', 'a@b.example'));
  const two = await startFaultServer((socket) => void socket.write(answer));
  const at = createMachine(one.url);
  const line = 'contact email x --idempotency-key mine -o answer.json';
  expect((await at.leadpipe(line)).code).toBe(8);
  moveTo(at, two);
  expect((await at.leadpipe(line)).code).toBe(0);
  expect(await at.history()).toMatchObject([
    { service: one.url, charged: 'maybe' },
    { service: two.url, charged: 'yes' },
  ]);
});

it('rows of a named run that were bought at one are bought at the other', async () => {
  const answer = jsonAnswer(contactResult('email', 'x', 'a@b.example'));
  const [one, two] = [
    await startFaultServer((socket) => void socket.write(answer)),
    await startFaultServer((socket) => void socket.write(answer)),
  ];
  const at = createMachine(one.url);
  at.write('rows.txt', 'x\ny\n');
  for (const service of [one, two, one]) {
    moveTo(at, service);
    expect((await at.leadpipe('contact email --input rows.txt --run october -o out.csv')).code).toBe(0);
  }
  expect([posted(one).length, posted(two).length]).toEqual([2, 2]);
});
