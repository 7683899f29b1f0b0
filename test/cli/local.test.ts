import { once } from 'node:events';
import { mkdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createParser } from 'eventsource-parser';
import { afterEach, describe, expect, it } from 'vitest';
import { ending } from '../helpers/ending.ts';
import { recordsIn } from '../helpers/fake-context.ts';
import { createMachine, type Machine } from '../helpers/machine.ts';
import { bareEnvironment, pointedAt, resultOf, run, start } from '../helpers/run.ts';

type Child = ReturnType<typeof start>;
let served: Child | undefined;
/** What it has printed on stderr. */
let said = '';
afterEach(stop);

async function stop(): Promise<void> {
  if (served === undefined) return;
  served.kill('SIGKILL');
  if (served.exitCode === null && served.signalCode === null) await once(served, 'exit');
  served = undefined;
}

/** A machine that knows `leadpipe serve`, as a shell would start it: its two lines are an environment. */
async function serve(more = '', env = bareEnvironment()): Promise<Machine> {
  served = start(`serve --port 0 -q --set batch_pause_ms=0 ${more}`, { env });
  said = '';
  served.stderr.on('data', (piece) => {
    said += piece;
  });
  let lines = '';
  while (lines.split('\n').length < 3) lines += String((await once(served.stdout, 'data'))[0]);
  const [url, key] = ['BASE_URL', 'API_KEY'].map(
    (name) => RegExp(`^export LEADPIPE_${name}=(.*)$`, 'm').exec(lines)?.[1],
  );
  return createMachine(url, key);
}

interface Lead {
  readonly name: string;
  readonly description: string;
  readonly score: { readonly reason: string };
}
const leadsIn = (stdout: string) => recordsIn(stdout) as unknown as Lead[];

describe('--local', () => {
  it.each<[words: string, fits: RegExp[]]>([
    ['company "seed-stage fintech in Berlin"', [/berlin/i, /fintech/i, /(?<!pre-)seed[- ]stage/i]],
    ['youtube_creator "climate podcasts on YouTube with over 100k subscribers"', [/climate/i, /podcast/i]],
    ['shopify_store "shopify stores for trail running"', [/trail/i, /runn/i]],
  ])('%s brings leads that fit', async (words, fits) => {
    const { stdout, ...end } = await run(`search ${words} --local --limit 8`);
    expect(end).toEqual(ending(0, 'fictional'));
    const leads = leadsIn(stdout);
    expect(leads).toHaveLength(8);
    for (const { description } of leads) for (const fit of fits) expect(description).toMatch(fit);
    expect(leads[0]?.score.reason).toMatch(/^matches /);
  });

  it('says what the demonstration knows where nothing fits, last and on stderr alone', async () => {
    const at = createMachine();
    const search = 'search company "blockchain in Oslo" --local';
    const known =
      /\n0 leads · no more matches · cost nothing\n.*\nThe demonstration has no company that matches\. It has:\nindustry: fintech · .*\ncity: .*\nFor example: .* in .*\n$/;
    expect(await at.run(search)).toEqual({ ...ending(0, known), stdout: '' });
    const task = await at.run('task run person sommeliers --local --poll-interval 0.1');
    expect(task.stderr).toMatch(/\ntitle: .*\ncity: .*\nindustry: .*\nFor example: /);
    expect((await at.run(`${search} -q`)).stderr).toBe('');
    const { stderr } = await at.run(`${search} --exit-status --json-errors`);
    expect(JSON.parse(stderr).error).toMatchObject({ exit: 7 });
  });

  it('keeps its state between commands: each lead costs a credit', async () => {
    const at = createMachine();
    const balance = async (): Promise<number> =>
      JSON.parse((await at.run('balance --local -f json')).stdout).available_credits;
    const before = await balance();
    await at.run('search company "fintech in Berlin" --limit 7 --local');
    expect(await balance()).toBe(before - 7);
  });

  it('answers several commands at once', async () => {
    const at = createMachine();
    const types = ['person', 'company', 'shopify_store'];
    const runs = types.map((type) => at.run(`search ${type} Berlin --limit 3 --local`));
    expect((await Promise.all(runs)).map(({ code }) => code)).toEqual([0, 0, 0]);
  });

  it('stores its state for this user only', async () => {
    const env = bareEnvironment();
    await run('balance --local', { env, isFirst: true });
    expect(statSync(join(env.LEADPIPE_STATE_DIR ?? '', 'local-service')).mode & 0o077).toBe(0);
  });

  it('says so when its state is damaged, and how to start over', async () => {
    const at = createMachine();
    const folder = join(at.state, 'local-service');
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, 'state.db'), 'not a database '.repeat(100));
    const says = "the stored state of the local service can't be used: file is not a database";
    expect(await at.run('balance --local')).toMatchObject(ending(74, says, `remove the folder ${folder}`));
  });

  it('leaves out what earlier searches and the user have', async () => {
    const at = createMachine();
    const search = 'search company "seed-stage fintech in Berlin" --limit 5 --local';
    const { stdout, stderr } = await at.run(search);
    const [, id] = /search (ls_\S+)/.exec(stderr) ?? [];
    const name = leadsIn(stdout)[0]?.name;
    at.write('mine.csv', `city,Name\nx,"${name}"\n`);
    for (const known of [`--dedup-service-leads ${id}`, '--dedup-custom-leads @mine.csv']) {
      const other = await at.run(`${search} ${known}`);
      expect(leadsIn(other.stdout).map((lead) => lead.name)).not.toContain(name);
    }
  });

  it('fills enrich fields, which have columns of their own', async () => {
    const at = createMachine();
    const fields = '--enrich-fields headcount,email';
    await at.run(`search company "fintech in Berlin" --limit 2 --local ${fields} -o leads.csv`);
    const [header, first] = at.read('leads.csv').split('\r\n');
    expect(header).toBe(
      'name,description,score,score_reason,website,linkedin_url,links,headcount,headcount_reference,email,email_reference',
    );
    expect(first).toMatch(/,\d+,https?:[^,]*,,$/);
  });
});

describe('serve', () => {
  it('gives its address and key as lines for a shell, and searches go over the wire', async () => {
    const at = await serve();
    expect(at.env.LEADPIPE_BASE_URL).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/);
    const { code, stdout } = await at.run('search company "fintech in Berlin" --limit 3');
    expect({ code, leads: leadsIn(stdout).length }).toEqual({ code: 0, leads: 3 });
  });

  it('streams frames that any reader of event streams understands', async () => {
    const { env } = await serve();
    const response = await fetch(`${env.LEADPIPE_BASE_URL}/v1/entity-search`, {
      method: 'POST',
      headers: { 'x-api-key': env.LEADPIPE_API_KEY ?? '', 'content-type': 'application/json' },
      body: JSON.stringify({ entity_type: 'company', objective: 'fintech in Berlin', limit: 25 }),
    });
    expect(response.headers.get('content-type')).toBe('text/event-stream');
    const events: string[] = [];
    const parser = createParser({ onEvent: ({ data }) => events.push(data) });
    parser.feed(await response.text());
    expect(events.pop()).toBe('[DONE]');
    const objects = events.map((data) => JSON.parse(data));
    const batch = 'entity_search_batch';
    expect(objects.map(({ object }) => object)).toEqual([batch, batch, batch, 'entity_search_done']);
    expect(objects.map(({ cum_count }) => cum_count)).toEqual([10, 20, 25, 25]);
  });

  it('says in its own terminal what the demonstration knows, and nothing of the leads of a file', async () => {
    const said = async (more = ''): Promise<string> => {
      const child = at.start(`serve --port 0 ${more}`);
      const ended = resultOf(child);
      const url = /http:\S+/.exec(String((await once(child.stdout, 'data'))[0]))?.[0] ?? '';
      const env = pointedAt(url, 'lp_local_demo');
      expect((await at.leadpipe('search company "blockchain in Oslo"', { env })).stdout).toBe('');
      child.kill('SIGINT');
      return (await ended).stderr;
    };
    const at = createMachine();
    expect(await said()).toContain('\nThe demonstration has no company that matches.');
    at.write('mine.csv', 'name,industry\nAcme,fintech\n');
    expect(await said('--catalog mine.csv')).not.toContain('The demonstration');
  });

  it('keeps its accounts, names settings that they ignore, and starts empty with --fresh', async () => {
    const env = bareEnvironment();
    const credits = async (more: string): Promise<number> => {
      const { stdout } = await (await serve(more, env)).run('balance -f json');
      await stop();
      return JSON.parse(stdout).available_credits;
    };
    const noEffect = /^warning: opening_credits has no effect on [\s\S]* add --fresh\n$/;
    expect([await credits('--set opening_credits=50'), said]).toEqual([50, '']);
    expect([await credits('--set opening_credits=70'), said]).toEqual([50, expect.stringMatching(noEffect)]);
    expect([await credits('--set opening_credits=70 --fresh'), said]).toEqual([70, '']);
  });

  it('balance --require compares', async () => {
    const at = await serve('--set opening_credits=50');
    expect((await at.run('balance --require 50')).code).toBe(0);
    const { stdout, ...end } = await at.run('balance --require 51');
    expect(end).toEqual(ending(5, '50 credits are available, and --require asks for 51'));
    expect(JSON.parse(stdout)).toMatchObject({ object: 'credit_balance', available_credits: 50 });
  });

  it('serves the leads of a file whose names are in columns of its own', async () => {
    const { write, pathOf } = createMachine();
    write('mine.csv', 'Prospects;;\nVorname;Nachname;Firma\nÄda;Beispiel;Bread Ltd\n');
    const at = await serve(`--catalog ${pathOf('mine.csv')}`);
    const { stdout } = await at.run('search person bread');
    expect(JSON.parse(stdout)).toMatchObject({ name: 'Äda Beispiel' });
  });

  it('serves the leads of a file, numbers and unknown fields as they are', async () => {
    const { write, pathOf } = createMachine();
    const odd = '"id":12345678901234567890,"rate":1.10';
    write(
      'mine.jsonl',
      `{"name":"Örtliche Bäckerei","links":{"website":"https://b.example"},"description":"bread",${odd}}\n`,
    );
    const at = await serve(`--catalog ${pathOf('mine.jsonl')}`);
    const { stdout, stderr } = await at.run('search company bread');
    expect(stdout).toContain(odd);
    expect(stderr).not.toContain('fictional');
  });

  it.each([
    ['--catalog nowhere.jsonl', 'nowhere.jsonl'],
    ['--set nonsense=1', 'nonsense'],
    // More than a timer can wait.
    ['--set task_step_ms=2147483648', 'from 0 to 2147483647'],
    ['--port 70000', '--port is 70000'],
  ])('%s is refused', async (more, says) => {
    expect(await run(`serve --port 0 ${more}`)).toMatchObject(ending(2, says));
  });

  it('says so when its port is taken, and ends with 130 on Ctrl-C', async () => {
    const { env } = await serve();
    const { port } = new URL(env.LEADPIPE_BASE_URL ?? '');
    const says = `port ${port} on 127.0.0.1 is already in use`;
    expect(await run(`serve --port ${port}`)).toMatchObject(ending(74, says));
    const ended = resultOf(served as Child);
    served?.kill('SIGINT');
    expect((await ended).code).toBe(130);
  });
});
