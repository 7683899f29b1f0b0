import { beforeAll, expect, it } from 'vitest';
import { errorAnswer, searchFrames, wholeAnswer } from '../helpers/fault-server.ts';
import { createMachine, machineWith } from '../helpers/machine.ts';

const lead = '{"name":"A","id":12345678901234567890,"links":{"website":"https://a.example"}}';
const answers: Readonly<Record<string, string>> = {
  x: wholeAnswer('200 OK', 'text/event-stream', searchFrames([[lead]]).join(''), ['X-Request-Id: req_1']),
  none: errorAnswer('403 Forbidden', 'authentication_error', 'no', ['X-Request-Id: req_403']),
};
const esc = '\u001b';

let at: Awaited<ReturnType<typeof machineWith>>;
beforeAll(async () => {
  at = await machineWith((socket, { body }) => void socket.end(answers[JSON.parse(body).objective] ?? ''));
});

const run = (words: string, env: Record<string, string>, stdoutIsTerminal = false) =>
  at.leadpipe(`search company ${words}`, { env, stdoutIsTerminal });

it('FORCE_COLOR colours what people read in a pipe too: a table, the closing lines, errors', async () => {
  const table = await run('x -f table', { FORCE_COLOR: '1' });
  expect(table.stdout).toContain(`${esc}[1mname`);
  await run('x -f table -o table.txt', { FORCE_COLOR: '1' });
  expect(at.read('table.txt')).toMatch(/^name /);
  expect(table.stderr).toMatch(/\n\u001b\[2msearch ls_test · request .*\u001b\[22m\n$/);
  const refused = await run('none', { FORCE_COLOR: '1' });
  expect(refused.stderr).toMatch(
    /^\u001b\[31merror:\u001b\[39m the service refused this API key: no \(POST \/v1\/entity-search: 403 authentication_error\)\n[^\u001b]+\n\u001b\[2mrequest req_403 · operation \S+ · charged: no\u001b\[22m\n$/,
  );
});

it.each<[string, Record<string, string>, string]>([
  ['NO_COLOR', { FORCE_COLOR: '1', NO_COLOR: '1' }, ''],
  ['--no-color', { FORCE_COLOR: '1' }, '--no-color'],
  ['nothing', {}, ''],
])('with %s a pipe has no colour, and the header its line', async (_, env, more) => {
  const { stdout, stderr } = await run(`x -f table ${more}`, env);
  expect(stdout + stderr).not.toContain(esc);
  expect(stdout).toMatch(/^name +score +link .*\n─+ {2}─+ /m);
  expect((await run(`none ${more}`, env)).stderr).not.toContain(esc);
});

it.each([
  [{ LANG: 'C' }, true],
  [{ LC_ALL: 'uk_UA.KOI8-U', LANG: 'en_US.UTF-8' }, true],
  [{ LC_CTYPE: 'POSIX', LC_ALL: '' }, true],
  [{ LC_ALL: 'C.utf8', LANG: 'C' }, false],
  [{}, false],
])('%j: a terminal has ASCII alone where its locale is not UTF-8: %s', async (env, isAscii) => {
  const { leadpipe, write } = createMachine();
  write('rows.jsonl', `{"objective":"${'a long text '.repeat(40)}"}\n`);
  const onTerminal = { env, stdoutIsTerminal: true, stderrIsTerminal: true };
  const own = /[^\x00-\x7f]/;
  const list = await leadpipe('contact email --input rows.jsonl --local -f table', onTerminal);
  const refused = await leadpipe('search company x --limit 0', onTerminal);
  expect(list.code).toBe(0);
  for (const text of [list.stdout, list.stderr]) expect(own.test(text)).toBe(!isAscii);
  expect(refused.stderr).not.toMatch(own);
  const piped = await leadpipe('contact email --input rows.jsonl --local -f table', { env });
  expect(own.test(piped.stdout)).toBe(true);
  const rows = await leadpipe('search company fintech --local --limit 1 -f json --no-color', onTerminal);
  expect(JSON.parse(rows.stdout)).toHaveLength(1);
});

it('JSON is indented and coloured on a terminal alone, with every number as it came', async () => {
  const shown = await run('x -f json', { TERM: 'xterm' }, true);
  const plain = shown.stdout.replaceAll(/\u001b\[\d+m/g, '');
  expect(plain).toBe(
    '[\n  {\n    "name": "A",\n    "id": 12345678901234567890,\n    "links": {\n      "website": "https://a.example"\n    }\n  }\n]\n',
  );
  expect(shown.stdout).toContain(`${esc}[36m"name"${esc}[39m: ${esc}[32m"A"${esc}[39m`);
  expect(shown.stdout).toContain(`${esc}[33m12345678901234567890${esc}[39m`);
  // A pipe gets data, which colours would damage, even if FORCE_COLOR is set for all programs.
  for (const format of ['json', 'jsonl', 'csv']) {
    expect((await run(`x -f ${format}`, { FORCE_COLOR: '1' })).stdout).not.toContain(esc);
  }
});
