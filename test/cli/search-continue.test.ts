import { appendFileSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { runInProcess } from '../helpers/fake-context.ts';
import {
  type FaultServer,
  searchFrames,
  startFaultServer,
  streamStart,
  wholeStream,
} from '../helpers/fault-server.ts';
import { bareEnvironment, pointedAt, temporaryFolder } from '../helpers/run.ts';

let server: FaultServer | undefined;

const first = ['{"name":"A","id":12345678901234567890}', '{"name":"B"}'];
const rest = ['{"name":"C"}'];
const [batch = ''] = searchFrames([first]);

/** Cuts the first searches after a batch, and answers the next one whole. Reads of a search are not found. */
async function serve(cuts: number, last: readonly string[] = rest): Promise<string> {
  let searches = 0;
  server = await startFaultServer((socket, { method }) => {
    if (method === 'GET') socket.write('HTTP/1.1 404 Not Found\r\nContent-Length: 2\r\n\r\n{}');
    else if (searches++ < cuts) socket.end(streamStart(batch));
    else socket.write(wholeStream(searchFrames(last.length === 0 ? [] : [last])));
  });
  return server.url;
}

const bodies = (): Record<string, unknown>[] =>
  (server?.requests ?? []).filter(({ method }) => method === 'POST').map(({ body }) => JSON.parse(body));
const operationIn = (stderr: string): string => /op_[0-9a-z_]+/.exec(stderr)?.[0] ?? '';

const files: readonly [file: string, options: readonly string[], content: string][] = [
  ['leads.jsonl', [], `${[...first, ...rest].join('\n')}\n`],
  ['leads.csv', ['--columns', 'name,id'], 'name,id\r\nA,12345678901234567890\r\nB,\r\nC,\r\n'],
  ['leads.json', [], `[\n${[...first, ...rest].map((lead) => `  ${lead}`).join(',\n')}\n]\n`],
];

describe('search --continue', () => {
  it.each(files)('goes on into %s, for the rest, with a new key', async (name, options, content) => {
    const env = { ...bareEnvironment(), ...pointedAt(await serve(1)) };
    const cwd = temporaryFolder();
    const file = join(cwd, name);
    const cut = await runInProcess(['search', 'company', 'x', '--limit', '9', '-o', file, ...options], {
      env,
    });
    expect(cut.code).toBe(3);
    const operation = operationIn(cut.stderr);
    expect(cut.stderr).toContain(`leadpipe search --continue ${operation}`);
    const { code, stderr } = await runInProcess(
      ['search', '--continue', operation, '--idempotency-key', 'new'],
      { env },
    );
    expect({ code, stderr: code === 0 ? '' : stderr }).toEqual({ code: 0, stderr: '' });
    expect(readFileSync(file, 'utf8')).toBe(content);
    expect(readdirSync(cwd)).toEqual([name]);
    expect(bodies()[1]).toEqual({ ...bodies()[0], limit: 7, dedup_service_leads: ['ls_test'] });
    expect(server?.requests.at(-1)?.headers['idempotency-key']).toBe('new');
  });

  it('goes on from where the continuation was cut, and only from there', async () => {
    const env = { ...bareEnvironment(), ...pointedAt(await serve(2)) };
    const file = join(temporaryFolder(), 'leads.jsonl');
    const cut = await runInProcess(['search', 'company', 'x', '--limit', '9', '-o', file], { env });
    const once = operationIn(cut.stderr);
    const again = await runInProcess(['search', '--continue', once, '--idempotency-key', 'k2'], { env });
    expect(again.code).toBe(3);
    const twice = /search --continue (op_[0-9a-z_]+)/.exec(again.stderr)?.[1] ?? '';
    expect(twice).not.toBe(once);
    const refused = await runInProcess(['search', '--continue', once, '--idempotency-key', 'k3'], { env });
    expect(refused).toMatchObject({
      code: 2,
      stderr: expect.stringContaining(`was already resumed by ${twice}`),
    });
    expect(
      (await runInProcess(['search', '--continue', twice, '--idempotency-key', 'k4'], { env })).code,
    ).toBe(0);
    expect(readFileSync(file, 'utf8')).toBe(`${[...first, ...first, ...rest].join('\n')}\n`);
    expect(bodies()[2]).toMatchObject({ limit: 5, dedup_service_leads: ['ls_test', 'ls_test'] });
  });

  it.each(files)('into %s, named again, goes on as it was begun', async (name, options, content) => {
    const env = { ...bareEnvironment(), ...pointedAt(await serve(1)) };
    const cwd = temporaryFolder();
    const file = join(cwd, name);
    symlinkSync('.', join(cwd, 'link'));
    const cut = await runInProcess(['search', 'company', 'x', '-o', file, ...options], { env });
    const args = ['search', '--continue', operationIn(cut.stderr), '-o', join(cwd, 'link', name)];
    expect((await runInProcess(args, { env })).code).toBe(0);
    expect(readFileSync(file, 'utf8')).toBe(content);
    expect(readdirSync(cwd).sort()).toEqual([name, 'link'].sort());
  });

  it.each([['-f', 'csv'], ['--columns', 'name'], ['--csv-raw'], ['--append']])(
    'into the same file refuses to write it otherwise: %s',
    async (...other) => {
      const env = { ...bareEnvironment(), ...pointedAt(await serve(1)) };
      const file = join(temporaryFolder(), 'leads.jsonl');
      const cut = await runInProcess(['search', 'company', 'x', '-o', file], { env });
      for (const to of [[], ['-o', file]]) {
        if (to.length === 0 && other[0] === '--append') continue;
        const args = ['search', '--continue', operationIn(cut.stderr), ...to, ...other];
        const { code, stderr } = await runInProcess(args, { env });
        expect({ args, code }).toEqual({ args, code: 2 });
        expect(stderr).toContain(`${file} was written with other options`);
      }
      expect(bodies()).toHaveLength(1);
    },
  );

  it('adds all its rows behind those that other runs have added since', async () => {
    const env = { ...bareEnvironment(), ...pointedAt(await serve(1)) };
    const file = join(temporaryFolder(), 'leads.jsonl');
    writeFileSync(file, '{"name":"before"}\n');
    const cut = await runInProcess(['search', 'company', 'x', '--append', '-o', file], { env });
    const later = await runInProcess(['search', 'company', 'y', '--append', '-o', file], { env });
    expect([cut.code, later.code]).toEqual([3, 0]);
    appendFileSync(file, '{"name":"by hand"}');
    expect((await runInProcess(['search', '--continue', operationIn(cut.stderr)], { env })).code).toBe(0);
    const rows = ['{"name":"before"}', ...rest, '{"name":"by hand"}', ...first, ...rest];
    expect(readFileSync(file, 'utf8')).toBe(`${rows.join('\n')}\n`);
  });

  it('refuses with 74 where a later search has written the file anew, and names the way on', async () => {
    const env = { ...bareEnvironment(), ...pointedAt(await serve(1)) };
    const file = join(temporaryFolder(), 'leads.jsonl');
    const cut = await runInProcess(['search', 'company', 'x', '-o', file], { env });
    expect(await runInProcess(['search', 'company', 'y', '-o', file], { env })).toMatchObject({ code: 0 });
    const before = readFileSync(file, 'utf8');
    const operation = operationIn(cut.stderr);
    const { code, stderr } = await runInProcess(['search', '--continue', operation], { env });
    expect(code).toBe(74);
    expect(stderr).toContain(`leadpipe search --continue ${operation} -o <file>`);
    expect(stderr).toContain('charged: no');
    expect(readFileSync(file, 'utf8')).toBe(before);
    const other = join(temporaryFolder(), 'all.jsonl');
    expect((await runInProcess(['search', '--continue', operation, '-o', other], { env })).code).toBe(0);
    expect(readFileSync(other, 'utf8')).toBe(`${[...first, ...rest].join('\n')}\n`);
  });

  it('whose leads are not kept any more leaves their rows beside, and buys no more than the rest', async () => {
    const env = { ...bareEnvironment(), ...pointedAt(await serve(1)) };
    const file = join(temporaryFolder(), 'leads.jsonl');
    const cut = await runInProcess(['search', 'company', 'x', '--limit', '9', '-o', file], { env });
    const operation = operationIn(cut.stderr);
    rmSync(join(env.LEADPIPE_STATE_DIR ?? '', 'operations', operation, 'leads.jsonl'));
    expect((await runInProcess(['search', '--continue', operation], { env })).code).toBe(0);
    expect(readFileSync(file, 'utf8')).toBe(`${rest.join('\n')}\n`);
    expect(readFileSync(`${file}.part.1`, 'utf8')).toBe(`${first.join('\n')}\n`);
    expect(bodies()[1]).toMatchObject({ limit: 7, dedup_service_leads: ['ls_test'] });
  });

  it('with a damaged lead is refused, and names the file: without it, the rest would pass for all', async () => {
    const env = { ...bareEnvironment(), ...pointedAt(await serve(1)) };
    const cut = await runInProcess(['search', 'company', 'x', '-f', 'jsonl'], { env });
    const operation = operationIn(cut.stderr);
    const path = join(env.LEADPIPE_STATE_DIR ?? '', 'operations', operation, 'leads.jsonl');
    writeFileSync(path, readFileSync(path, 'utf8').replace('"B"', '"X"'));
    const { code, stderr } = await runInProcess(['search', '--continue', operation], { env });
    expect(code).toBe(78);
    expect(stderr).toContain(`line 2 of ${path} is damaged`);
    expect(bodies()).toHaveLength(1);
  });

  it('to standard output prints what is new', async () => {
    const env = { ...bareEnvironment(), ...pointedAt(await serve(1)) };
    const cut = await runInProcess(['search', 'company', 'x', '-f', 'jsonl'], { env });
    const { stdout } = await runInProcess(
      ['search', '--continue', operationIn(cut.stderr), '--idempotency-key', 'k'],
      { env },
    );
    expect(stdout).toBe(`${rest.join('\n')}\n`);
  });

  it('offers all that arrived to be saved, and nothing that is empty', async () => {
    const onTerminal = { stdoutIsTerminal: true, stderrIsTerminal: true, columns: 300 };
    for (const last of [rest, []]) {
      const env = { ...bareEnvironment(), ...pointedAt(await serve(1, last)) };
      const cut = await runInProcess(['search', 'company', 'x', '--limit', '3'], { env });
      const once = operationIn(cut.stderr);
      const again = await runInProcess(['search', '--continue', once], { env, ...onTerminal });
      const twice = /operation (op_\w+)/.exec(again.stderr)?.[1] ?? '';
      const show = (id: string): string => `leadpipe history show ${id}`;
      const shown = last.length === 0 ? [show(once)] : [show(once), show(twice)];
      if (last.length > 0) {
        expect(again.stderr).toContain('1 lead, 3 in all · limit of 3 reached');
        expect(again.stderr).toContain(
          `To save them, for free: ${shown[0]} -o leads.csv; ${shown[1]} -o leads.csv --append\n`,
        );
      }
      const { stderr } = await runInProcess(['search', '--continue', once], { env });
      expect(stderr).toContain(`To print all of it again: ${shown.join('; ')}\n`);
      await server?.close();
    }
    server = undefined;
  });

  it('refuses what it can not continue, and sends nothing', async () => {
    const env = { ...bareEnvironment(), ...pointedAt(await serve(0)) };
    const whole = await runInProcess(['search', 'company', 'x'], { env });
    const operation = operationIn(whole.stderr);
    const cases: readonly [args: readonly string[], code: number, says: string][] = [
      [['search', '--continue', operation], 2, 'is complete'],
      [['search', '--continue', 'op_nothing'], 6, 'no operation op_nothing'],
      [['search', 'company', 'x', '--continue', operation], 2, '--continue resumes the earlier search'],
      [['search', '--continue', operation, '--limit', '5'], 2, '--continue resumes the earlier search'],
      [['search'], 2, 'the entity type is missing'],
      [['search', 'company'], 2, 'the objective is missing'],
    ];
    for (const [args, code, says] of cases) {
      const result = await runInProcess(args, { env });
      expect({ args, code: result.code }).toEqual({ args, code });
      expect(result.stderr).toContain(says);
    }
    expect(bodies()).toHaveLength(1);
  });

  it('refuses another key or address', async () => {
    const env = { ...bareEnvironment(), ...pointedAt(await serve(1)) };
    const cut = await runInProcess(['search', 'company', 'x'], { env });
    const args = ['search', '--continue', operationIn(cut.stderr)];
    expect((await runInProcess(args, { env: { ...env, LEADPIPE_API_KEY: 'another-key-0123' } })).code).toBe(
      78,
    );
    expect((await runInProcess([...args, '--base-url', 'https://a.example'], { env })).code).toBe(78);
    expect(bodies()).toHaveLength(1);
  });
});
