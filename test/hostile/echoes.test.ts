import { randomBytes } from 'node:crypto';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { runInProcess } from '../helpers/fake-context.ts';
import {
  chunk,
  errorAnswer,
  type FaultServer,
  frame,
  jsonAnswer,
  lastChunk,
  startFaultServer,
  streamHead,
  wholeAnswer,
} from '../helpers/fault-server.ts';
import { bareEnvironment, pointedAt, temporaryFolder } from '../helpers/run.ts';

const key = `lp/canary+${randomBytes(9).toString('hex')}.Z`;
const code = (character: string): string => character.charCodeAt(0).toString(16);
const each = (to: (character: string) => string): string => [...key].map(to).join('');

/** Fit for a string of JSON and for a header. */
const forms: readonly (readonly [name: string, text: string])[] = [
  ['as it is', key],
  ['with \\/', key.replace('/', '\\/')],
  ['with \\u0041', each((one) => `\\u00${code(one)}`)],
  ['with \\u0041 here and there', key.replace('canary', 'c\\u0061n\\u0061ry')],
  ['with %41', each((one) => `%${code(one).toUpperCase()}`)],
  ['as a part of a URL', encodeURIComponent(key)],
  ['with %41 in \\u0041', each((one) => `\\u0025${code(one)}`)],
  ['in a string of JSON in it', JSON.stringify(each((one) => `\\u00${code(one)}`)).slice(1, -1)],
];

/** Whether a text contains the key after all escapes are decoded. */
function says(text: string): boolean {
  let undone = text;
  for (let depth = 0; depth < 4; depth++) {
    if (undone.includes(key)) return true;
    undone = undone
      .replace(/\\+u([\da-f]{4})/gi, (_, digits: string) => String.fromCharCode(Number.parseInt(digits, 16)))
      .replace(/\\+\//g, '/')
      .replace(/%([\da-f]{2})/gi, (_, digits: string) => String.fromCharCode(Number.parseInt(digits, 16)));
  }
  return false;
}

const balance = ['balance'];
const contact = ['contact', 'email', 'someone'];
const research = ['research', 'something'];
const extract = ['extract', 'github_user_followers', 'someone'];
const search = ['search', 'company', 'x'];

const json = (body: string, headers: readonly string[] = []): string => jsonAnswer(body, headers);
const refused = (body: string): string => wholeAnswer('422 X', 'application/json', body);
const stream = (...frames: readonly string[]): string => `${streamHead}${chunk(frames.join(''))}${lastChunk}`;
const batch = (form: string, id = 'ls_1'): string =>
  frame(
    `{"object":"entity_search_batch","leads_search_id":"${id}","batch_index":1,"count":1,"cum_count":1,` +
      `"entities":[{"name":"${form}","${form}":1}]}`,
  );
const done = (reason: string): string =>
  frame(`{"object":"entity_search_done","cum_count":1,"stop_reason":"${reason}","finish":true}`) +
  frame('[DONE]');
const found = '{"object":"contact_search_result","request":{},"result":{"content":"x"}}';

/** Where a service can put it. */
const places: readonly (readonly [
  place: string,
  args: readonly string[],
  answer: (form: string) => string,
])[] = [
  ['the request ID', contact, (form) => json(found, [`X-Request-Id: ${form}`])],
  [
    'the request ID of a refusal',
    contact,
    (form) => errorAnswer('402 X', 'x', 'x', [`X-Request-Id: ${form}`]),
  ],
  ['the Idempotency-Key', contact, (form) => json(found, [`Idempotency-Key: ${form}`])],
  ['the content type', contact, (form) => wholeAnswer('200 OK', `text/html; a=${form}`, '{}')],
  ['Retry-After', balance, (form) => errorAnswer('503 X', 'x', 'x', [`Retry-After: ${form}`])],
  [
    'Date',
    ['doctor'],
    (form) => json('{"object":"credit_balance","available_credits":1}', [`Date: ${form}`]),
  ],
  [
    'Location',
    contact,
    (form) => `HTTP/1.1 307 X\r\nLocation: https://x.example/?k=${form}\r\nContent-Length: 0\r\n\r\n`,
  ],
  ['the status text', contact, (form) => errorAnswer(`500 ${form}`, 'internal_error', 'x')],
  ['the message of an error', contact, (form) => refused(`{"error":{"message":"no ${form}"}}`)],
  ['the type of an error', contact, (form) => refused(`{"error":{"message":"m","type":"${form}"}}`)],
  ['the code of an error', contact, (form) => refused(`{"error":{"message":"m","code":"${form}"}}`)],
  ['the type beside an error', contact, (form) => refused(`{"type":"${form}","error":{"message":"m"}}`)],
  [
    'a status nobody knows',
    contact,
    (form) => wholeAnswer('418 X', 'application/json', `{"error":{"message":"${form}"}}`),
  ],
  ['a member', contact, (form) => json(`{"result":{"content":"a ${form}"},"x":"${form}"}`)],
  ['the name of a member', contact, (form) => json(`{"result":{"content":"a","${form}":1},"${form}":"x"}`)],
  ['JSON of another shape', contact, (form) => json(`{"result":"${form}"}`)],
  ['bad JSON', contact, (form) => json(`{"result":${form}`)],
  ['no HTTP', contact, (form) => `${form}\r\n\r\n`],
  ['a page', contact, (form) => wholeAnswer('200 OK', 'text/html', `<p>${form}</p>`)],
  [
    'an answer',
    research,
    (form) => json(`{"success":true,"answer":{"Result":"${form}","Citations":["${form}"]}}`),
  ],
  ['no answer', research, (form) => json(`{"success":false,"answer":{"answer":"${form}"}}`)],
  ['no list', extract, (form) => json(`{"success":false,"data":"${form}"}`)],
  ['a list', extract, (form) => json(`{"success":true,"data":[{"${form}":"${form}"}]}`)],
  ['a lead', search, (form) => stream(batch(form), done('limit'))],
  ['the ID of a search', search, (form) => stream(batch('A', form))],
  ['a stop reason', search, (form) => stream(batch('A'), done(form))],
  ['an error frame', search, (form) => stream(batch('A'), frame(`{"error":{"message":"${form}"}}`))],
  ['an error frame of another shape', search, (form) => stream(frame(`{"error":{"why":["${form}"]}}`))],
  ['a frame that is not JSON', search, (form) => stream(frame(`{"object":${form}`))],
  ['the name of an event', search, (form) => stream(`event: ${form}\n${batch('A')}`)],
  ['a task', ['task', 'create', 'company', 'x'], (form) => json(`{"leads_search_id":"${form}"}`)],
];

let server: FaultServer | undefined;

describe('a service that repeats the key in', () => {
  it.each(places)('%s: nothing shown or stored says it', async (_place, args, answer) => {
    let text = '';
    server = await startFaultServer((socket) => void socket.write(text));
    for (const [index, [form, echoed]] of forms.entries()) {
      text = answer(echoed);
      expect(says(text), form).toBe(true);
      const folder = temporaryFolder();
      const env = { ...bareEnvironment(folder), ...pointedAt(server.url, key) };
      const more = index % 2 === 0 ? '--verbose' : '--json-errors';
      const { stdout, stderr } = await runInProcess([...args, more], { env });
      expect(stdout + stderr).not.toBe('');
      for (const line of `${stdout}\n${stderr}`.split('\n'))
        expect(says(line), `${form}: ${line}`).toBe(false);
      for (const file of filesIn(folder))
        expect(says(readFileSync(file, 'utf8')), `${form}: ${file}`).toBe(false);
      // A record is JSON still.
      if (stdout.startsWith('{')) for (const line of stdout.trim().split('\n')) JSON.parse(line);
    }
    expect(server.requests.length).toBeGreaterThanOrEqual(forms.length);
  });
});

it('masks the key anywhere in a large body', async () => {
  // In front, across the end of the first MiB, and at the end.
  const text = [key, 'x'.repeat(1_000_013), key.repeat(7000), 'x'.repeat(1_000_000), key].join('');
  const body = JSON.stringify({ success: true, answer: { Result: text, Citations: [] } });
  const large = await startFaultServer((socket) => void socket.write(json(body)));
  const folder = temporaryFolder();
  const env = { ...bareEnvironment(folder), ...pointedAt(large.url, key) };
  const { code, stdout } = await runInProcess(research, { env });
  expect(code).toBe(0);
  expect(JSON.parse(stdout).answer.Result).toBe(text.replaceAll(key, '[API key]'));
  for (const file of filesIn(folder)) expect(readFileSync(file, 'utf8').includes(key), file).toBe(false);
});

function filesIn(folder: string): string[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .map((name) => join(folder, name))
    .filter((path) => statSync(path).isFile());
}
