import { parse } from 'csv-parse/sync';
import { beforeAll, describe, expect, it } from 'vitest';
import { errorRows } from '../../src/contract/error-types.ts';
import { type Format, printedFormats } from '../../src/output/writer.ts';
import { answerKindRows } from '../helpers/answer-kinds.ts';
import { hastened } from '../helpers/clock.ts';
import { commandsWith } from '../helpers/commands.ts';
import { ending, silently } from '../helpers/ending.ts';
import { runInProcess } from '../helpers/fake-context.ts';
import { startService } from '../helpers/local-service.ts';
import { createMachine } from '../helpers/machine.ts';

/** Every command that calls the service, with something it finds in the demonstration. */
const commands = [
  'search company "fintech in Berlin" --limit 3',
  'task create wechat 咖啡 --limit 3 --enable-web-search',
  'task run person "founders in Lisbon" --limit 3 --poll-interval 0.05',
  ...answerKindRows.map(({ line }) => line),
  'contact phone "CTO of Nordlicht Pay"',
  'extract github_repo_stargazers acme/rocket --limit 3',
  'balance',
];
/** Those that read a task. */
const readers = ['task status <id>', 'task fetch <id>', 'task wait <id> --poll-interval 0.05'];

/** Those that list what this machine knows. */
const lists = ['config list', 'auth list', 'history list', 'task list'];

/** Those that print records and have tests of their own for that. */
const tested = 'auth status,doctor,history lists,history show,history prune,history totals,resume'.split(',');

it('is in one of these lists', async () => {
  const known = [...commands, ...readers, ...lists, ...tested];
  const names = await commandsWith('--format');
  expect(names.filter((name) => !known.some((one) => `${one} `.startsWith(`${name} `)))).toEqual([]);
});

/** Checks that hold for any output of a format. */
const expectFormat: Readonly<Record<Exclude<Format, 'xlsx' | 'sqlite'>, (stdout: string) => void>> = {
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

describe.each(['a service', '--local'])('every command against %s', (where) => {
  const more = where === '--local' ? where : '';
  let at = createMachine();
  let taskId = '';
  beforeAll(async () => {
    const service = await startService({ switches: { task_start_ms: 0, task_step_ms: 5 } });
    if (more === '') at = createMachine(service.url, service.env().LEADPIPE_API_KEY);
    const task = 'task run company fintech --limit 4 --poll-interval 0.05 --positions -f jsonl';
    const { stdout } = await at.leadpipe(`${task} ${more}`);
    taskId = JSON.parse(stdout.split('\n')[0] ?? '').leads_search_id;
  });

  // A task of the demonstration takes its time.
  const context = { clock: hastened(20) };
  // The formats of --local are those of any service: each command has another one.
  const formatsOf = (nth: number) =>
    more === '' ? printedFormats : [printedFormats[nth % printedFormats.length] ?? 'jsonl'];
  const rows = [...commands, ...readers].map((line, nth) => [line, formatsOf(nth)] as const);
  it.each(rows)('%s, in every format', async (line, formats) => {
    const run = (options: string) =>
      at.leadpipe(`${line.replace('<id>', taskId)} ${more} ${options}`, { context });
    for (const format of formats) {
      const { code, stdout, stderr } = await run(`-f ${format}`);
      expect({ format, code, stderr: code === 0 ? '' : stderr }).toEqual({ format, code: 0, stderr: '' });
      expectFormat[format](stdout);
    }
    const { stdout } = await run('-f jsonl --columns a.b,c');
    expect([...new Set(stdout.trim().split('\n'))]).toEqual(['{"a.b":null,"c":null}']);
  });
});

describe('what this machine knows', () => {
  const { leadpipe } = createMachine();
  beforeAll(async () => {
    await leadpipe('config set format csv');
    await leadpipe('task create company fintech --limit 1 --local');
  });

  it.each(lists)('%s is in the format of the profile, with the columns that were chosen', async (line) => {
    const [last = ''] = (await leadpipe(line)).stdout.split('\r\n')[0]?.split(',').slice(-1) ?? [];
    const { code, stdout } = await leadpipe(`${line} --columns "A b=${last}"`);
    expect({ code, header: stdout.split('\r\n')[0] }).toEqual({ code: 0, header: 'A b' });
    expect(await leadpipe(`${line} --columns a.b`)).toMatchObject(ending(2, 'no column "a.b"'));
  });

  it.each(lists)('%s adds rows to a file, and has no --append without one', async (line) => {
    const file = `${line.replace(' ', '-')}.csv`;
    for (const _ of ['begins it', 'adds to it']) {
      expect(await leadpipe(`${line} -q -o ${file} --append`)).toMatchObject(silently);
    }
    expect(await leadpipe(`${line} --append`)).toMatchObject(ending(2, '--append needs'));
  });
});

describe('every row of the Errors table', () => {
  const exits: Record<number, number> = { 401: 4, 402: 5, 403: 4, 404: 6, 409: 8, 422: 2, 429: 75, 503: 9 };
  /** 500 is temporary for free reads and create_task, which replays; else it is unknown. */
  const exitOf = (status: number, line: string): number =>
    exits[status] ?? (/^(?:task|balance)/.test(line) ? 75 : 8);

  it.each(errorRows)('$status $type, of every command', async ({ status, type }) => {
    const body = { error: { type, message: `rehearsed ${type}` } };
    const fault = { operation: '*', count: 1000, fault: 'status', status, body };
    const service = await startService({ faults: [fault] });
    // A task that is being created is waited for: not here.
    const isSlow = (line: string): boolean => type === 'request_already_exists' && line.startsWith('task');
    for (const line of [...commands, 'task status ls_x', 'task fetch ls_x'].filter((one) => !isSlow(one))) {
      const { code, stdout, stderr } = await runInProcess(`${line} --json-errors`, { env: service.env() });
      const { error } = JSON.parse(stderr);
      expect({ line, code, stdout }).toEqual({ line, code: exitOf(status, line), stdout: '' });
      expect(error).toMatchObject({
        status,
        type,
        exit: code,
        request_id: expect.stringMatching(/^req_/),
        message: expect.stringContaining(`rehearsed ${type}`),
      });
    }
  });
});
