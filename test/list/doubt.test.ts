import { mkdirSync } from 'node:fs';
import { expect, it } from 'vitest';
import { contactResult, creditBalance } from '../helpers/bodies.ts';
import { ending } from '../helpers/ending.ts';
import { errorAnswer, jsonAnswer, wholeAnswer } from '../helpers/fault-server.ts';
import { machineWith } from '../helpers/machine.ts';
import { writeSettings } from '../helpers/settings.ts';

const answers = {
  lost: undefined,
  busy: errorAnswer('429 X', 'concurrency_limit', 'no', ['Retry-After: 0']),
  'busy for long': errorAnswer('429 X', 'concurrency_limit', 'no', ['Retry-After: 3600']),
  found: jsonAnswer(contactResult('email', 'x', 'a@b.example')),
  refused: errorAnswer('422 X', 'invalid_request_error', 'no'),
  'not offered': errorAnswer('503 X', 'service_unavailable', 'no'),
  garbled: wholeAnswer('200 OK', 'application/json', '<paid for>'),
  'no credits': errorAnswer('402 X', 'insufficient_credits', 'no'),
};

/** A machine whose service gives these answers to the requests that cost, one after the other. */
async function machineOf(left: (keyof typeof answers)[]) {
  const at = await machineWith((socket, { method }) => {
    if (method === 'GET') return void socket.write(jsonAnswer(creditBalance(100)));
    const answer = answers[left.shift() ?? 'lost'];
    if (answer === undefined) socket.destroy();
    else socket.write(answer);
  });
  at.write('rows.txt', 'x\n');
  return at;
}

const list = 'contact email --input rows.txt -o out.jsonl --json-errors';

it.each([
  ['busy, refused', 3, 'no', 0],
  ['lost, busy, refused', 3, 'maybe', 1],
  ['busy, lost, busy, busy, refused', 3, 'maybe', 1],
  ['lost, busy for long', 3, 'maybe', 1],
  ['busy, not offered', 9, 'no', 0],
  ['lost, busy, not offered', 9, 'maybe', 1],
  ['lost, busy, no credits', 5, 'maybe', 1],
])('a row that was %s is charged as its first attempt may have been', async (names, code, charged, used) => {
  const left = names.split(', ') as (keyof typeof answers)[];
  const at = await machineOf(left);
  writeSettings(at.env, { 'price.contact.email': 1, max_credits_per_day: 1 });
  const { stderr, ...ended } = await at.leadpipe(list);
  expect({ ...ended, left }).toMatchObject({ code, left: [] });
  expect(JSON.parse(stderr).error).toMatchObject({ charged });
  expect(await at.history()).toMatchObject([{ charged }]);
  expect((await at.leadpipe('contact email y --dry-run')).code).toBe(used === 0 ? 0 : 5);
});

it('a list whose file can not be put in its place is charged, and its answers are written elsewhere for free', async () => {
  const at = await machineWith((socket, { body }) => {
    mkdirSync(at.pathOf('out.jsonl/full'), { recursive: true });
    socket.write(body.includes('never') ? answers.refused : answers.found);
  });
  at.write('rows.txt', 'x\nnever\n');
  const { code, stderr } = await at.leadpipe(list);
  const { error } = JSON.parse(stderr.trim().split('\n').at(-1) ?? '');
  const hint = expect.stringContaining('leadpipe history show op_');
  expect({ code, ...error }).toMatchObject({ code: 74, charged: 'yes', hint });
});

it.each([
  ['is there still', 'x\ny\n'],
  ['is no longer in its input', 'y\n'],
])('a list of which an earlier run bought a row that %s is charged in the history', async (_, rows) => {
  const at = await machineOf(['found', 'refused', 'refused']);
  at.write('rows.txt', 'x\ny\n');
  expect((await at.leadpipe(`${list} --first 2 --concurrency 1`)).code).toBe(3);
  at.write('rows.txt', rows);
  expect((await at.leadpipe(list)).code).toBe(3);
  expect(await at.history()).toMatchObject([{ state: 'partial', charged: 'yes' }]);
});

it('a row for which there is no room ends alone where others are answered', async () => {
  const at = await machineWith((socket, { body }) => {
    socket.write(body.includes('never') ? answers.busy : answers.found);
  });
  at.write('rows.txt', 'never\n1\n2\n3\n');
  expect((await at.leadpipe(`${list} --concurrency 2`)).code).toBe(3);
  expect(at.read('out.jsonl').match(/a@b\.example/g)).toHaveLength(3);
});

it('a row in doubt for which there was no room is sent again with its key by the next run', async () => {
  const at = await machineOf(['lost', ...Array<'busy'>(30).fill('busy'), 'found']);
  writeSettings(at.env, { 'price.contact.email': 3 });
  expect((await at.leadpipe(list)).code).toBe(75);
  const again = await at.leadpipe(list.replace(' --json-errors', ''));
  expect(again).toMatchObject(ending(0, 'The rest can cost at most 3 credits.'));
  const keys = at.requests.map(({ headers }) => headers['idempotency-key']);
  expect(keys).toEqual(Array(32).fill(keys[0]));
});

it.each([
  ['lost, busy for long', ': its answer was lost, and the row may have been charged: ', ' · charged: maybe'],
  ['garbled', ': its answer was lost, but the row was charged: ', ' · charged: yes'],
  ['refused', ': the service refused the request: ', '422 invalid_request_error)'],
])('the line about a row that was %s says whether it is charged', async (names, words, end) => {
  const at = await machineOf(names.split(', ') as (keyof typeof answers)[]);
  const { stderr } = await at.leadpipe('contact email --input rows.txt -o out.jsonl');
  const line = stderr.split('\n').find((one) => one.startsWith('warning: row 1 (line 1)')) ?? '';
  expect(line).toContain(words);
  expect(line.endsWith(end)).toBe(true);
});

it('an answer on several lines is stored to the byte, and is not bought again', async () => {
  const answer = JSON.stringify(contactResult('email', 'x', 'a@b.example'), undefined, 2);
  const at = await machineWith((socket) => void socket.write(jsonAnswer(answer)));
  at.write('rows.txt', 'x\n');
  for (const _ of [1, 2]) expect((await at.leadpipe(`${list} --run october`)).code).toBe(0);
  expect(at.requests).toHaveLength(1);
});

it.each([
  ['-', 'refused', null],
  ['long.txt', 'found', null],
  ['rows.txt', 'refused', expect.stringMatching(/^leadpipe resume op_/)],
] as const)(
  'the summary names no command that does not help: --input %s, %s',
  async (input, answer, resume) => {
    const at = await machineOf([answer]);
    at.write('long.txt', `x\n${'long '.repeat(900)}\n`);
    const line = `contact email --input ${input} -o out.jsonl --summary s.json`;
    expect((await at.leadpipe(line, { stdin: 'x\n' })).code).toBe(3);
    expect(JSON.parse(at.read('s.json'))).toMatchObject({ resume });
  },
);
