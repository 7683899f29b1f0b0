import {
  appendFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { withOutputLock } from '../../src/files/folder-lock.ts';
import { bodies, cwd, env, file, first, lines, rest, run, script } from '../helpers/cut-searches.ts';
import { ending } from '../helpers/ending.ts';
import { readOperations } from '../helpers/stored.ts';

/** What an earlier run has left never refuses the same command, or another one, into the same file. */

const search = ['search', 'company', 'x', '--limit', '9'];
const into = (...more: string[]) => run(...search, '-o', file, ...more);
const state = (): string => env.LEADPIPE_STATE_DIR ?? '';
const operations = async () => (await readOperations(state())).operations;
const folderOf = (operationId: string): string => join(state(), 'operations', operationId);

/** Takes lines away from the journal of an operation, as a kill at that moment would. */
function keepLines(operationId: string, isKept: (line: string) => boolean): void {
  const path = join(folderOf(operationId), 'journal.jsonl');
  writeFileSync(path, readFileSync(path, 'utf8').split('\n').filter(isKept).join('\n'));
}

/** A search that was killed: its journal does not know how it ended. */
async function leave(...more: string[]): Promise<string> {
  const { code, stderr } = await into(...more);
  expect(code).toBe(3);
  const operationId = (await operations()).at(-1)?.operationId ?? '';
  // Both buy nothing but what is missing.
  expect(stderr).toMatch(/^To (complete \S+, for free|buy the rest): leadpipe search --continue op_/m);
  keepLines(operationId, (line) => !line.includes('"terminal"'));
  return operationId;
}

interface Case {
  readonly name: string;
  /** Of the run that is left. */
  readonly left?: readonly string[];
  /** What happens to it. */
  readonly meanwhile?: (operationId: string) => void | Promise<void>;
  /** Of the run that comes after it. */
  readonly again?: readonly string[];
  readonly says: RegExp;
  /** How many leads the second purchase asks for, and what it leaves out. */
  readonly asks: { readonly limit: number; readonly dedup_service_leads?: readonly string[] };
  readonly file: string;
  readonly beside?: Readonly<Record<string, string>>;
}

const resuming =
  /^Resuming op_\w+ \(the same search, unfinished since .*\): 2 leads stored\. Buying up to 7 more, for at most 7 credits\. You are not charged again for what arrived\.$[\s\S]*^(?:1 lead added to .*, 3 in all|3 leads added to .*, 2 of them stored earlier) · /m;
/** The rest alone is bought, into the same file. */
const goesOn = {
  says: resuming,
  asks: { limit: 7, dedup_service_leads: ['ls_test'] },
  file: lines(...first, ...rest),
};
/** It is bought anew, and what was left is put aside. */
const anew = {
  says: /leads\.jsonl\.part held rows of an earlier run\. They are now in \S+leads\.jsonl\.part\.1\./,
  asks: { limit: 9 },
  file: lines(...rest),
  beside: { 'leads.jsonl.part.1': lines(...first) },
};
const wholeCsv = 'name,id\r\nA,12345678901234567890\r\nB,\r\nC,\r\n';

const cases: readonly Case[] = [
  { name: 'the same search', ...goesOn },
  {
    name: 'a higher limit',
    again: ['--limit', '20'],
    says: /Buying up to 18 more/,
    asks: { limit: 18 },
    file: lines(...first, ...rest),
  },
  {
    name: 'another format',
    again: ['-f', 'csv', '--columns', 'name,id'],
    ...anew,
    says: /^A run like this is unfinished: search company x of .*\. This is a new purchase\. To resume that one: leadpipe history resume op_\w+$[\s\S]*held rows of an earlier run/m,
    file: 'name,id\r\nC,\r\n',
  },
  { name: 'another objective', again: ['--enrich-fields', 'email'], ...anew },
  { name: 'no record of it any more', meanwhile: (id) => rmSync(folderOf(id), { recursive: true }), ...anew },
  {
    name: 'its leads pruned',
    meanwhile: (id) => rmSync(join(folderOf(id), 'leads.jsonl')),
    ...anew,
    says: /the leads of op_\w+ \(.*\) are no longer stored\. A new search starts now, and all its leads are charged again/,
  },
  {
    name: 'its leads damaged',
    meanwhile: (id) => {
      const path = join(folderOf(id), 'leads.jsonl');
      writeFileSync(path, readFileSync(path, 'utf8').replace('"B"', '"X"'));
    },
    ...anew,
    says: /can't be read: line 2 of .* is damaged\. A new search starts now/,
  },
  { name: 'its .part changed by someone', meanwhile: () => writeFileSync(`${file}.part`, 'torn'), ...goesOn },
  { name: 'its .part removed', meanwhile: () => rmSync(`${file}.part`), ...goesOn },
  {
    name: 'the key changed',
    meanwhile: () => void Object.assign(env, { LEADPIPE_API_KEY: 'another-key-0123456789' }),
    ...anew,
  },
  {
    name: 'the key of the purchase fixed: the rest has one of its own',
    left: ['--idempotency-key', 'mine'],
    again: ['--idempotency-key', 'mine'],
    ...goesOn,
  },
  {
    name: '--append',
    left: ['--append'],
    again: ['--append'],
    ...goesOn,
    file: lines('{"name":"old"}', ...first, ...rest),
  },
  {
    name: '--append, and half a row in the .part',
    left: ['--append'],
    meanwhile: () => appendFileSync(`${file}.part`, '{"name":"tor'),
    again: ['--append'],
    ...goesOn,
    file: lines('{"name":"old"}', ...first, ...rest),
  },
  {
    name: '--append, and the file moved away',
    left: ['--append'],
    meanwhile: () => rmSync(file),
    again: ['--append'],
    ...goesOn,
  },
  {
    name: '--append of another search',
    left: ['--append'],
    again: ['--append', '--enrich-fields', 'email'],
    ...anew,
    file: lines('{"name":"old"}', ...rest),
  },
  { name: '--only-new', left: ['--only-new'], again: ['--only-new'], ...goesOn },
];

describe('a search that was killed', () => {
  it.each(cases)(
    '$name',
    async ({ left = [], meanwhile, again = [], says, asks, beside = {}, ...expected }) => {
      if (left.includes('--append')) writeFileSync(file, lines('{"name":"old"}'));
      const id = await leave(...left);
      await meanwhile?.(id);
      const { code, stderr } = await into(...again);
      expect({ code, stderr: code === 0 ? '' : stderr }).toEqual({ code: 0, stderr: '' });
      expect(stderr).toMatch(says);
      expect(bodies()[1]).toMatchObject(asks);
      if (asks === anew.asks) expect(bodies()[1]).not.toHaveProperty('dedup_service_leads');
      expect(readFileSync(file, 'utf8')).toBe(expected.file);
      const others = readdirSync(cwd).filter((name) => name !== 'leads.jsonl');
      const texts = others.map((name) => [name, readFileSync(join(cwd, name), 'utf8')]);
      expect(Object.fromEntries(texts)).toEqual(beside);
      expect(bodies()).toHaveLength(2);
    },
  );

  it('with everything that was asked for is finished, and nothing is bought', async () => {
    for (const way of [
      [...search.slice(0, 3), '--limit', '2', '-o', file],
      ['history', 'resume'],
    ]) {
      script.cuts = 1;
      const id = await leave('--limit', '2');
      const sent = bodies().length;
      expect(await run(...way)).toMatchObject(
        ending(0, id, /all 2 leads had arrived\. \S+ is complete\. Nothing was bought\./),
      );
      expect(bodies()).toHaveLength(sent);
      expect(readFileSync(file, 'utf8')).toBe(lines(...first));
      rmSync(file);
    }
  });

  it.each([[['--only-new']], [[]]])(
    'whose rest was refused once has all its leads in the file: %j',
    async (more) => {
      const id = await leave(...more);
      // Killed before its journal counted the leads that are stored.
      keepLines(id, (line) => !line.includes('"batch"'));
      script.refusals = 1;
      expect((await into(...more)).code).toBe(5);
      expect(await into(...more)).toMatchObject({ code: 0 });
      expect(readFileSync(file, 'utf8')).toBe(lines(...first, ...rest));
      expect(readdirSync(cwd)).toEqual(['leads.jsonl']);
    },
  );

  it('and whose record is damaged is not bought again unseen: the file is named, and the index is not needed for that', async () => {
    const id = await leave();
    const path = join(folderOf(id), 'journal.jsonl');
    const [intent = '', ...others] = readFileSync(path, 'utf8').split('\n');
    writeFileSync(path, [intent, ...others].join('\n').replace('"type":"batch"', '"type":"bitch"'));
    for (const isMade of [true, false]) {
      if (isMade) rmSync(join(state(), 'index'), { recursive: true });
      for (const way of [() => into(), () => run('history', 'resume'), () => run('task', 'resume')]) {
        expect(await way()).toMatchObject(ending(78, `${path} is damaged`));
      }
    }
    expect(bodies()).toHaveLength(1);
  });

  it('before a lead arrived begins anew, and says that it may have been charged', async () => {
    const id = await leave();
    rmSync(join(folderOf(id), 'leads.jsonl'));
    keepLines(id, (line) => line === '' || /"(intent|opened|sent)"/.test(line));
    writeFileSync(`${file}.part`, '');
    expect(await into()).toMatchObject(
      ending(0, `the search ${id} (`, 'was stopped before any lead arrived. It may have been charged'),
    );
    expect(readFileSync(file, 'utf8')).toBe(lines(...rest));
  });

  it('is what history resume takes, and says; task resume is for tasks', async () => {
    const id = await leave();
    const nothingLeft = { code: 0, stderr: 'There is nothing to resume.\n' };
    const noTask = { code: 2, stderr: expect.stringContaining(`leadpipe history resume ${id}`) };
    expect(await run('task', 'resume')).toMatchObject(nothingLeft);
    expect(await run('task', 'resume', id)).toMatchObject(noTask);
    const { code, stderr } = await run('history', 'resume');
    expect(code).toBe(0);
    expect(stderr).toMatch(
      new RegExp(`^The latest unfinished operation is ${id}: search, started .*, into ${file}`, 'm'),
    );
    expect(stderr).toMatch(/2 leads stored\. Buying up to 7 more, for at most 7 credits/);
    expect(readFileSync(file, 'utf8')).toBe(lines(...first, ...rest));
    expect(await run('history', 'resume')).toMatchObject(nothingLeft);
  });

  it.each([
    ['search', []],
    ['search --append', ['--append']],
    ['history resume', undefined],
  ] as const)(
    'is left alone while another run writes the file: %s ends with 75 and its pid',
    async (_, more) => {
      await leave(...(more ?? []));
      await withOutputLock({ pid: process.pid }, file, async () => {
        const { code, stderr } = more === undefined ? await run('history', 'resume') : await into(...more);
        expect(code).toBe(75);
        expect(stderr).toContain(`process ${process.pid} is working on`);
        expect(stderr).toContain('charged: no');
      });
      expect(bodies()).toHaveLength(1);
    },
  );
});

it('a .part of a search is put aside by a task run, and that of a task run by a search', async () => {
  await leave();
  const task = ['task', 'run', 'company', 'x', '-o', file];
  // This service knows no tasks: the run is left, and owns the .part.
  expect((await run(...task)).stderr).toContain('held rows of an earlier run');
  writeFileSync(`${file}.part`, 'rows of the task\n');
  script.cuts = 0;
  expect(await into()).toMatchObject({ code: 0, stderr: expect.stringContaining('leads.jsonl.part.2.') });
  expect(readFileSync(`${file}.part.2`, 'utf8')).toBe('rows of the task\n');
  // What the search had brought is stored, and bought once.
  expect(readFileSync(file, 'utf8')).toBe(lines(...first, ...rest));
});

describe('what went on with a search', () => {
  it('finishes it: history, show and --continue say so; a cut one names the one to go on with', async () => {
    script.cuts = 2;
    const a = await leave();
    const cut = await run('search', '--continue', `${a}\r`, '-o', file);
    expect(cut).toMatchObject({ code: 3 });
    // First what is kept, once the output is open; then what it came to.
    expect(cut.stderr).toMatch(/^Resuming op_\w+: 2 leads stored\. Buying up to 7 more/);
    const b = (await operations()).at(-1)?.operationId ?? '';
    expect((await run('history', 'show', a)).stderr).toContain(`leadpipe search --continue ${b}`);
    expect((await into()).stderr).toContain(`Resuming ${b} `);
    expect(readFileSync(file, 'utf8')).toBe(lines(...first, ...first, ...rest));
    const c = (await operations()).at(-1)?.operationId ?? '';
    const { stdout } = await run('history', 'list', '-f', 'jsonl');
    expect(stdout.match(/(?<="state":")\w+/g)).toEqual(['complete', 'complete', 'complete']);
    const shown = await run('history', 'show', a);
    expect(shown).toMatchObject({ code: 0, stdout: lines(...first) });
    const brought = `The rest was bought by ${b}, ${c}. To print it: leadpipe history show ${b}`;
    expect(shown.stderr).toContain(brought);
    expect(await run('search', '--continue', a)).toMatchObject(
      ending(2, `${a} is complete: ${b}, ${c} brought the rest`, `leadpipe history show ${c}`),
    );
    expect(bodies()).toHaveLength(3);
  });

  it('with -o of a file that holds the .part of others puts that aside', async () => {
    const a = await leave();
    const other = join(cwd, 'same.csv');
    writeFileSync(`${other}.part`, 'of others');
    expect(await run('search', '--continue', a, '-o', other, '--columns', 'name,id')).toMatchObject({
      code: 0,
    });
    expect(readFileSync(other, 'utf8')).toBe(wholeCsv);
    expect(existsSync(`${other}.part.1`)).toBe(true);
  });
});

it.each([
  ['-o', []],
  ['--append', ['--append']],
])('a file whose folder was removed meanwhile: what arrived is told, and is kept (%s)', async (_, more) => {
  const folder = join(cwd, 'sub');
  mkdirSync(folder);
  script.cuts = 0;
  script.before = () => rmSync(folder, { recursive: true });
  const { code, stderr } = await run(...search, '-o', join(folder, 'leads.jsonl'), ...more);
  expect(code).toBe(74);
  expect(stderr).toContain('charged: yes');
  const [, operation = ''] = /for free: leadpipe history show (op_\w+)/.exec(stderr) ?? [];
  // As it comes out of a line of CSV.
  expect(await run('history', 'show', `${operation}\r`)).toMatchObject({ code: 0, stdout: lines(...rest) });
});

it('a free command, too, puts aside what a killed one has left', async () => {
  mkdirSync(join(cwd, 'sub'));
  writeFileSync(`${file}.part`, 'half');
  expect(await run('history', 'list', '-o', file)).toMatchObject({ code: 0 });
  expect(readFileSync(`${file}.part.1`, 'utf8')).toBe('half');
});
