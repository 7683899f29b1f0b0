import { appendFileSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { at, bodies, first, lines, rest, script } from '../helpers/cut-searches.ts';
import { ending } from '../helpers/ending.ts';
import type { FakeOptions } from '../helpers/fake-context.ts';

const operationIn = (stderr: string): string => /op_[0-9a-z_]+/.exec(stderr)?.[0] ?? '';
const search = (more = '') => at.leadpipe(`search company x ${more}`);
const goOn = (operation: string, more = '', options?: FakeOptions) =>
  at.leadpipe(`search --continue ${operation} ${more}`, options);
const storedLeads = (operation: string): string => join(at.state, 'operations', operation, 'leads.jsonl');

/** The operation of a search that was cut. */
async function cut(more = ''): Promise<string> {
  const result = await search(more);
  const operation = operationIn(result.stderr);
  expect(result).toMatchObject(ending(3, `leadpipe search --continue ${operation}`));
  return operation;
}

const files: readonly [name: string, options: string, content: string][] = [
  ['leads.jsonl', '', lines(...first, ...rest)],
  ['leads.csv', '--columns name,id', 'name,id\r\nA,12345678901234567890\r\nB,\r\nC,\r\n'],
  ['leads.json', '', `[\n${[...first, ...rest].map((lead) => `  ${lead}`).join(',\n')}\n]\n`],
];

describe('search --continue', () => {
  it.each(files)('goes on into %s, for the rest, with a new key', async (name, options, all) => {
    const operation = await cut(`--limit 9 -o ${name} ${options}`);
    expect(await goOn(operation, '--idempotency-key new')).toMatchObject({ code: 0 });
    expect(at.read(name)).toBe(all);
    expect(at.files()).toEqual([name]);
    expect(bodies()[1]).toEqual({ ...bodies()[0], limit: 7, dedup_service_leads: ['ls_test'] });
    expect(at.requests.at(-1)?.headers['idempotency-key']).toBe('new');
  });

  it('goes on from where the continuation was cut, and only from there', async () => {
    script.cuts = 2;
    const once = await cut('--limit 9 -o leads.jsonl');
    const again = await goOn(once);
    expect(again.code).toBe(3);
    const twice = /search --continue (op_[0-9a-z_]+)/.exec(again.stderr)?.[1] ?? '';
    expect(twice).not.toBe(once);
    expect(await goOn(once)).toMatchObject(ending(2, `was already resumed by ${twice}`));
    expect((await goOn(twice)).code).toBe(0);
    expect(at.read('leads.jsonl')).toBe(lines(...first, ...first, ...rest));
    expect(bodies()[2]).toMatchObject({ limit: 5, dedup_service_leads: ['ls_test', 'ls_test'] });
  });

  it.each(files)('into %s, named again, goes on as it was begun', async (name, options, all) => {
    symlinkSync('.', at.pathOf('link'));
    const operation = await cut(`-o ${name} ${options}`);
    expect((await goOn(operation, `-o link/${name}`)).code).toBe(0);
    expect(at.read(name)).toBe(all);
    expect(at.files()).toEqual([name, 'link'].sort());
  });

  it.each(['-f csv', '--columns name', '--csv-raw', '--append'])(
    'into the same file refuses to write it otherwise: %s',
    async (other) => {
      const operation = await cut('-o leads.jsonl');
      for (const to of ['', '-o leads.jsonl']) {
        if (to === '' && other === '--append') continue;
        const says = 'leads.jsonl was written with other options';
        expect(await goOn(operation, `${to} ${other}`)).toMatchObject(ending(2, says));
      }
      expect(bodies()).toHaveLength(1);
    },
  );

  it('adds all its rows behind those that other runs have added since', async () => {
    at.write('leads.jsonl', '{"name":"before"}\n');
    const operation = await cut('--append -o leads.jsonl');
    expect((await at.leadpipe('search company y --append -o leads.jsonl')).code).toBe(0);
    appendFileSync(at.pathOf('leads.jsonl'), '{"name":"by hand"}');
    expect((await goOn(operation)).code).toBe(0);
    const all = ['{"name":"before"}', ...rest, '{"name":"by hand"}', ...first, ...rest];
    expect(at.read('leads.jsonl')).toBe(lines(...all));
  });

  it('refuses with 74 where a later search has written the file anew, and names the way on', async () => {
    const operation = await cut('-o leads.jsonl');
    expect((await at.leadpipe('search company y -o leads.jsonl')).code).toBe(0);
    const before = at.read('leads.jsonl');
    const wayOn = `leadpipe search --continue ${operation} -o <file>`;
    expect(await goOn(operation)).toMatchObject(ending(74, wayOn, 'charged: no'));
    expect(at.read('leads.jsonl')).toBe(before);
    expect((await goOn(operation, '-o all.jsonl')).code).toBe(0);
    expect(at.read('all.jsonl')).toBe(lines(...first, ...rest));
  });

  it('whose leads are not kept any more leaves their rows beside, and buys no more than the rest', async () => {
    const operation = await cut('--limit 9 -o leads.jsonl');
    rmSync(storedLeads(operation));
    expect((await goOn(operation)).code).toBe(0);
    expect(at.read('leads.jsonl')).toBe(lines(...rest));
    expect(at.read('leads.jsonl.part.1')).toBe(lines(...first));
    expect(bodies()[1]).toMatchObject({ limit: 7, dedup_service_leads: ['ls_test'] });
  });

  it('with a damaged lead is refused, and names the file: without it, the rest would pass for all', async () => {
    const operation = await cut('-f jsonl');
    const path = storedLeads(operation);
    writeFileSync(path, readFileSync(path, 'utf8').replace('"B"', '"X"'));
    expect(await goOn(operation)).toMatchObject(ending(78, `line 2 of ${path} is damaged`));
    expect(bodies()).toHaveLength(1);
  });

  it('to standard output prints what is new', async () => {
    expect((await goOn(await cut('-f jsonl'))).stdout).toBe(lines(...rest));
  });

  it.each([[rest], [[]]])(
    'offers all that arrived to be saved, and nothing that is empty: %j',
    async (brought) => {
      script.last = brought;
      const once = await cut('--limit 3');
      const onTerminal = { stdoutIsTerminal: true, stderrIsTerminal: true, columns: 300 };
      const { stderr } = await goOn(once, '', onTerminal);
      const twice = /operation (op_\w+)/.exec(stderr)?.[1] ?? '';
      const ids = brought.length === 0 ? [once] : [once, twice];
      const shown = ids.map((id) => `leadpipe history show ${id}`);
      if (brought.length > 0) {
        expect(stderr).toContain('1 lead, 3 in all · limit of 3 reached');
        const saved = `${shown[0]} -o leads.csv; ${shown[1]} -o leads.csv --append`;
        expect(stderr).toContain(`To save them, for free: ${saved}\n`);
      }
      expect((await goOn(once)).stderr).toContain(`To print all of it again: ${shown.join('; ')}\n`);
    },
  );

  it('refuses what it can not continue, and sends nothing', async () => {
    script.cuts = 0;
    const operation = operationIn((await search()).stderr);
    for (const [line, code, says] of [
      [`--continue ${operation}`, 2, 'is complete'],
      ['--continue op_nothing', 6, 'no operation op_nothing'],
      [`company x --continue ${operation}`, 2, '--continue resumes the earlier search'],
      [`--continue ${operation} --limit 5`, 2, '--continue resumes the earlier search'],
    ] as const) {
      const result = await at.leadpipe(`search ${line}`);
      expect({ line, ...result }).toMatchObject({ line, ...ending(code, says) });
    }
    expect(bodies()).toHaveLength(1);
  });

  it('refuses another key or address', async () => {
    const operation = await cut();
    const env = { LEADPIPE_API_KEY: 'another-key-0123' };
    expect((await goOn(operation, '', { env })).code).toBe(78);
    expect((await goOn(operation, '--base-url https://a.example')).code).toBe(78);
    expect(bodies()).toHaveLength(1);
  });
});
