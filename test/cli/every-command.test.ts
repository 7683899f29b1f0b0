import { once } from 'node:events';
import { join } from 'node:path';
import { parse } from 'csv-parse/sync';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { errorRows } from '../../src/contract/errors.ts';
import { localKeys } from '../../src/local-service/keys.ts';
import { type Format, printedFormats } from '../../src/output/writer.ts';
import { hastened } from '../helpers/clock.ts';
import { commandsWith } from '../helpers/commands.ts';
import { ending, silently } from '../helpers/ending.ts';
import { runInProcess } from '../helpers/fake-context.ts';
import { type StartedService, startService } from '../helpers/local-service.ts';
import { bareEnvironment, pointedAt, start, temporaryFolder } from '../helpers/run.ts';

/** Every command that calls the service, with something it finds in the demonstration. */
const commands: readonly [name: string, args: readonly string[]][] = [
  ['search', ['search', 'company', 'fintech in Berlin', '--limit', '3']],
  ['task create', ['task', 'create', 'wechat', '咖啡', '--limit', '3', '--enable-web-search']],
  ['task run', ['task', 'run', 'person', 'founders in Lisbon', '--limit', '3', '--poll-interval', '0.05']],
  ['contact email', ['contact', 'email', 'CTO of Nordlicht Pay']],
  ['contact phone', ['contact', 'phone', 'CTO of Nordlicht Pay']],
  ['research', ['research', 'seed-stage fintech in Berlin']],
  ['enrich', ['enrich', 'Nordlicht Pay, Berlin', '--field', 'headcount:integer', '--field', 'city']],
  ['extract', ['extract', 'github_repo_stargazers', 'acme/rocket', '--limit', '3']],
  [
    'extract web2list',
    ['extract', 'web2list', 'https://www.nordlicht-pay.example/team', '--instruction', 'people'],
  ],
  ['balance', ['balance']],
];
/** Those that read a task. */
const readers: readonly [name: string, args: (id: string) => readonly string[]][] = [
  ['task status', (id) => ['task', 'status', id]],
  ['task fetch', (id) => ['task', 'fetch', id]],
  ['task wait', (id) => ['task', 'wait', id, '--poll-interval', '0.05']],
];

/** Those that list what this machine knows. */
const lists = ['config list', 'auth list', 'history list', 'task list'];

/** Those that print records and have tests of their own for that. */
const tested = 'auth status,doctor,conformance,history lists,history show,history prune,history totals'.split(
  ',',
);

it('stands in one of these lists', async () => {
  const known = [
    ...commands.map(([, args]) => args.join(' ')),
    ...readers.map(([name]) => name),
    ...lists,
    ...tested,
  ];
  const names = await commandsWith('--format');
  expect(names.filter((name) => !known.some((one) => `${one} `.startsWith(`${name} `)))).toEqual([]);
});

/** What can be said of any output, by its format. */
const expectFormat: Readonly<Record<Exclude<Format, 'xlsx'>, (stdout: string) => void>> = {
  table: (stdout) => expect(stdout.trim()).not.toBe(''),
  cards: (stdout) => expect(stdout.trim()).not.toBe(''),
  jsonl(stdout) {
    for (const line of stdout.trimEnd().split('\n')) JSON.parse(line);
  },
  json: (stdout) => JSON.parse(stdout),
  md: (stdout) => expect(stdout.trim()).not.toBe(''),
  csv(stdout) {
    const [header, ...rows] = parse(stdout) as string[][];
    expect(new Set(header).size).toBe(header?.length);
    expect(rows.length).toBeGreaterThan(0);
  },
};

/** Whether a command is paid for, as its help has it. */
async function isPaid(args: readonly string[]): Promise<boolean> {
  return (await runInProcess([...args, '--help'])).stdout.includes('--idempotency-key');
}

describe.each(['serve', '--local'])('every command against %s', (where) => {
  const folder = temporaryFolder();
  let env = bareEnvironment(folder);
  let more: string[] = [];
  let taskId = '';
  let served: ReturnType<typeof start> | undefined;

  beforeAll(async () => {
    if (where === '--local') {
      more = ['--local'];
    } else {
      served = start('serve --port 0 -q --set task_start_ms=0 --set task_step_ms=5', { env });
      served.stderr.resume();
      let printed = '';
      while (!printed.includes('API_KEY')) printed += String((await once(served.stdout, 'data'))[0]);
      env = { ...env, ...pointedAt(/BASE_URL=(\S+)/.exec(printed)?.[1] ?? '', localKeys[0].key) };
    }
    const task = 'task run company fintech --limit 4 --poll-interval 0.05 --positions -f jsonl'.split(' ');
    const { stdout } = await runInProcess([...task, ...more], { env });
    taskId = JSON.parse(stdout.split('\n')[0] ?? '').leads_search_id;
  });
  afterAll(() => served?.kill('SIGKILL'));

  let purchases = 0;
  // A task of the demonstration takes its time.
  const context = { clock: hastened(20) };
  const rows = [...commands.map(([name, args]) => [name, () => args] as const), ...readers];
  // The formats of --local are those of any service: each command has another one.
  const formatsOf = (nth: number): readonly (typeof printedFormats)[number][] =>
    where === 'serve' ? printedFormats : [printedFormats[nth % printedFormats.length] ?? 'jsonl'];
  const numbered = rows.map(([name, argsFor], nth) => [name, argsFor, formatsOf(nth)] as const);
  it.each(numbered)('%s, in every format', async (_, argsFor, formats) => {
    const args = [...argsFor(taskId), ...more];
    const paid = await isPaid(args);
    // In one process all runs would have the same generated key.
    const key = () => (paid ? ['--idempotency-key', `purchase-${++purchases}`] : []);
    for (const format of formats) {
      const { code, stdout, stderr } = await runInProcess([...args, ...key(), '-f', format], {
        env,
        context,
      });
      expect({ format, code, stderr: code === 0 ? '' : stderr }).toEqual({ format, code: 0, stderr: '' });
      expectFormat[format](stdout);
    }
    const chosen = ['-f', 'jsonl', '--columns', 'a.b,c'];
    const { stdout } = await runInProcess([...args, ...key(), ...chosen], { env });
    expect([...new Set(stdout.trim().split('\n'))]).toEqual(['{"a.b":null,"c":null}']);
  });
});

describe('what this machine knows', () => {
  const env = bareEnvironment(temporaryFolder());
  beforeAll(async () => {
    await runInProcess('config set format csv', { env });
    await runInProcess('task create company fintech --limit 1 --local', { env });
  });

  it.each(lists)('%s is in the format of the profile, with the columns that were chosen', async (name) => {
    const { code, stdout } = await runInProcess([...name.split(' '), '--columns', 'a.b,c'], { env });
    expect({ code, lines: [...new Set(stdout.trimEnd().split('\r\n'))] }).toEqual({
      code: 0,
      lines: ['a.b,c', ','],
    });
  });

  it.each(lists)('%s adds rows to a file', async (name) => {
    const file = join(temporaryFolder(), 'list.csv');
    for (const _ of ['begins it', 'adds to it']) {
      expect(await runInProcess([...name.split(' '), '-q', '-o', file, '--append'], { env })).toMatchObject(
        silently,
      );
    }
  });

  it.each(lists)('%s has no --append without a file', async (name) => {
    expect(await runInProcess([...name.split(' '), '--append'], { env })).toMatchObject(
      ending(2, '--append needs'),
    );
  });
});

describe('every row of the Errors table', () => {
  let service: StartedService | undefined;

  const exits: Record<number, number> = { 401: 4, 402: 5, 403: 4, 404: 6, 409: 8, 422: 2, 429: 75, 503: 9 };
  /** 500 is temporary for free reads and create_task, which replays; else it is unknown. */
  const exitOf = async (status: number, name: string, args: readonly string[]): Promise<number> =>
    exits[status] ?? (name.startsWith('task') || !(await isPaid(args)) ? 75 : 8);

  it.each(errorRows)('$status $type, of every command', async ({ status, type }) => {
    const body = { error: { type, message: `rehearsed ${type}` } };
    const fault = { operation: '*', count: 1000, fault: 'status', status, body };
    service = await startService({ faults: [fault] });
    // A task that is being created is waited for: not here.
    const slow = (name: string): boolean => type === 'request_already_exists' && name.startsWith('task');
    const single = readers.slice(0, 2).map(([name, args]) => [name, args('ls_x')] as const);
    for (const [name, args] of [...commands, ...single].filter(([name]) => !slow(name))) {
      const { code, stdout, stderr } = await runInProcess([...args, '--json-errors'], {
        env: pointedAt(service.url, localKeys[0].key),
      });
      const { error } = JSON.parse(stderr);
      expect({ name, code, stdout }).toEqual({ name, code: await exitOf(status, name, args), stdout: '' });
      expect(error).toMatchObject({ status, type, exit: code, request_id: expect.stringMatching(/^req_/) });
      expect(error.message).toContain(`rehearsed ${type}`);
    }
    await service.close();
    service = undefined;
  });
});
