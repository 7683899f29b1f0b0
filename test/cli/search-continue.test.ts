import { appendFileSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { bodies, cwd, env, file, first, lines, rest, run, script, server } from '../helpers/cut-searches.ts';
import { ending } from '../helpers/ending.ts';
import { type FakeOptions, runInProcess } from '../helpers/fake-context.ts';
import { temporaryFolder } from '../helpers/run.ts';

const operationIn = (stderr: string): string => /op_[0-9a-z_]+/.exec(stderr)?.[0] ?? '';
const content = (path = file): string => readFileSync(path, 'utf8');
const search = (...args: string[]) => run('search', 'company', 'x', ...args);

/** The operation of a search that was cut. */
async function cut(...args: string[]): Promise<string> {
  const { code, stderr } = await search(...args);
  const operation = operationIn(stderr);
  expect(code).toBe(3);
  expect(stderr).toContain(`leadpipe search --continue ${operation}`);
  return operation;
}

function goOn(operation: string, args: readonly string[] = [], options: FakeOptions = { env }) {
  return runInProcess(['search', '--continue', operation, ...args], options);
}

const files: readonly [name: string, options: readonly string[], content: string][] = [
  ['leads.jsonl', [], lines(...first, ...rest)],
  ['leads.csv', ['--columns', 'name,id'], 'name,id\r\nA,12345678901234567890\r\nB,\r\nC,\r\n'],
  ['leads.json', [], `[\n${[...first, ...rest].map((lead) => `  ${lead}`).join(',\n')}\n]\n`],
];

describe('search --continue', () => {
  it.each(files)('goes on into %s, for the rest, with a new key', async (name, options, all) => {
    const operation = await cut('--limit', '9', '-o', join(cwd, name), ...options);
    const { code, stderr } = await goOn(operation, ['--idempotency-key', 'new']);
    expect({ code, stderr: code === 0 ? '' : stderr }).toEqual({ code: 0, stderr: '' });
    expect(content(join(cwd, name))).toBe(all);
    expect(readdirSync(cwd)).toEqual([name]);
    expect(bodies()[1]).toEqual({ ...bodies()[0], limit: 7, dedup_service_leads: ['ls_test'] });
    expect(server.requests.at(-1)?.headers['idempotency-key']).toBe('new');
  });

  it('goes on from where the continuation was cut, and only from there', async () => {
    script.cuts = 2;
    const once = await cut('--limit', '9', '-o', file);
    const again = await goOn(once);
    expect(again.code).toBe(3);
    const twice = /search --continue (op_[0-9a-z_]+)/.exec(again.stderr)?.[1] ?? '';
    expect(twice).not.toBe(once);
    const refused = { code: 2, stderr: expect.stringContaining(`was already resumed by ${twice}`) };
    expect(await goOn(once)).toMatchObject(refused);
    expect((await goOn(twice)).code).toBe(0);
    expect(content()).toBe(lines(...first, ...first, ...rest));
    expect(bodies()[2]).toMatchObject({ limit: 5, dedup_service_leads: ['ls_test', 'ls_test'] });
  });

  it.each(files)('into %s, named again, goes on as it was begun', async (name, options, all) => {
    symlinkSync('.', join(cwd, 'link'));
    const operation = await cut('-o', join(cwd, name), ...options);
    expect((await goOn(operation, ['-o', join(cwd, 'link', name)])).code).toBe(0);
    expect(content(join(cwd, name))).toBe(all);
    expect(readdirSync(cwd).sort()).toEqual([name, 'link'].sort());
  });

  it.each([['-f', 'csv'], ['--columns', 'name'], ['--csv-raw'], ['--append']])(
    'into the same file refuses to write it otherwise: %s',
    async (...other) => {
      const operation = await cut('-o', file);
      for (const to of [[], ['-o', file]]) {
        if (to.length === 0 && other[0] === '--append') continue;
        const says = expect.stringContaining(`${file} was written with other options`);
        expect(await goOn(operation, [...to, ...other])).toMatchObject({ code: 2, stderr: says });
      }
      expect(bodies()).toHaveLength(1);
    },
  );

  it('adds all its rows behind those that other runs have added since', async () => {
    writeFileSync(file, '{"name":"before"}\n');
    const operation = await cut('--append', '-o', file);
    expect(await run('search', 'company', 'y', '--append', '-o', file)).toMatchObject({ code: 0 });
    appendFileSync(file, '{"name":"by hand"}');
    expect((await goOn(operation)).code).toBe(0);
    expect(content()).toBe(lines('{"name":"before"}', ...rest, '{"name":"by hand"}', ...first, ...rest));
  });

  it('refuses with 74 where a later search has written the file anew, and names the way on', async () => {
    const operation = await cut('-o', file);
    expect((await run('search', 'company', 'y', '-o', file)).code).toBe(0);
    const before = content();
    expect(await goOn(operation)).toMatchObject(
      ending(74, `leadpipe search --continue ${operation} -o <file>`, 'charged: no'),
    );
    expect(content()).toBe(before);
    const other = join(temporaryFolder(), 'all.jsonl');
    expect((await goOn(operation, ['-o', other])).code).toBe(0);
    expect(content(other)).toBe(lines(...first, ...rest));
  });

  it('whose leads are not kept any more leaves their rows beside, and buys no more than the rest', async () => {
    const operation = await cut('--limit', '9', '-o', file);
    rmSync(join(env.LEADPIPE_STATE_DIR ?? '', 'operations', operation, 'leads.jsonl'));
    expect((await goOn(operation)).code).toBe(0);
    expect(content()).toBe(lines(...rest));
    expect(content(`${file}.part.1`)).toBe(lines(...first));
    expect(bodies()[1]).toMatchObject({ limit: 7, dedup_service_leads: ['ls_test'] });
  });

  it('with a damaged lead is refused, and names the file: without it, the rest would pass for all', async () => {
    const operation = await cut('-f', 'jsonl');
    const path = join(env.LEADPIPE_STATE_DIR ?? '', 'operations', operation, 'leads.jsonl');
    writeFileSync(path, content(path).replace('"B"', '"X"'));
    const says = expect.stringContaining(`line 2 of ${path} is damaged`);
    expect(await goOn(operation)).toMatchObject({ code: 78, stderr: says });
    expect(bodies()).toHaveLength(1);
  });

  it('to standard output prints what is new', async () => {
    expect((await goOn(await cut('-f', 'jsonl'))).stdout).toBe(lines(...rest));
  });

  it.each([[rest], [[]]])(
    'offers all that arrived to be saved, and nothing that is empty: %j',
    async (brought) => {
      script.last = brought;
      const once = await cut('--limit', '3');
      const onTerminal = { env, stdoutIsTerminal: true, stderrIsTerminal: true, columns: 300 };
      const again = await goOn(once, [], onTerminal);
      const twice = /operation (op_\w+)/.exec(again.stderr)?.[1] ?? '';
      const shown = [once, ...(brought.length === 0 ? [] : [twice])].map(
        (id) => `leadpipe history show ${id}`,
      );
      if (brought.length > 0) {
        expect(again.stderr).toContain('1 lead, 3 in all · limit of 3 reached');
        expect(again.stderr).toContain(
          `To save them, for free: ${shown[0]} -o leads.csv; ${shown[1]} -o leads.csv --append\n`,
        );
      }
      expect((await goOn(once)).stderr).toContain(`To print all of it again: ${shown.join('; ')}\n`);
    },
  );

  it('refuses what it can not continue, and sends nothing', async () => {
    script.cuts = 0;
    const operation = operationIn((await search()).stderr);
    const cases: readonly [args: readonly string[], code: number, says: string][] = [
      [['--continue', operation], 2, 'is complete'],
      [['--continue', 'op_nothing'], 6, 'no operation op_nothing'],
      [['company', 'x', '--continue', operation], 2, '--continue resumes the earlier search'],
      [['--continue', operation, '--limit', '5'], 2, '--continue resumes the earlier search'],
      [[], 2, 'the entity type is missing'],
      [['company'], 2, 'the objective is missing'],
    ];
    for (const [args, code, says] of cases) {
      const result = await run('search', ...args);
      expect({ args, ...result }).toMatchObject({ args, code, stderr: expect.stringContaining(says) });
    }
    expect(bodies()).toHaveLength(1);
  });

  it('refuses another key or address', async () => {
    const operation = await cut();
    const other = { env: { ...env, LEADPIPE_API_KEY: 'another-key-0123' } };
    expect((await goOn(operation, [], other)).code).toBe(78);
    expect((await goOn(operation, ['--base-url', 'https://a.example'])).code).toBe(78);
    expect(bodies()).toHaveLength(1);
  });
});
