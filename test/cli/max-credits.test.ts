import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { historyOf, runInProcess } from '../helpers/fake-context.ts';
import { type Answer, errorAnswer, jsonAnswer, startFaultServer } from '../helpers/fault-server.ts';
import { type LedgerService, ledgerKey, startLedgerService } from '../helpers/ledger.ts';
import { bareEnvironment, pointedAt, run, temporaryFolder } from '../helpers/run.ts';

/** The prices of the local service, as a user would set them. */
const prices = {
  'price.search': 2,
  'price.task': 2,
  'price.contact.email': 5,
  'price.contact.phone': 10,
  'price.research': 20,
  'price.enrich': 2,
  'price.extract': 1,
};

function withPrices(settings: object = prices): Record<string, string> {
  const env = bareEnvironment(temporaryFolder());
  mkdirSync(env.LEADPIPE_CONFIG_DIR ?? '', { recursive: true });
  const content = JSON.stringify({ profiles: { default: settings } });
  writeFileSync(join(env.LEADPIPE_CONFIG_DIR ?? '', 'config.json'), content);
  return env;
}

const rows: readonly [args: readonly string[], worst: number, setting?: keyof typeof prices][] = [
  [['search', 'company', 'fintech', '--limit', '5'], 5],
  [['search', 'company', 'fintech', '--limit', '5', '--enrich-fields', 'headcount'], 10, 'price.search'],
  [['task', 'run', 'company', 'fintech', '--limit', '5', '--poll-interval', '0.05'], 5],
  [['task', 'create', 'company', 'fintech', '--limit', '4', '--enable-web-search'], 8, 'price.task'],
  [['contact', 'email', 'CTO of Nordlicht Pay'], 5, 'price.contact.email'],
  [['contact', 'phone', 'CTO of Nordlicht Pay'], 10, 'price.contact.phone'],
  [['research', 'fintech in Berlin'], 20, 'price.research'],
  [['enrich', 'Kontora 3', '--field', 'city'], 2, 'price.enrich'],
  [['extract', 'web2list', 'https://a.example/list', '--instruction', 'fintech'], 100, 'price.extract'],
];
/** Of the prices, only what a plain search needs is known by itself. */
const plain = rows.filter(([, , setting]) => setting === undefined);
const priced = rows.flatMap(([args, , setting]) => (setting === undefined ? [] : [[args, setting] as const]));

/** A plain search and a plain task cost one credit per lead, and what is not known is dearest. */
function worstAt(worst: number, setting: string | undefined): number {
  return setting === undefined ? 2 * worst : worst;
}

/** The one purchase of a machine. */
async function record(env: Record<string, string>) {
  const { records } = await historyOf(env);
  expect(records).toHaveLength(1);
  return records[0] ?? {};
}
const company = ['search', 'company', 'fintech', '--limit'];

describe('--max-credits against a service that keeps a ledger', () => {
  let service: LedgerService;
  beforeAll(async () => {
    service = await startLedgerService({});
  });
  const atLedger = ({ url } = service) => ({ ...bareEnvironment(), ...pointedAt(url, ledgerKey) });

  it.each(rows)('%j is refused below its worst case, and bought at it', async (args, most, setting) => {
    const env = { ...withPrices(), ...pointedAt(service.url, ledgerKey) };
    const worst = worstAt(most, setting);
    const spent = service.spent();
    const refused = await run([...args, '--max-credits', String(worst - 1), '--json-errors'], { env });
    expect(refused).toMatchObject({ code: 5, stdout: '' });
    expect(JSON.parse(refused.stderr).error).toMatchObject({
      type: 'over_limit',
      message: `this can cost ${worst} credits, but the limit is ${worst - 1}; nothing was bought`,
      charged: 'no',
      operation_id: null,
    });
    expect(service.spent()).toBe(spent);
    expect(await run([...args, '--max-credits', String(worst)], { env })).toMatchObject({ code: 0 });
    await service.quiet();
    expect(service.spent() - spent).toBeLessThanOrEqual(worst);
    const { credits_before, credits_after } = await record(env);
    expect(credits_before).toBe(100_000_000 - spent);
    // A task that was only created still has its worst case reserved.
    if (args[1] !== 'create') expect(credits_after).toBe(100_000_000 - service.spent());
  });

  it.each(plain)('%j needs no price', async (args, worst) => {
    const env = atLedger();
    const spent = service.spent();
    expect((await run([...args, '--max-credits', String(worst - 1)], { env })).code).toBe(5);
    expect(service.spent()).toBe(spent);
    expect((await run([...args, '--max-credits', String(worst)], { env })).code).toBe(0);
    expect(service.spent() - spent).toBe(worst);
  });

  it('without it the balance is not asked for, and nothing is known of it later', async () => {
    const env = atLedger();
    await run([...company, '1'], { env });
    expect(await record(env)).toMatchObject({ credits_before: null, credits_after: null });
  });

  it('what goes on with an earlier purchase buys nothing, and is not refused', async () => {
    const slow = await startLedgerService({ task_start_ms: 200_000 });
    const env = atLedger(slow);
    const file = join(temporaryFolder(), 'leads.csv');
    const args = ['task', 'run', 'company', 'fintech', '--limit', '5', '--wait-timeout', '0.3', '-o', file];
    expect((await run([...args, '--max-credits', '5'], { env })).code).toBe(75);
    const again = { code: 75, stderr: expect.stringContaining('You are not charged again') };
    expect(await run([...args, '--max-credits', '1'], { env })).toMatchObject(again);
    expect((await slow.close()).size).toBe(1);
  });

  it('a purchase that the balance does not cover is refused here, and never reaches the books', async () => {
    const poor = await startLedgerService({ opening_credits: 4 });
    const args = [...company, '5', '--max-credits', '100', '--json-errors'];
    const { code, stderr } = await run(args, { env: atLedger(poor) });
    expect(code).toBe(5);
    expect(JSON.parse(stderr).error).toMatchObject({
      type: 'insufficient_credits',
      status: null,
      message: 'this can cost 5 credits, but 4 are available; nothing was bought',
      charged: 'no',
    });
    expect(await poor.close()).toEqual(new Map());
  });
});

const balance = jsonAnswer({ object: 'credit_balance', available_credits: 50 });
const contact = jsonAnswer({
  object: 'contact_search_result',
  request: { contact_type: 'email', objective: 'x' },
  result: { content: 'a@b.example', reference: null },
  created_at: '2026-01-31T09:00:00Z',
});
const lookup = ['contact', 'email', 'x', '--json-errors'];
const limited = [...lookup, '--max-credits', '5'];
/** What is waited for in vain is not waited for long. */
const toWait = (ms: number): number => (ms > 1000 ? 50 : ms);

/** It closes the connection after each answer, without a word: a purchase is not to be sent into that. */
const answering: Answer = (socket, { path }) => {
  socket.end(path.endsWith('balance') ? balance : contact);
};

/** What a run came to, and the paths that were asked for, in order. */
async function asked(args: readonly string[], settings: object = prices, answer = answering) {
  const server = await startFaultServer(answer);
  const env = { ...withPrices(settings), ...pointedAt(server.url) };
  const { code, stderr, stdout } = await runInProcess(args, { env, toWait });
  const paths = server.requests.map(({ path }) => path.replace('/v1/', ''));
  return { code, env, paths, stdout, stderr, error: stderr.startsWith('{') && JSON.parse(stderr).error };
}

describe('the balance of --max-credits', () => {
  it.each([
    ['before and after, and nowhere else', limited, ['credit/balance', 'contact-search', 'credit/balance']],
    ['once where no record is kept', [...limited, '--no-history'], ['credit/balance', 'contact-search']],
  ])('is asked for %s', async (_, args, paths) => {
    expect(await asked(args)).toMatchObject({ code: 0, paths });
  });

  it.each(priced)(
    '%j without a price is refused with the name of the setting, and nothing is sent',
    async (args, setting) => {
      expect(await asked([...args, '--max-credits', '1000000', '--json-errors'], {})).toMatchObject({
        code: 5,
        paths: [],
        error: {
          type: 'price_unknown',
          message: `nothing was bought: leadpipe can't tell what this costs, because the setting ${setting} is not set`,
          hint: `The service does not show its prices. Tell leadpipe yours: leadpipe config set ${setting} <credits>`,
        },
      });
    },
  );

  it.each([
    ['the key is not valid', errorAnswer('401 Unauthorized', 'authentication_error', 'no'), 4],
    ['the service fails', errorAnswer('500 Error', 'internal_error', 'no'), 75],
    ['it is no balance', jsonAnswer({ available_credits: 'many' }), 76],
  ])('where %s, nothing is bought', async (_, answer, exit) => {
    const { code, paths, error } = await asked(limited, prices, (socket) => void socket.end(answer));
    expect(code).toBe(exit);
    expect([...new Set(paths)]).toEqual(['credit/balance']);
    expect(error).toMatchObject({ charged: 'no', operation_id: null });
  });

  it.each([
    ['does not come', () => {}],
    ['is none', (socket) => void socket.end(contact)],
  ] satisfies [string, Answer][])(
    'afterwards, where it %s, is not known, and what was bought is there',
    async (_, afterwards) => {
      let looks = 0;
      const { code, stdout, env } = await asked(limited, prices, (socket, request) => {
        const answer = request.path.endsWith('balance') && ++looks > 1 ? afterwards : answering;
        return answer(socket, request);
      });
      expect(code).toBe(0);
      expect(stdout).toContain('a@b.example');
      expect(await record(env)).toMatchObject({ credits_before: 50, credits_after: null });
    },
  );

  it('is in the history of a purchase that failed', async () => {
    const failure = errorAnswer('500 Error', 'internal_error', 'no');
    const { code, env } = await asked(
      limited,
      prices,
      (socket, { path }) => void socket.end(path.endsWith('balance') ? balance : failure),
    );
    expect(code).toBe(8);
    expect(await record(env)).toMatchObject({ charged: 'maybe', credits_before: 50, credits_after: 50 });
  });

  it.each(['-1', '1.5', 'all', ''])('%j is no limit', async (given) => {
    expect(await asked([...lookup, `--max-credits=${given}`])).toMatchObject({ code: 2, paths: [] });
  });
});

describe('--dry-run', () => {
  it.each(rows)('%j says what it costs at most, and the balance', async (args, most, setting) => {
    const { code, paths, stdout } = await asked([...args, '--dry-run']);
    expect({ code, paths }).toEqual({ code: 0, paths: ['credit/balance'] });
    const shown = JSON.parse(stdout);
    expect(shown).toMatchObject({ worst_case: worstAt(most, setting), available_credits: 50 });
    expect(shown).not.toHaveProperty('needs_setting');
  });

  it.each(priced)('%j names the setting that is missing', async (args, setting) => {
    const { code, stdout } = await asked([...args, '--dry-run'], {});
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({ worst_case: null, needs_setting: setting });
  });

  it.each([
    ['4', 5, 'over_limit'],
    ['5', 0, undefined],
  ])('with --max-credits %s it ends as the purchase would: %i', async (limit, exit, type) => {
    const { code, stdout, stderr, error } = await asked([...lookup, '--dry-run', '--max-credits', limit]);
    expect(code).toBe(exit);
    expect(JSON.parse(stdout)).toMatchObject({ worst_case: 5, available_credits: 50 });
    expect(stderr === '' ? undefined : error.type).toBe(type);
  });

  it('goes without a service: the balance is not known then', async () => {
    const { code, stdout } = await asked([...limited, '--dry-run'], prices, () => {});
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({ worst_case: 5, available_credits: null });
  });

  it('says on a terminal which command stores a price that is missing', async () => {
    const server = await startFaultServer(answering);
    const env = { ...withPrices({}), ...pointedAt(server.url) };
    const { stderr } = await runInProcess('research x --dry-run', { env, stderrIsTerminal: true });
    expect(stderr.replace(/\s+/g, ' ')).toContain('leadpipe config set price.research <credits>');
  });
});

describe('the setting max_credits', () => {
  it.each(rows.slice(0, 2))(
    'is the limit of %j, and the refusal names the setting',
    async (args, most, setting) => {
      const worst = worstAt(most, setting);
      const settings = { ...prices, max_credits: worst - 1 };
      const { code, paths, error } = await asked([...args, '--json-errors'], settings);
      expect({ code, paths }).toEqual({ code: 5, paths: [] });
      expect(error).toMatchObject({
        type: 'over_limit',
        message: `this can cost ${worst} credits, but the limit is ${worst - 1} (setting max_credits); nothing was bought`,
        charged: 'no',
      });
      expect(error.hint).toContain('leadpipe config set max_credits <credits>');
      expect(error.hint).not.toContain('--max-credits');
    },
  );

  it('gives way to --max-credits, above it and below', async () => {
    expect((await asked(limited, { ...prices, max_credits: 1 })).code).toBe(0);
    const refused = await asked([...lookup, '--max-credits', '4'], { ...prices, max_credits: 100 });
    expect(refused.code).toBe(5);
    expect(refused.error.message).toContain('but the limit is 4;');
  });

  it('holds for lists, as one limit for all rows, and is said where the list is left', async () => {
    const file = join(temporaryFolder(), 'rows.csv');
    writeFileSync(file, 'objective\na\nb\nc\n');
    const settings = { ...prices, max_credits: 14 };
    const list = ['contact', 'email', '--input', file, '--json-errors'];
    const { code, error, paths } = await asked(list, settings);
    expect({ code, posts: paths.includes('contact-search') }).toEqual({ code: 5, posts: false });
    expect(error.message).toContain('(setting max_credits)');
    expect((await asked([...list, '--max-credits', '15'], settings)).code).toBe(0);
  });

  it('holds for conformance, and for what is tried with --local it does not', async () => {
    const settings = { ...prices, max_credits: 1 };
    const checked = await asked(['conformance', '--only', 'search', '--json-errors'], settings);
    expect(checked).toMatchObject({ code: 5, paths: [] });
    const local = await run([...company, '5', '--local', '-q'], { env: withPrices(settings) });
    expect({ code: local.code, stderr: local.stderr }).toEqual({ code: 0, stderr: '' });
  });
});

describe('the balance after', () => {
  it('does not hold up the end of a run', async () => {
    let looks = 0;
    const server = await startFaultServer((socket, request) => {
      // The second one never comes.
      if (request.path.endsWith('balance') && ++looks > 1) return;
      answering(socket, request);
    });
    const started = performance.now();
    const { code } = await runInProcess(limited, { env: { ...withPrices(), ...pointedAt(server.url) } });
    expect({ code, looks }).toEqual({ code: 0, looks: 2 });
    expect(performance.now() - started).toBeLessThan(2900);
  });
});

describe('what is local', () => {
  it('costs nothing in the closing line, a dry run and the history', async () => {
    const env = withPrices();
    const search = [...company, '3', '--local'];
    expect((await run(search, { env })).stderr).toContain('cost nothing');
    const { stdout } = await run([...search, '--dry-run'], { env });
    expect(JSON.parse(stdout)).toMatchObject({ worst_case: 0 });
    expect(await record(env)).toMatchObject({ service: 'local', charged: 'no', credits_at_most: 0 });
    const [totals] = JSON.parse((await run('history totals --local -f json', { env })).stdout);
    expect(totals).toMatchObject({ purchases: 1, leads: 3, charged: 0, credits_at_most: 0, unsettled: 0 });
  });
});
