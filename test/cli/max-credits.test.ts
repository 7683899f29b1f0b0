import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { runInProcess } from '../helpers/fake-context.ts';
import {
  type Answer,
  errorAnswer,
  type FaultServer,
  startFaultServer,
  wholeAnswer,
} from '../helpers/fault-server.ts';
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

describe('--max-credits against a service that keeps a ledger', () => {
  let service: LedgerService;
  beforeAll(async () => {
    service = await startLedgerService({});
  });

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
    const bought = await run([...args, '--max-credits', String(worst)], { env });
    expect(bought.code).toBe(0);
    await service.quiet();
    expect(service.spent() - spent).toBeLessThanOrEqual(worst);
    const [record] = JSON.parse((await run(['history', '-f', 'json'], { env })).stdout);
    expect(record.credits_before).toBe(100_000_000 - spent);
    // A task that was only created still has its worst case reserved.
    if (args[1] !== 'create') expect(record.credits_after).toBe(100_000_000 - service.spent());
  });

  it.each(plain)('%j needs no price', async (args, worst) => {
    const env = { ...bareEnvironment(temporaryFolder()), ...pointedAt(service.url, ledgerKey) };
    const spent = service.spent();
    expect((await run([...args, '--max-credits', String(worst - 1)], { env })).code).toBe(5);
    expect(service.spent()).toBe(spent);
    expect((await run([...args, '--max-credits', String(worst)], { env })).code).toBe(0);
    expect(service.spent() - spent).toBe(worst);
  });

  it('without it the balance is not asked for, and nothing is known of it later', async () => {
    const env = { ...bareEnvironment(temporaryFolder()), ...pointedAt(service.url, ledgerKey) };
    await run(['search', 'company', 'fintech', '--limit', '1'], { env });
    const [record] = JSON.parse((await run(['history', '-f', 'json'], { env })).stdout);
    expect(record).toMatchObject({ credits_before: null, credits_after: null });
  });

  it('what goes on with an earlier purchase buys nothing, and is not refused', async () => {
    const slow = await startLedgerService({ task_start_ms: 200_000 });
    const env = { ...bareEnvironment(temporaryFolder()), ...pointedAt(slow.url, ledgerKey) };
    const file = join(temporaryFolder(), 'leads.csv');
    const args = ['task', 'run', 'company', 'fintech', '--limit', '5', '--wait-timeout', '0.3', '-o', file];
    expect((await run([...args, '--max-credits', '5'], { env })).code).toBe(75);
    const again = await run([...args, '--max-credits', '1'], { env });
    expect(again.stderr).toContain('You are not charged again');
    expect(again.code).toBe(75);
    expect((await slow.close()).size).toBe(1);
  });

  it('a purchase that the balance does not cover is refused here, and never reaches the books', async () => {
    const poor = await startLedgerService({ opening_credits: 4 });
    const env = { ...bareEnvironment(temporaryFolder()), ...pointedAt(poor.url, ledgerKey) };
    const args = ['search', 'company', 'fintech', '--limit', '5', '--max-credits', '100', '--json-errors'];
    const { code, stderr } = await run(args, { env });
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

let server: FaultServer | undefined;

const ok = (text: string): string => wholeAnswer('200 OK', 'application/json', text);
const balance = ok('{"object":"credit_balance","available_credits":50}');
const contact = ok(
  '{"object":"contact_search_result","request":{"contact_type":"email","objective":"x"},"result":{"content":"a@b.example","reference":null},"created_at":"2026-01-31T09:00:00Z"}',
);
const lookup = ['contact', 'email', 'x', '--json-errors'];
/** What is waited for in vain is not waited for long. */
const toWait = (ms: number): number => (ms > 1000 ? 50 : ms);

/** The paths that were asked for, in order. */
async function asked(
  answer: Answer,
  args: readonly string[],
  env = withPrices(),
): Promise<{ paths: string[]; code: number | null; stdout: string; stderr: string; env: typeof env }> {
  server = await startFaultServer(answer);
  const pointed = { ...env, ...pointedAt(server.url) };
  const result = await runInProcess(args, { env: pointed, toWait });
  return { ...result, env: pointed, paths: server.requests.map(({ path }) => path.replace('/v1/', '')) };
}

/** It closes the connection after each answer, without a word: a purchase is not to be sent into that. */
const answering: Answer = (socket, { path }) => {
  socket.end(path.endsWith('balance') ? balance : contact);
};

describe('the balance of --max-credits', () => {
  it('is asked for before and after, and nowhere else', async () => {
    const { code, paths } = await asked(answering, [...lookup, '--max-credits', '5']);
    expect({ code, paths }).toEqual({
      code: 0,
      paths: ['credit/balance', 'contact-search', 'credit/balance'],
    });
  });

  it('is asked for once where no record is kept', async () => {
    const { paths } = await asked(answering, [...lookup, '--max-credits', '5', '--no-history']);
    expect(paths).toEqual(['credit/balance', 'contact-search']);
  });

  it.each(priced)(
    '%j without a price is refused with the name of the setting, and nothing is sent',
    async (args, setting) => {
      const more = ['--max-credits', '1000000', '--json-errors'];
      const { code, paths, stderr } = await asked(answering, [...args, ...more], withPrices({}));
      expect({ code, paths }).toEqual({ code: 5, paths: [] });
      expect(JSON.parse(stderr).error).toMatchObject({
        type: 'price_unknown',
        message: `nothing was bought: leadpipe can't tell what this costs, because the setting ${setting} is not set`,
        hint: `The service does not show its prices. Tell leadpipe yours: leadpipe config set ${setting} <credits>`,
      });
    },
  );

  it.each([
    ['the key is not valid', errorAnswer('401 Unauthorized', 'authentication_error', 'no'), 4],
    ['the service fails', errorAnswer('500 Error', 'internal_error', 'no'), 75],
    ['it is no balance', ok('{"available_credits":"many"}'), 76],
  ])('where %s, nothing is bought', async (_, answer, exit) => {
    const { code, paths, stderr } = await asked(
      (socket) => void socket.end(answer),
      [...lookup, '--max-credits', '5'],
    );
    expect(code).toBe(exit);
    expect(new Set(paths)).toEqual(new Set(['credit/balance']));
    expect(JSON.parse(stderr).error).toMatchObject({ charged: 'no', operation_id: null });
  });

  it.each([
    ['does not come', () => {}],
    ['is none', (socket) => void socket.end(contact)],
  ] satisfies [string, Answer][])(
    'afterwards, where it %s, is not known, and what was bought is there',
    async (_, afterwards) => {
      let looks = 0;
      const { code, stdout, env } = await asked(
        (socket, request) => {
          const answer = request.path.endsWith('balance') && ++looks > 1 ? afterwards : answering;
          return answer(socket, request);
        },
        [...lookup, '--max-credits', '5'],
      );
      expect(code).toBe(0);
      expect(stdout).toContain('a@b.example');
      const history = await runInProcess(['history', '-f', 'json'], { env });
      expect(JSON.parse(history.stdout)).toMatchObject([{ credits_before: 50, credits_after: null }]);
    },
  );

  it('is in the history of a purchase that failed', async () => {
    const { code, env } = await asked(
      (socket, { path }) =>
        void socket.end(
          path.endsWith('balance') ? balance : errorAnswer('500 Error', 'internal_error', 'no'),
        ),
      [...lookup, '--max-credits', '5'],
    );
    expect(code).toBe(8);
    const { stdout } = await runInProcess(['history', '-f', 'json'], { env });
    expect(JSON.parse(stdout)).toMatchObject([{ charged: 'maybe', credits_before: 50, credits_after: 50 }]);
  });

  it.each(['-1', '1.5', 'all', ''])('%j is no limit', async (given) => {
    const { code, paths } = await asked(answering, [...lookup, `--max-credits=${given}`]);
    expect({ code, paths }).toEqual({ code: 2, paths: [] });
  });
});

describe('--dry-run', () => {
  it.each(rows)('%j says what it costs at most, and the balance', async (args, most, setting) => {
    const { code, paths, stdout } = await asked(answering, [...args, '--dry-run']);
    expect({ code, paths }).toEqual({ code: 0, paths: ['credit/balance'] });
    const shown = JSON.parse(stdout);
    expect(shown).toMatchObject({ worst_case: worstAt(most, setting), available_credits: 50 });
    expect(shown).not.toHaveProperty('needs_setting');
  });

  it.each(priced)('%j names the setting that is missing', async (args, setting) => {
    const { code, stdout } = await asked(answering, [...args, '--dry-run'], withPrices({}));
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({ worst_case: null, needs_setting: setting });
  });

  it.each([
    ['4', 5, 'over_limit'],
    ['5', 0, undefined],
  ])('with --max-credits %s it ends as the purchase would: %i', async (limit, exit, type) => {
    const { code, stdout, stderr } = await asked(answering, [...lookup, '--dry-run', '--max-credits', limit]);
    expect(code).toBe(exit);
    expect(JSON.parse(stdout)).toMatchObject({ worst_case: 5, available_credits: 50 });
    expect(stderr === '' ? undefined : JSON.parse(stderr).error.type).toBe(type);
  });

  it('goes without a service: the balance is not known then', async () => {
    const { code, stdout } = await asked(() => {}, [...lookup, '--dry-run', '--max-credits', '5']);
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({ worst_case: 5, available_credits: null });
  });
});

describe('the setting max_credits', () => {
  it.each(rows.slice(0, 2))(
    'is the limit of %j, and the refusal names the setting',
    async (args, most, setting) => {
      const worst = worstAt(most, setting);
      const env = withPrices({ ...prices, max_credits: worst - 1 });
      const { code, paths, stderr } = await asked(answering, [...args, '--json-errors'], env);
      expect({ code, paths }).toEqual({ code: 5, paths: [] });
      const { error } = JSON.parse(stderr);
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
    const env = withPrices({ ...prices, max_credits: 1 });
    expect((await asked(answering, [...lookup, '--max-credits', '5'], env)).code).toBe(0);
    await server?.close();
    const generous = withPrices({ ...prices, max_credits: 100 });
    const refused = await asked(answering, [...lookup, '--max-credits', '4'], generous);
    expect(refused.code).toBe(5);
    expect(JSON.parse(refused.stderr).error.message).toContain('but the limit is 4;');
  });

  it('holds for lists, as one limit for all rows, and is said where the list is left', async () => {
    const file = join(temporaryFolder(), 'rows.csv');
    writeFileSync(file, 'objective\na\nb\nc\n');
    const env = withPrices({ ...prices, max_credits: 14 });
    const list = ['contact', 'email', '--input', file, '--json-errors'];
    const refused = await asked(answering, list, env);
    expect({ code: refused.code, posts: refused.paths.includes('contact-search') }).toEqual({
      code: 5,
      posts: false,
    });
    expect(JSON.parse(refused.stderr).error.message).toContain('(setting max_credits)');
    await server?.close();
    expect((await asked(answering, [...list, '--max-credits', '15'], env)).code).toBe(0);
  });

  it('holds for conformance, and for what is tried with --local it does not', async () => {
    const env = withPrices({ ...prices, max_credits: 1 });
    const checked = await asked(answering, ['conformance', '--only', 'search', '--json-errors'], env);
    expect(checked.code).toBe(5);
    expect(checked.paths).toEqual([]);
    const local = await run(['search', 'company', 'fintech', '--limit', '5', '--local', '-q'], { env });
    expect({ code: local.code, stderr: local.stderr }).toEqual({ code: 0, stderr: '' });
  });
});

describe('the balance after', () => {
  it('does not hold up the end of a run', async () => {
    let looks = 0;
    server = await startFaultServer((socket, request) => {
      // The second one never comes.
      if (request.path.endsWith('balance') && ++looks > 1) return;
      answering(socket, request);
    });
    const started = performance.now();
    const { code } = await runInProcess([...lookup, '--max-credits', '5'], {
      env: { ...withPrices(), ...pointedAt(server.url) },
    });
    expect(code).toBe(0);
    expect(looks).toBe(2);
    expect(performance.now() - started).toBeLessThan(2900);
  });
});

describe('what is local', () => {
  it('costs nothing in the closing line, a dry run and the history', async () => {
    const env = withPrices();
    const search = ['search', 'company', 'fintech', '--limit', '3', '--local'];
    expect((await run(search, { env })).stderr).toContain('cost nothing');
    const { stdout } = await run([...search, '--dry-run'], { env });
    expect(JSON.parse(stdout)).toMatchObject({ worst_case: 0 });
    const [record] = JSON.parse((await run(['history', '-f', 'json'], { env })).stdout);
    expect(record).toMatchObject({ service: 'local', charged: 'no', credits_at_most: 0 });
    const [totals] = JSON.parse((await run(['history', 'totals', '--local', '-f', 'json'], { env })).stdout);
    expect(totals).toMatchObject({ purchases: 1, leads: 3, charged: 0, credits_at_most: 0, unsettled: 0 });
  });
});

describe('a dry run on a terminal', () => {
  it('says which command stores a price that is missing', async () => {
    server = await startFaultServer(answering);
    const { stderr } = await runInProcess(['research', 'x', '--dry-run'], {
      env: { ...withPrices({}), ...pointedAt(server.url) },
      stderrIsTerminal: true,
    });
    expect(stderr.replace(/\s+/g, ' ')).toContain('leadpipe config set price.research <credits>');
  });
});
