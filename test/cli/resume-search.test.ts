import { appendFileSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { creditBalance } from '../helpers/bodies.ts';
import { at, bodies, first, leadsOfCut, lines, rest, script } from '../helpers/cut-searches.ts';
import { ending } from '../helpers/ending.ts';
import type { FakeOptions } from '../helpers/fake-context.ts';
import {
  errorAnswer,
  jsonAnswer,
  notFound,
  searchFrames,
  startSearchServer,
  streamStart,
  wholeStream,
} from '../helpers/fault-server.ts';
import { createMachine, machineWith } from '../helpers/machine.ts';
import { writeConfig } from '../helpers/settings.ts';

/** A search that was cut: `resume`, or the same command with the same -o, buys only the rest, and it stays one operation. */

const operationIn = (stderr: string): string => /op_[0-9a-z_]+/.exec(stderr)?.[0] ?? '';
const search = (more = '') => at.leadpipe(`search company x ${more}`);
const resume = (operation: string, more = '', options?: FakeOptions) =>
  at.leadpipe(`resume ${operation} ${more}`, options);
const storedLeads = (operation: string): string => join(at.state, 'operations', operation, 'received.jsonl');

/** The operation of a search that was cut. */
async function cut(more = ''): Promise<string> {
  const result = await search(more);
  const operation = operationIn(result.stderr);
  expect(result).toMatchObject(ending(3, `leadpipe resume ${operation}`));
  return operation;
}

const files: readonly [name: string, options: string, content: string][] = [
  ['leads.jsonl', '', lines(...first, ...rest)],
  ['leads.csv', '--columns name,id', 'name,id\r\nA,12345678901234567890\r\nB,\r\nC,\r\n'],
  ['leads.csv', '--columns name,id --delimiter ;', 'name;id\r\nA;12345678901234567890\r\nB;\r\nC;\r\n'],
  ['leads.json', '', `[\n${[...first, ...rest].map((lead) => `  ${lead}`).join(',\n')}\n]\n`],
];

describe('resume of a search', () => {
  it.each(files)('completes %s with the rest, with a new key', async (name, options, all) => {
    const operation = await cut(`--limit 9 -o ${name} ${options}`);
    expect(await resume(operation)).toMatchObject({ code: 0 });
    expect(at.read(name)).toBe(all);
    expect(at.files()).toEqual([name]);
    expect(bodies()[1]).toEqual({ ...bodies()[0], limit: 7, dedup_service_leads: ['ls_test'] });
    const keys = at.requests.flatMap(({ headers }) => headers['idempotency-key'] ?? []);
    expect(new Set(keys).size).toBe(2);
  });

  it('takes the latest of its own kind without an ID: of an account, or with --local of the local service', async () => {
    const list = 'enrich --input rows.txt --field city --local --first 1 -o rows.csv';
    const operation = await cut('--limit 9 -o leads.jsonl');
    at.write('rows.txt', 'Nordlicht Pay, Berlin\n');
    expect((await at.leadpipe(list)).code).toBe(0);
    expect(await resume('')).toMatchObject(ending(0, `Resuming ${operation}`));
    expect(await resume('')).toMatchObject(
      ending(0, 'nothing to resume. The local service has an unfinished purchase: leadpipe resume --local'),
    );
    expect(await resume('--local')).toMatchObject(ending(0, 'enrich rows.txt', 'cost nothing'));
    expect(await resume('--local')).toMatchObject(ending(0, 'There is nothing to resume.'));
  });

  it('that brings nothing more has found what came before: --exit-status is 0', async () => {
    let posts = 0;
    const there = await machineWith((socket, { method }) => {
      if (method === 'GET') return void socket.write(notFound);
      if (posts++ === 0) socket.end(streamStart(searchFrames([['{"name":"A"}']])[0] ?? ''));
      else socket.end(wholeStream(searchFrames([[]])));
    });
    const line = 'search company x --limit 9 -o a.jsonl --exit-status';
    expect((await there.leadpipe(line)).code).toBe(3);
    expect(await there.leadpipe(line)).toMatchObject(ending(0, '1 lead in a.jsonl'));
  });

  it('whose rest the credits do not cover is not told to ask for fewer: that would be another search', async () => {
    let posts = 0;
    const there = await machineWith((socket, { method }) => {
      if (method === 'GET') return void socket.write(jsonAnswer(creditBalance(2)));
      if (posts++ > 0) return void socket.end(errorAnswer('402 X', 'insufficient_credits', 'no'));
      socket.end(streamStart(searchFrames([['{"name":"A"}']])[0] ?? ''));
    });
    const line = 'search company x --limit 9 -o a.jsonl';
    await there.leadpipe(line);
    const refused = await there.leadpipe(line);
    expect(refused).toMatchObject(ending(5, 'Get more credits'));
    expect(refused.stderr).not.toContain('--limit');
  });

  it('of the local service costs nothing, in the summary too', async () => {
    const line = 'enrich --input rows.txt --field city --local --first 1 -o rows.csv';
    at.write('rows.txt', 'Nordlicht Pay, Berlin\nNordlicht Pay, Hamburg\n');
    await at.leadpipe(line);
    await at.leadpipe('resume --local --summary s.json');
    const [{ operation_id } = {}] = await at.history();
    expect(JSON.parse(at.read('s.json'))).toMatchObject({ charged: 'no', credits_at_most: 0 });
    expect(operation_id).toBeDefined();
  });

  it('takes the latest that can be resumed without an ID, and names a later one', async () => {
    script.cuts = 2;
    const operation = await cut('--limit 9 -o a.jsonl');
    const overwritten = operationIn((await at.leadpipe('search company y -o b.jsonl')).stderr);
    expect((await at.leadpipe('search company z -o b.jsonl')).code).toBe(0);
    expect(await resume('')).toMatchObject(
      ending(0, 'b.jsonl has rows of a later', `${overwritten} -o <file>`, `Resuming ${operation}`),
    );
    expect(at.read('a.jsonl')).toBe(lines(...first, ...rest));
    expect(await resume('')).toMatchObject(ending(2, 'b.jsonl has rows of a later'));
    for (const name of ['old', 'new']) {
      at.write(`${name}.txt`, 'Nordlicht Pay, Berlin\nNordlicht Pay, Hamburg\n');
      const list = `enrich --input ${name}.txt --field city --local --first 1 -o ${name}.csv`;
      expect((await at.leadpipe(list)).code).toBe(0);
    }
    rmSync(at.pathOf('new.txt'));
    expect(await resume('--local')).toMatchObject(ending(0, 'is no longer there: ', 'enrich old.txt'));
  });

  it('tells all of its leads in each summary, and none that were left out', async () => {
    const leadsIn = async (line: string) => {
      const { code, stderr } = await at.leadpipe(`${line} --summary summary.json`);
      return { code, leads: JSON.parse(at.read('summary.json')).leads, operation: operationIn(stderr) };
    };
    script.cuts = 0;
    script.last = first.slice(0, 1);
    await search('--list company');
    script.cuts = 2;
    const { operation, ...cut } = await leadsIn('search company x --limit 9 -o leads.jsonl');
    expect(cut).toEqual({ code: 3, leads: 2 });
    expect(await leadsIn(`resume ${operation}`)).toEqual({ code: 3, leads: 4, operation });
    script.last = rest;
    expect(await leadsIn(`resume ${operation}`)).toMatchObject({ code: 0, leads: 5 });
    script.cuts = 1;
    script.last = ['{"name":"D"}', first[0] ?? ''];
    const again = await leadsIn('search company x --only-new --limit 9 -o new.jsonl');
    expect(again).toMatchObject({ code: 3, leads: 2 });
    expect(await leadsIn(`resume ${again.operation}`)).toMatchObject({ code: 0, leads: 3 });
  });

  it('buys all leads that are missing, where something came that is not a lead', async () => {
    Object.assign(script, { cuts: 0, last: ['null', '3', '"text"', '[]', ...first] });
    const operation = await cut('--limit 9 -o leads.jsonl --summary s.json');
    expect(at.read('leads.jsonl.part')).toBe(lines(...first));
    expect(JSON.parse(at.read('s.json'))).toMatchObject({ leads: 2 });
    expect(await at.leadpipe(`history show ${operation}`)).toMatchObject({ stdout: lines(...first) });
    script.last = rest;
    expect(await resume(operation)).toMatchObject(ending(0, '2 leads stored'));
    expect(bodies()[1]).toMatchObject({ limit: 7 });
    expect(at.read('leads.jsonl')).toBe(lines(...first, ...rest));
  });

  it('that is cut again leaves the same operation: one line in the history, and all leads in it', async () => {
    script.cuts = 2;
    const operation = await cut('--limit 9 -o leads.jsonl');
    expect(await resume(operation)).toMatchObject(ending(3, `leadpipe resume ${operation}`));
    expect(at.files()).toEqual(['leads.jsonl.part']);
    expect(await at.history('list')).toMatchObject([{ operation_id: operation, state: 'partial', leads: 4 }]);
    expect(await resume(operation)).toMatchObject({ code: 0 });
    const all = lines(...first, ...leadsOfCut(1), ...rest);
    expect(at.read('leads.jsonl')).toBe(all);
    expect(bodies().map(({ limit }) => limit)).toEqual([9, 7, 5]);
    expect(bodies()[2]).toMatchObject({ dedup_service_leads: ['ls_test'] });
    // Both that were cut may have charged for all that they asked for.
    const whole = { operation_id: operation, state: 'complete', leads: 5, charged: 'yes' };
    expect(await at.history('list')).toMatchObject([whole]);
    expect(await at.leadpipe(`history show ${operation}`)).toMatchObject({ code: 0, stdout: all });
    expect(await resume(operation)).toMatchObject(
      ending(2, 'Nothing was bought', `leadpipe history show ${operation}`),
    );
    expect(bodies()).toHaveLength(3);
  });

  it('that is cut again in another file is completed there by the command that is named', async () => {
    script.cuts = 2;
    const operation = await cut('--limit 9 -o leads.jsonl');
    const again = await resume(operation, '-o b.csv --columns name --csv-raw --summary s.json');
    const named = `leadpipe resume ${operation} -o b.csv --columns name --csv-raw`;
    expect(again).toMatchObject(ending(3, `, into ${at.pathOf('b.csv')}.`, `To buy the rest: ${named}\n`));
    expect(JSON.parse(at.read('s.json'))).toMatchObject({ resume: named });
    expect(await at.leadpipe(named.replace('leadpipe ', ''))).toMatchObject({ code: 0 });
    expect(at.read('b.csv')).toBe('name\r\nA\r\nB\r\nA1\r\nB1\r\nC\r\n');
    expect(at.files()).toEqual(['b.csv', 's.json']);
  });

  it.each([
    ['b.csv', 'name;Site\r\nA;\r\nB;\r\nC;\r\n'],
    ['b.jsonl', '{"name":"A","Site":null}\n{"name":"B","Site":null}\n{"name":"C","Site":null}\n'],
  ])('into %s keeps the columns and, in CSV, the delimiter', async (name, all) => {
    const operation = await cut('-o leads.csv --columns name,Site=links.website --delimiter ;');
    expect((await resume(operation, `-o ${name}`)).code).toBe(0);
    expect(at.read(name)).toBe(all);
    const ended = `${operation} has already ended (state: complete). Nothing was bought`;
    expect(await resume(operation)).toMatchObject(ending(2, ended));
  });

  it.each(files)('into %s, named again, continues it as it was started', async (name, options, all) => {
    symlinkSync('.', at.pathOf('link'));
    const operation = await cut(`-o ${name} ${options}`);
    expect((await resume(operation, `-o link/${name}`)).code).toBe(0);
    expect(at.read(name)).toBe(all);
    expect(at.files()).toEqual([name, 'link'].sort());
  });

  it.each(['-f csv', '--columns name', '--csv-raw', '--append'])(
    'into the same file refuses to write it in another form: %s',
    async (other) => {
      const operation = await cut('-o leads.jsonl');
      for (const to of ['', '-o leads.jsonl']) {
        if (to === '' && other === '--append') continue;
        const says = 'leads.jsonl was written with other options';
        expect(await resume(operation, `${to} ${other}`)).toMatchObject(ending(2, says));
      }
      expect(bodies()).toHaveLength(1);
    },
  );

  it('adds its rows after those that other runs have added since', async () => {
    at.write('leads.jsonl', '{"name":"before"}\n');
    const operation = await cut('--append -o leads.jsonl');
    expect((await at.leadpipe('search company y --append -o leads.jsonl')).code).toBe(0);
    appendFileSync(at.pathOf('leads.jsonl'), '{"name":"by hand"}');
    expect((await resume(operation)).code).toBe(0);
    const all = ['{"name":"before"}', ...rest, '{"name":"by hand"}', ...first, ...rest];
    expect(at.read('leads.jsonl')).toBe(lines(...all));
  });

  it('of --only-new counts what was left out before it was cut', async () => {
    Object.assign(script, { cuts: 0, last: first.slice(0, 1) });
    expect((await search('--only-new')).code).toBe(0);
    Object.assign(script, { cuts: 1, last: rest });
    const operation = await cut('--only-new -o leads.jsonl');
    expect((await resume(operation, '--summary s.json')).code).toBe(0);
    expect(at.read('leads.jsonl')).toBe(lines(...first.slice(1), ...rest));
    expect((await at.history()).at(-1)).toMatchObject({ leads: 2, excluded: 1 });
    // The file and the cost of both runs: the first, which was cut, may have cost all of its limit.
    const known = { leads: 2, output: at.pathOf('leads.jsonl'), credits_at_most: 101 };
    expect(JSON.parse(at.read('s.json'))).toMatchObject(known);
  });

  it('that is cut again tells all leads in its summary', async () => {
    script.cuts = 2;
    const operation = await cut('-o leads.jsonl');
    expect((await resume(operation, '--summary s.json')).code).toBe(3);
    expect(JSON.parse(at.read('s.json'))).toMatchObject({ state: 'partial', leads: 4 });
  });

  it('replaces what an earlier search has left in the file', async () => {
    script.cuts = 0;
    expect((await at.leadpipe('search company y -o leads.jsonl')).code).toBe(0);
    script.cuts = 1;
    const operation = await cut('-o leads.jsonl');
    expect((await resume(operation)).code).toBe(0);
    expect(at.read('leads.jsonl')).toBe(lines(...first, ...rest));
  });

  it('refuses with 2 where a later search has written the file again, and names what to do', async () => {
    const operation = await cut('-o leads.jsonl');
    expect((await at.leadpipe('search company y -o leads.jsonl')).code).toBe(0);
    const before = at.read('leads.jsonl');
    const elsewhere = `leadpipe resume ${operation} -o <file>`;
    expect(await resume(operation)).toMatchObject(ending(2, elsewhere));
    expect(at.read('leads.jsonl')).toBe(before);
    at.write('all.jsonl.zzzzzz.part', 'of others');
    expect((await resume(operation, '-o all.jsonl')).code).toBe(0);
    expect(at.read('all.jsonl')).toBe(lines(...first, ...rest));
    expect(at.files()).toEqual(['all.jsonl', 'all.jsonl.part', 'leads.jsonl']);
    expect(at.read('all.jsonl.part')).toBe('of others');
  });

  it('without stored leads is refused, and buys nothing: only the rest would look complete', async () => {
    const operation = await cut('--limit 9 -o leads.jsonl');
    rmSync(storedLeads(operation));
    expect(await resume(operation)).toMatchObject(ending(2, 'its leads are no longer stored'));
    expect(at.read('leads.jsonl.part')).toBe(lines(...first));
    expect(bodies()).toHaveLength(1);
  });

  it('with a damaged lead is refused, and names the file: the others would look complete', async () => {
    const operation = await cut('-f jsonl');
    const path = storedLeads(operation);
    writeFileSync(path, readFileSync(path, 'utf8').replace('"B"', '"X"'));
    expect(await resume(operation)).toMatchObject(ending(78, `line 2 of ${path} is damaged`));
    expect(bodies()).toHaveLength(1);
  });

  it('prints the rest alone, however many leads were printed before', async () => {
    const many = Array.from({ length: 150 }, (_, nth) => `{"name":"Lead ${nth}"}`);
    const [cutOff = ''] = searchFrames([many]);
    const answers = [streamStart(cutOff), wholeStream(searchFrames([rest]))];
    const there = await machineWith((socket, { method }) => {
      socket.end(method === 'GET' ? notFound : (answers.shift() ?? ''));
    });
    expect((await there.leadpipe('search company x --limit 200')).stdout).toBe(lines(...many));
    expect((await there.leadpipe('resume')).stdout).toBe(lines(...rest));
  });

  it('with a damaged journal is told of, also without its ID', async () => {
    const path = join(at.state, 'operations', await cut('-o leads.jsonl'), 'journal.jsonl');
    writeFileSync(path, readFileSync(path, 'utf8').replace('"command"', '"COMMAND"'));
    expect(await at.leadpipe('resume')).toMatchObject(ending(78, path));
    expect(bodies()).toHaveLength(1);
  });

  it('prints the rest to standard output, in the form that is asked for, and all of it into a file that -o names', async () => {
    script.cuts = 3;
    const operation = await cut('--limit 9 -f jsonl');
    expect(await resume(operation)).toMatchObject({ code: 3, stdout: lines(...leadsOfCut(1)) });
    const inCsv = await resume(operation, '-f csv --columns name');
    expect(inCsv).toMatchObject({ code: 3, stdout: 'name\r\nA2\r\nB2\r\n' });
    expect((await resume(operation, '-o leads.jsonl')).code).toBe(0);
    expect(at.read('leads.jsonl')).toBe(lines(...first, ...leadsOfCut(1), ...leadsOfCut(2), ...rest));
  });

  it('counts the stored leads that it prints', async () => {
    const operation = operationIn((await search('--limit 2')).stderr);
    const journal = join(at.state, 'operations', operation, 'journal.jsonl');
    // Killed before it was written down that the lead is printed.
    const isKept = (line: string): boolean => !/"type":"(printed|terminal)"/.test(line);
    writeFileSync(journal, readFileSync(journal, 'utf8').split('\n').filter(isKept).join('\n'));
    const { stderr, stdout } = await resume(operation);
    expect(stdout).toBe(lines(...first));
    expect(stderr).toMatch(/^2 leads · cost /m);
  });

  it.each([[rest], [[]]])('tells how to save all that arrived: %j', async (brought) => {
    script.last = brought;
    const operation = await cut('--limit 3');
    const onTerminal = { stdoutIsTerminal: true, stderrIsTerminal: true, columns: 300 };
    const { stderr } = await resume(operation, '--yes', onTerminal);
    if (brought.length > 0) expect(stderr).toContain('1 lead, 3 in all · limit of 3 reached');
    // What was sent when the search was cut is excluded, too.
    const isLost = stderr.includes('did not arrive here may have been charged');
    expect(isLost).toBe(brought.length === 0);
    const shown = `leadpipe history show ${operation}`;
    expect(stderr).toContain(`To save them, for free: ${shown} -o leads.csv\n`);
  });

  it('refuses what it can not resume, and sends nothing', async () => {
    script.cuts = 0;
    await search();
    const [{ operation_id } = {}] = await at.history();
    for (const [line, code, says] of [
      [operation_id, 2, 'has already ended (state: complete)'],
      ['op_nothing', 6, 'no operation op_nothing'],
      [`${operation_id} --limit 5`, 2, 'unknown option "--limit"'],
    ] as const) {
      const result = await at.leadpipe(`resume ${line}`);
      expect({ line, ...result }).toMatchObject({ line, ...ending(code, says) });
    }
    expect(bodies()).toHaveLength(1);
  });

  it('refuses another key or address', async () => {
    const operation = await cut();
    const env = { LEADPIPE_API_KEY: 'another-key-0123' };
    expect((await resume(operation, '', { env })).code).toBe(78);
    expect((await resume(operation, '--base-url https://a.example')).code).toBe(78);
    expect(bodies()).toHaveLength(1);
  });

  it('is of its own profile, unless another one is named', async () => {
    const profiles = { default: {}, work: {}, small: { max_credits_per_day: 8 } };
    writeConfig(at.env, JSON.stringify({ profiles }));
    const operation = await cut('--limit 9 --profile default');
    expect(await resume(operation, '--profile small')).toMatchObject(ending(5, 'max_credits_per_day'));
    expect(bodies()).toHaveLength(1);
    Object.assign(at.env, { LEADPIPE_PROFILE: 'small' });
    expect(await resume(operation)).toMatchObject({ code: 0 });
    at.env.LEADPIPE_PROFILE = 'default';
    script.cuts = 1;
    const ofWork = await cut('--limit 9 --profile work -q');
    expect(await resume(ofWork, '--profile small')).toMatchObject(ending(5, 'max_credits_per_day'));
  });

  it('that is refused changes nothing: by its ID, as the latest, and with the same command, the same rest is bought', async () => {
    const operation = await cut('--limit 9 -o leads.jsonl');
    const ways = [`resume ${operation}`, 'resume', 'search company x --limit 9 -o leads.jsonl'];
    for (const line of ways) {
      script.refusals = 1;
      expect({ line, ...(await at.leadpipe(line)) }).toMatchObject({ line, ...ending(5, 'charged: no') });
      const [known, ...more] = await at.history();
      expect(more).toEqual([]);
      // What the refused rest could have cost is not counted.
      expect(known).toMatchObject({ operation_id: operation, state: 'partial', leads: 2, charged: 'yes' });
      expect(known).toMatchObject({ credits_at_most: 9 });
    }
    expect((await at.leadpipe(ways[2] ?? '')).code).toBe(0);
    expect(at.read('leads.jsonl')).toBe(lines(...first, ...rest));
    expect(at.files()).toEqual(['leads.jsonl']);
    const missing = { ...bodies()[0], limit: 7, dedup_service_leads: ['ls_test'] };
    expect(bodies().slice(1)).toEqual(Array(4).fill(missing));
    expect(await at.history()).toMatchObject([{ operation_id: operation, state: 'complete', leads: 3 }]);
    // Now all of it is there, and the same command buys again.
    expect((await at.leadpipe(ways[2] ?? '')).code).toBe(0);
    expect(bodies()[5]).toEqual(bodies()[0]);
  });

  it('excludes the received leads by name if the search ID is missing', async () => {
    const leads = ['{"name":"A","id":1}', '{"id":2}', '{"name":"B, \\"C\\""}'];
    let nth = 0;
    const server = await startSearchServer(() => {
      const frames = nth++ === 0 ? searchFrames([leads]).slice(0, 1) : searchFrames([rest]);
      return frames.map((frame) => frame.replace(/"leads_search_id":"\w+",/, ''));
    });
    const there = createMachine(server.url);
    const line = 'search company x --limit 9 --dedup-custom-leads D -o leads.jsonl';
    const cut = await there.leadpipe(`${line} --summary s.json`);
    const way = `leadpipe resume ${operationIn(cut.stderr)}`;
    expect(cut).toMatchObject(ending(3, `To buy the rest: ${way}`, 'charged: yes'));
    expect(cut.stderr).not.toContain('may or may not');
    expect(JSON.parse(there.read('s.json'))).toMatchObject({ resume: way, leads_search_id: null });
    expect((await there.leadpipe(line)).code).toBe(0);
    const [whole, missing] = server.requests
      .filter(({ method }) => method === 'POST')
      .map(({ body }) => JSON.parse(body));
    // What this operation has brought comes first: where the list is full, none of it is bought again.
    expect(missing).toEqual({ ...whole, limit: 6, dedup_custom_leads: ['A', 'B, "C"', 'D'] });
    expect(there.read('leads.jsonl')).toBe(lines(...leads, ...rest));
    // Without any record of it, nothing can leave them out.
    nth = 0;
    const says = 'the service sent no ID of this search, so the same command buys all of its leads again.';
    expect(await there.leadpipe(`${line} --no-history`)).toMatchObject(ending(3, says, 'charged: yes'));
  });
});
