import { mkdirSync, renameSync, rmSync } from 'node:fs';
import { beforeEach, describe, expect, it } from 'vitest';
import { ending } from '../helpers/ending.ts';
import { createMachine, type Machine } from '../helpers/machine.ts';
import { readPrinted } from '../helpers/printed.ts';
import { createGate, type RowService, startRowService } from '../helpers/row-service.ts';
import { resultOf, until } from '../helpers/run.ts';
import { partsOf } from '../helpers/run-parts.ts';

/* Lists whose output others move, or that are resumed into another file: each row is there once, and is bought once. */

const people = ['who 1', 'who 2', 'who 3', 'who 4', 'who 5', 'who 6'];
const emailOf = (name: string): string => `${name.replace(' ', '.')}@example.com`;
const toList = (names: readonly string[]): string =>
  `objective\n${names.map((name) => `${name}\n`).join('')}`;

let refused: Set<string>;
let service: RowService;
let machine: Machine;
beforeEach(async () => {
  await serve();
});

async function serve(gate?: (body: string) => Promise<void> | undefined): Promise<void> {
  refused = new Set();
  service = await startRowService({ refused, ...(gate && { gate }) });
  machine = createMachine(service.url);
  machine.write('in.csv', toList(people));
}

const list = (...more: string[]): string =>
  ['contact email --input in.csv --concurrency 1', ...more].join(' ');

/** Each row of a file with its answer, in the file's order. */
async function rowsIn(file: string): Promise<unknown[]> {
  const rows = await readPrinted(machine.pathOf(file));
  return rows.map(({ objective, email }) => `${objective}: ${email}`);
}
const answered = (names: readonly string[]): string[] => names.map((name) => `${name}: ${emailOf(name)}`);

/** What was paid for, sorted. */
const paid = (): string[] => [...service.charged.values()].map((body) => JSON.parse(body).objective).sort();

/** Interrupts a list while this row is pending. The run waits for its answer. */
async function interruptedAt(line: string, row: number): Promise<void> {
  const { gate, open } = createGate(`who ${row}`);
  await serve(gate);
  const child = machine.start(line);
  let stderr = '';
  child.stderr.on('data', (text) => {
    stderr += text;
  });
  const ended = resultOf(child);
  await until(() => service.requests() === row);
  child.kill('SIGINT');
  await until(() => stderr.includes('waiting'));
  open();
  expect(await ended).toMatchObject({ code: 130 });
}

describe('a list that is added to a file', () => {
  it('is in it once, with every row, though it was resumed into another one meanwhile', async () => {
    await interruptedAt(list('-o a.csv --append'), 2);
    refused.add('who 4');
    const elsewhere = await machine.run('resume -o b.csv --append --summary s.json');
    expect(elsewhere).toMatchObject({ code: 3 });
    // The command for the rest names that file again.
    const resume = `${/leadpipe resume op_\w+/.exec(elsewhere.stderr)?.[0]} -o b.csv --append`;
    expect(elsewhere.stderr).toContain(`run \`${resume}\`. The other rows`);
    expect(JSON.parse(machine.read('s.json'))).toMatchObject({ resume });
    rmSync(machine.pathOf('s.json'));
    refused.clear();
    expect(await machine.run(list('-o a.csv --append'))).toMatchObject({ code: 0 });
    expect(await rowsIn('a.csv')).toEqual(answered(people));
    expect(paid()).toEqual(people);
    expect(machine.files()).toEqual(['a.csv', 'in.csv']);
  });

  it('stays beside its file as long as a row can be asked for again, and is added once', async () => {
    machine.write('a.csv', 'objective,email,email_reference,email_error\r\nold,,,\r\n');
    const before = machine.read('a.csv');
    refused.add('who 4');
    for (const _ of [1, 2]) {
      const { code, stderr } = await machine.run(list('-o a.csv --append'));
      const [part = ''] = partsOf(machine, 'a.csv').keys();
      expect({ code, stderr, file: machine.read('a.csv') }).toMatchObject({
        ...ending(3, part),
        file: before,
      });
    }
    refused.clear();
    expect(await machine.run(list('-o a.csv --append'))).toMatchObject({ code: 0 });
    expect(machine.read('a.csv').startsWith(before)).toBe(true);
    expect((await rowsIn('a.csv')).slice(1)).toEqual(answered(people));
    expect(paid()).toEqual(people);
    expect(machine.files()).toEqual(['a.csv', 'in.csv']);
  });
});

it('a list of which rows are gone from the input keeps the file that has them', async () => {
  refused.add('who 4');
  const line = list('-o a.csv --append');
  expect(await machine.leadpipe(line)).toMatchObject({ code: 3 });
  machine.write('in.csv', toList(['who 1', 'who 4']));
  expect(await machine.leadpipe(line)).toMatchObject({ code: 3 });
  expect([...partsOf(machine, 'a.csv').values()].join()).toContain('who 6');
});

describe('a list whose first rows are all that there is to buy', () => {
  it.each([
    ['a list that is shorter', toList(people.slice(0, 3)), ''],
    [
      'rows that have their answer',
      `objective,email\n${people.map((name, at) => `${name},${at % 2 === 0 ? 'known@example.com' : ''}\n`).join('')}`,
      '--only-missing',
    ],
  ])('is complete: the same command without --first buys nothing again: %s', async (_, input, more) => {
    machine.write('in.csv', input);
    expect(await machine.run(list('--first 4 -o o.csv', more))).toMatchObject({ code: 0 });
    const before = await rowsIn('o.csv');
    expect(paid()).toHaveLength(3);
    expect(await machine.run(list('-o o.csv', more))).toMatchObject({ code: 0 });
    expect([paid().length, await rowsIn('o.csv')]).toEqual([3, before]);
  });
});

it.each([
  ['', () => {}],
  [', and another one made in its place,', () => mkdirSync(machine.pathOf('out'))],
])(
  'a list whose folder is moved away%s says that it is gone, where the answers are, and how to go on',
  async (_, make) => {
    const { gate, open } = createGate('who 3');
    await serve(gate);
    mkdirSync(machine.pathOf('out'));
    const child = machine.start(list('-o out/o.csv'));
    const ended = resultOf(child);
    const folder = { cwd: machine.pathOf('out') };
    await until(
      () => service.requests() === 3 && [...partsOf(folder, 'o.csv').values()].join().includes('who 2'),
    );
    renameSync(machine.pathOf('out'), machine.pathOf('moved'));
    make();
    open();
    const { code, stderr } = await ended;
    expect({ code, stderr }).toMatchObject(
      ending(
        74,
        'out/o.csv.part is gone: it, or its folder, was moved or removed',
        /leadpipe (history show|resume) op_\w+/,
      ),
    );
    expect(stderr).not.toContain('took over');
    const [resume = ''] = /leadpipe resume op_\w+/.exec(stderr) ?? [];
    expect(await machine.run(`${resume.replace('leadpipe ', '')} -o o.csv`)).toMatchObject({ code: 0 });
    expect(await rowsIn('o.csv')).toEqual(answered(people));
    expect(paid()).toEqual(people);
  },
);
