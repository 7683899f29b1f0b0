import { once } from 'node:events';
import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createParser } from 'eventsource-parser';
import { afterEach, describe, expect, it } from 'vitest';
import { ending, failing } from '../helpers/ending.ts';
import { runInProcess } from '../helpers/fake-context.ts';
import { bareEnvironment, pointedAt, resultOf, run, start, temporaryFolder } from '../helpers/run.ts';

type Child = ReturnType<typeof start>;
let served: Child | undefined;
afterEach(async () => {
  if (served === undefined) return;
  served.kill('SIGKILL');
  if (served.exitCode === null && served.signalCode === null) await once(served, 'exit');
  served = undefined;
});

/** `leadpipe serve`, as a shell would start it: its two lines are an environment. */
async function serve(args: readonly string[] = [], env = bareEnvironment()): Promise<Record<string, string>> {
  served = start(['serve', '--port', '0', '-q', '--set', 'batch_pause_ms=0', ...args], { env });
  served.stderr.resume();
  let lines = '';
  while (lines.split('\n').length < 3) lines += String((await once(served.stdout, 'data'))[0]);
  return Object.fromEntries(
    [...lines.matchAll(/^export (\w+)=(.*)$/gm)].map(([, name, value]) => [name, value]),
  );
}

const rowsOf = (
  stdout: string,
): { name: string; description: string; score: { score: string; reason: string } }[] =>
  stdout
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));

describe('--local', () => {
  const fitting: readonly [type: string, objective: string, fits: RegExp[]][] = [
    ['company', 'seed-stage fintech in Berlin', [/berlin/i, /fintech/i, /(?<!pre-)seed[- ]stage/i]],
    ['youtube_creator', 'climate podcasts on YouTube with over 100k subscribers', [/climate/i, /podcast/i]],
    ['shopify_store', 'shopify stores for trail running', [/trail/i, /runn/i]],
  ];
  it.each(fitting)('%s "%s" brings leads that fit', async (type, objective, fits) => {
    const { stdout, stderr, code } = await run(['search', type, objective, '--local', '--limit', '8']);
    expect(code).toBe(0);
    const rows = rowsOf(stdout);
    expect(rows).toHaveLength(8);
    for (const row of rows) for (const fit of fits) expect(row.description).toMatch(fit);
    expect(rows[0]?.score.reason).toMatch(/^matches /);
    expect(stderr).toContain('fictional');
  });

  it('says what the demonstration knows where nothing fits, last and on stderr alone', async () => {
    const env = bareEnvironment();
    const search = ['search', 'company', 'blockchain in Oslo', '--local'];
    expect(await run(search, { env })).toMatchObject(
      failing(
        0,
        /\n0 leads · no more matches · cost nothing\n.*\nThe demonstration has no company that matches\. It has:\nindustry: fintech · .*\ncity: .*\nFor example: .* in .*\n$/,
      ),
    );
    const task = ['task', 'run', 'person', 'sommeliers', '--local', '--poll-interval', '0.1'];
    expect((await run(task, { env })).stderr).toMatch(/\ntitle: .*\ncity: .*\nindustry: .*\nFor example: /);
    expect((await run([...search, '-q'], { env })).stderr).toBe('');
    const { stderr: one } = await run([...search, '--exit-status', '--json-errors'], { env });
    expect(JSON.parse(one).error).toMatchObject({ exit: 7 });
  });

  it('keeps its state between commands: each lead costs a credit', async () => {
    const env = bareEnvironment();
    const balance = async (): Promise<number> =>
      JSON.parse((await run('balance --local -f json', { env })).stdout).available_credits;
    const before = await balance();
    await run('search company "fintech in Berlin" --limit 7 --local', { env });
    expect(await balance()).toBe(before - 7);
  });

  it('answers two commands at once', async () => {
    const env = bareEnvironment();
    const results = await Promise.all(
      ['person', 'company', 'shopify_store'].map((type) =>
        run(['search', type, 'Berlin', '--limit', '3', '--local'], { env }),
      ),
    );
    for (const { code, stderr } of results) expect({ code, stderr }).toMatchObject({ code: 0 });
  });

  it('keeps what it stores to the user alone', async () => {
    const env = bareEnvironment();
    await run('balance --local', { env, isFirst: true });
    const folder = join(env.LEADPIPE_STATE_DIR as string, 'local-service');
    expect(existsSync(folder)).toBe(true);
    expect(statSync(folder).mode & 0o077).toBe(0);
  });

  it('says so when its state is damaged, and how to begin anew', async () => {
    const env = bareEnvironment();
    const folder = join(env.LEADPIPE_STATE_DIR as string, 'local-service');
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, 'state.db'), 'not a database '.repeat(100));
    expect(await run('balance --local', { env })).toMatchObject(
      ending(
        74,
        `the stored state of the local service can't be used: file is not a database`,
        `remove the folder ${folder}`,
      ),
    );
  });

  it('leaves out what earlier searches and the user have', async () => {
    const env = bareEnvironment();
    const search = ['search', 'company', 'seed-stage fintech in Berlin', '--limit', '5', '--local'];
    const first = await run(search, { env });
    const id = /search (ls_\S+)/.exec(first.stderr)?.[1] ?? '';
    const names = rowsOf(first.stdout).map((row) => row.name);
    const second = await run([...search, '--dedup-service-leads', id], { env });
    expect(rowsOf(second.stdout).map((row) => row.name)).not.toEqual(expect.arrayContaining([names[0]]));
    const cwd = temporaryFolder();
    writeFileSync(join(cwd, 'mine.csv'), `city,Name\nx,"${names[0]}"\n`);
    const third = await run([...search, '--dedup-custom-leads', '@mine.csv'], { env, cwd });
    expect(rowsOf(third.stdout).map((row) => row.name)).not.toContain(names[0]);
  });

  it('fills enrich fields, which have columns of their own', async () => {
    const cwd = temporaryFolder();
    const args = [
      'search',
      'company',
      'fintech in Berlin',
      '--limit',
      '2',
      '--local',
      '--enrich-fields',
      'headcount,email',
    ];
    await run([...args, '-o', 'leads.csv'], { cwd });
    const [header, first] = readFileSync(join(cwd, 'leads.csv'), 'utf8').split('\r\n');
    expect(header).toBe(
      'name,description,score,score_reason,website,linkedin_url,links,headcount,headcount_reference,email,email_reference',
    );
    expect(first).toMatch(/,\d+,https?:[^,]*,,$/);
  });
});

describe('serve', () => {
  it('gives its address and key as lines for a shell, and searches go over the wire', async () => {
    const env = await serve();
    expect(env.LEADPIPE_BASE_URL).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/);
    const { stdout, code } = await run('search company "fintech in Berlin" --limit 3', { env });
    expect(code).toBe(0);
    expect(rowsOf(stdout)).toHaveLength(3);
  });

  it('streams frames that any reader of event streams understands', async () => {
    const env = await serve();
    const response = await fetch(`${env.LEADPIPE_BASE_URL}/v1/entity-search`, {
      method: 'POST',
      headers: { 'x-api-key': env.LEADPIPE_API_KEY ?? '', 'content-type': 'application/json' },
      body: JSON.stringify({ entity_type: 'company', objective: 'fintech in Berlin', limit: 25 }),
    });
    expect(response.headers.get('content-type')).toBe('text/event-stream');
    const events: string[] = [];
    const parser = createParser({ onEvent: ({ data }) => events.push(data) });
    parser.feed(await response.text());
    expect(events.at(-1)).toBe('[DONE]');
    const objects = events.slice(0, -1).map((data) => JSON.parse(data));
    expect(objects.map(({ object }) => object)).toEqual([
      'entity_search_batch',
      'entity_search_batch',
      'entity_search_batch',
      'entity_search_done',
    ]);
    expect(objects.map(({ cum_count }) => cum_count)).toEqual([10, 20, 25, 25]);
  });

  it('says in its own terminal what the demonstration knows, and nothing of the leads of a file', async () => {
    const said = async (args: string[]): Promise<string> => {
      const child = start(['serve', '--port', '0', ...args], { env: bareEnvironment() });
      const ended = resultOf(child);
      const url = /http:\S+/.exec(String((await once(child.stdout, 'data'))[0]))?.[0] ?? '';
      const env = pointedAt(url, 'lp_local_demo');
      expect((await runInProcess('search company "blockchain in Oslo"', { env })).stdout).toBe('');
      child.kill('SIGINT');
      return (await ended).stderr;
    };
    expect(await said([])).toContain('\nThe demonstration has no company that matches.');
    const file = join(temporaryFolder(), 'mine.csv');
    writeFileSync(file, 'name,industry\nAcme,fintech\n');
    expect(await said(['--catalog', file])).not.toContain('The demonstration');
  });

  it('balance --require compares', async () => {
    const env = await serve(['--set', 'opening_credits=50']);
    expect((await run('balance --require 50', { env })).code).toBe(0);
    const { code, stdout, stderr } = await run('balance --require 51', { env });
    expect(code).toBe(5);
    expect(JSON.parse(stdout)).toMatchObject({ object: 'credit_balance', available_credits: 50 });
    expect(stderr).toContain('50 credits are available, and --require asks for 51');
  });

  it('serves the leads of a file, numbers and unknown fields as they are', async () => {
    const cwd = temporaryFolder();
    const lead =
      '{"name":"Örtliche Bäckerei","links":{"website":"https://b.example"},"description":"bread","id":12345678901234567890,"rate":1.10}';
    writeFileSync(join(cwd, 'mine.jsonl'), `${lead}\n`);
    const env = await serve(['--catalog', join(cwd, 'mine.jsonl')]);
    const { stdout, stderr } = await run('search company bread', { env });
    expect(stdout).toContain('"id":12345678901234567890,"rate":1.10');
    expect(stderr).not.toContain('fictional');
  });

  it.each([
    ['a catalogue that is not there', ['--catalog', 'nowhere.jsonl'], 2, 'nowhere.jsonl'],
    ['an unknown switch', ['--set', 'nonsense=1'], 2, 'nonsense'],
    [
      'a switch beyond what a timer can wait',
      ['--set', 'task_step_ms=2147483648'],
      2,
      'from 0 to 2147483647',
    ],
    ['a port out of range', ['--port', '70000'], 2, '--port is 70000'],
  ])('%s is refused', async (_, args, code, says) => {
    expect(await run(['serve', '--port', '0', ...args])).toMatchObject(ending(code, says));
  });

  it('says so when its port is taken, and ends with 130 on Ctrl-C', async () => {
    const env = await serve();
    const { port } = new URL(env.LEADPIPE_BASE_URL ?? '');
    expect(await run(['serve', '--port', port])).toMatchObject(
      ending(74, `port ${port} on 127.0.0.1 is already in use`),
    );
    const ended = resultOf(served as Child);
    served?.kill('SIGINT');
    expect((await ended).code).toBe(130);
  });
});
