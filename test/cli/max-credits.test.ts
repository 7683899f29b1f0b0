import { beforeAll, describe, expect, it } from 'vitest';
import { answerKindRows } from '../helpers/answer-kinds.ts';
import { contactResult, creditBalance } from '../helpers/bodies.ts';
import { ending, silently } from '../helpers/ending.ts';
import {
  type Answer,
  cutting,
  errorAnswer,
  jsonAnswer,
  searchFrames,
  wholeStream,
} from '../helpers/fault-server.ts';
import { type LedgerService, ledgerKey, startLedgerService } from '../helpers/ledger.ts';
import { createMachine, type Machine, machineWith } from '../helpers/machine.ts';
import { writeConfig, writeSettings } from '../helpers/settings.ts';
import { readOperations } from '../helpers/stored.ts';

/** The prices of the local service, as a user would set them. */
const prices = {
  'price.search': 2,
  'price.task': 2,
  'price.contact.phone': 10,
  ...Object.fromEntries(answerKindRows.map(({ setting, credits }) => [setting, credits])),
};

/** A machine whose profile has these settings. */
function priced<M extends Machine>(machine: M, settings: object = prices): M {
  writeSettings(machine.env, settings);
  return machine;
}

type Row = [line: string, worst: number, setting?: `price.${string}`];
const rows: readonly Row[] = [
  ['search company fintech --limit 5', 5],
  ['search company fintech --limit 5 --enrich-fields headcount', 10, 'price.search'],
  ['task run company fintech --limit 5 --poll-interval 0.05', 5],
  ['task create company fintech --limit 4 --enable-web-search', 8, 'price.task'],
  ['contact phone "CTO of Nordlicht Pay"', 10, 'price.contact.phone'],
  ...answerKindRows.map(({ line, credits, atMost = credits, setting }): Row => [line, atMost, setting]),
];
/** Only the price of a plain search is known without settings. */
const plain = rows.filter(([, , setting]) => setting === undefined);
const withPrice = rows.flatMap(([line, , setting]) =>
  setting === undefined ? [] : [[line, setting] as const],
);

/** A plain search or task costs one credit per lead. Unknown prices count as the highest. */
function worstAt(worst: number, setting: string | undefined): number {
  return setting === undefined ? 2 * worst : worst;
}

describe('--max-credits against a service that keeps a ledger', () => {
  let service: LedgerService;
  beforeAll(async () => {
    service = await startLedgerService({});
  });
  it.each(rows)('%s is refused below its worst case, and bought at it', async (line, most, setting) => {
    const at = priced(createMachine(service.url, ledgerKey));
    const worst = worstAt(most, setting);
    const spent = service.spent();
    const refused = await at.run(`${line} --max-credits ${worst - 1} --json-errors`);
    expect(refused).toMatchObject({ code: 5, stdout: '' });
    expect(JSON.parse(refused.stderr).error).toMatchObject({
      type: 'over_limit',
      message: `this can cost ${worst} credits, but the limit is ${worst - 1}; nothing was bought`,
      charged: 'no',
      operation_id: null,
    });
    expect(service.spent()).toBe(spent);
    expect(await at.run(`${line} --max-credits ${worst}`)).toMatchObject({ code: 0 });
    await service.quiet();
    expect(service.spent() - spent).toBeLessThanOrEqual(worst);
    const after = 100_000_000 - service.spent();
    // A task that was only created still has its worst case reserved.
    const credits_after = line.startsWith('task create') ? expect.anything() : after;
    expect(await at.history()).toMatchObject([{ credits_before: 100_000_000 - spent, credits_after }]);
  });

  it.each(plain)('%s needs no price', async (line, worst) => {
    const at = createMachine(service.url, ledgerKey);
    const spent = service.spent();
    expect((await at.run(`${line} --max-credits ${worst - 1}`)).code).toBe(5);
    expect(service.spent()).toBe(spent);
    expect((await at.run(`${line} --max-credits ${worst}`)).code).toBe(0);
    expect(service.spent() - spent).toBe(worst);
  });

  it('without it the balance is not read, and not recorded', async () => {
    const at = createMachine(service.url, ledgerKey);
    await at.run('search company fintech --limit 1');
    expect(await at.history()).toMatchObject([{ credits_before: null, credits_after: null }]);
  });

  it('resuming an earlier purchase for free is not refused', async () => {
    const slow = await startLedgerService({ task_start_ms: 200_000 });
    const at = createMachine(slow.url, ledgerKey);
    const task = 'task run company fintech --limit 5 --wait-timeout 0.3 -o leads.csv --max-credits';
    expect((await at.run(`${task} 5`)).code).toBe(75);
    expect(await at.run(`${task} 1`)).toMatchObject(ending(75, 'You are not charged again for what arrived'));
    expect((await slow.close()).size).toBe(1);
  });

  it('a purchase above the balance is refused here, and never reaches the ledger', async () => {
    const poor = await startLedgerService({ opening_credits: 4 });
    const at = createMachine(poor.url, ledgerKey);
    const { code, stderr } = await at.run('search company fintech --limit 5 --max-credits 100 --json-errors');
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

const balance = jsonAnswer(creditBalance(50));
const contact = jsonAnswer(contactResult('email', 'x', 'a@b.example'));
const lookup = 'contact email x --json-errors';
const limited = `${lookup} --max-credits 5`;
/** Shortens long waits, for answers that never come. */
const toWait = (ms: number): number => (ms > 1000 ? 50 : ms);

/** Closes the connection after each answer, unannounced: no purchase may be sent over it. */
const answering: Answer = (socket, { path }) => {
  socket.end(path.endsWith('balance') ? balance : contact);
};
/** The second balance is told in another way. */
function afterwards(then: Answer): Answer {
  let looks = 0;
  return (socket, request) =>
    (request.path.endsWith('balance') && ++looks > 1 ? then : answering)(socket, request);
}

/** What a run came to, and the paths that were asked for, in order. */
async function asked(line: string, settings: object = prices, answer = answering) {
  const at = priced(await machineWith(answer), settings);
  at.write('rows.csv', 'objective\na\nb\nc\n');
  const { stderr, ...end } = await at.leadpipe(line, { toWait });
  const paths = at.requests.map(({ path }) => path.replace('/v1/', ''));
  return { ...end, at, paths, stderr, error: stderr.startsWith('{') && JSON.parse(stderr).error };
}

describe('the balance of --max-credits', () => {
  it.each([
    ['before and after, and nowhere else', limited, ['credit/balance', 'contact-search', 'credit/balance']],
    ['once where no record is kept', `${limited} --no-history`, ['credit/balance', 'contact-search']],
  ])('is asked for %s', async (_, line, paths) => {
    expect(await asked(line)).toMatchObject({ code: 0, paths });
  });

  it.each(withPrice)(
    '%s without a price is refused with the name of the setting, and nothing is sent',
    async (line, setting) => {
      expect(await asked(`${line} --max-credits 1000000 --json-errors`, {})).toMatchObject({
        code: 5,
        paths: [],
        error: {
          type: 'price_unknown',
          message: `nothing was bought: leadpipe can't tell what this costs, because the setting ${setting} is not set`,
          hint: `The service does not show its prices. Set yours: leadpipe config set ${setting} <credits>`,
        },
      });
    },
  );

  it.each(['--max-credits 5', 'max_credits'])(
    'without a price, a list from standard input is refused with the name of the setting: %s',
    async (limit) => {
      const at = await machineWith(answering);
      if (limit === 'max_credits') writeSettings(at.env, { max_credits: 5 });
      const more = limit === 'max_credits' ? '' : limit;
      for (const [line, setting] of [
        ['contact email', 'price.contact.email'],
        ['enrich --field city', 'price.enrich'],
        ['research', 'price.research'],
        ['extract x_followers', 'price.extract'],
      ] as const) {
        const refused = await at.leadpipe(`${line} --input - -o a.csv ${more}`, { stdin: 'Ada\nBo\n' });
        expect(refused).toMatchObject(ending(5, `because the setting ${setting} is not set`));
      }
      expect(at.requests.filter(({ method }) => method === 'POST')).toEqual([]);
    },
  );

  it('without a price is refused with the profile in which it is to be set', async () => {
    const at = await machineWith(answering);
    writeConfig(at.env, '{"profiles":{"work":{}}}');
    const hint = 'leadpipe config set price.contact.email <credits> --profile work\n';
    expect(await at.leadpipe('contact email x --max-credits 5 --profile work')).toMatchObject(
      ending(5, hint),
    );
    const preview = await at.leadpipe('contact email x --dry-run --profile work', { stderrIsTerminal: true });
    expect(preview.stderr.replace(/\s+/g, ' ')).toContain(hint.trimEnd());
    for (const setting of ['max_credits', 'max_credits_per_day']) {
      await at.leadpipe(`config set ${setting} 1 --profile work`);
      expect(await at.leadpipe('search company x --limit 5 --profile work')).toMatchObject(
        ending(5, `leadpipe config set ${setting} <credits> --profile work`),
      );
      await at.leadpipe(`config unset ${setting} --profile work`);
    }
    const bought = await at.leadpipe('contact email x --profile work');
    expect(bought.stderr).toContain('leadpipe config set price.contact.email 5 --profile work\n');
  });

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

  it.each<[string, Answer]>([
    ['does not come', () => {}],
    ['is none', (socket) => void socket.end(contact)],
  ])('afterwards, where it %s, is not known, and what was bought is there', async (_, then) => {
    const { code, stdout, at } = await asked(limited, prices, afterwards(then));
    expect({ code, stdout }).toEqual({ code: 0, stdout: expect.stringContaining('a@b.example') });
    expect(await at.history()).toMatchObject([{ credits_before: 50, credits_after: null }]);
  });

  it.each(['search company x --limit 1 -o a.jsonl', 'contact email --input rows.csv -o a.jsonl'])(
    'afterwards is asked for before everything is in its place: %s',
    async (line) => {
      const leads = wholeStream(searchFrames([['{"name":"A"}']]));
      const { at } = await asked(`${line} --max-credits 20`, prices, (socket, request) =>
        request.path.endsWith('search') && request.path !== '/v1/contact-search'
          ? void socket.end(leads)
          : answering(socket, request),
      );
      const [operation] = (await readOperations(at.state)).operations;
      const types = operation?.entries.map(({ type }) => type);
      expect(types?.slice(types.indexOf('balance'))).toEqual(['balance', 'placed', 'terminal']);
    },
  );

  it('afterwards does not hold up the end of a run', async () => {
    // The second one never comes: a free request waits 15 s for its headers.
    const at = priced(await machineWith(afterwards(() => {})));
    const started = performance.now();
    expect((await at.leadpipe(limited)).code).toBe(0);
    expect(at.requests).toHaveLength(3);
    expect(performance.now() - started).toBeLessThan(10_000);
  });

  it('is in the history of a purchase that failed', async () => {
    const failure = errorAnswer('500 Error', 'internal_error', 'no');
    const { code, at } = await asked(
      limited,
      prices,
      (socket, { path }) => void socket.end(path.endsWith('balance') ? balance : failure),
    );
    expect(code).toBe(8);
    const record = { charged: 'maybe', credits_before: 50, credits_after: 50 };
    expect(await at.history()).toMatchObject([record]);
  });

  it.each([
    ['a purchase', 'contact email x', 50],
    ['a list', 'contact email --input rows.csv --shard 1/2', 25],
    ['a preview', 'contact email x --dry-run', 50],
    ['a preview of a list', 'contact email --input rows.csv --shard 1/2 --dry-run', 25],
  ])('may be exactly what %s can cost, and no less', async (_, line, price) => {
    const limit = '--max-credits 100 --json-errors';
    expect(await asked(`${line} ${limit}`, { 'price.contact.email': price })).toMatchObject({ code: 0 });
    const { code, error, paths } = await asked(`${line} ${limit}`, { 'price.contact.email': price + 0.5 });
    expect({ code, bought: paths.includes('contact-search') }).toEqual({ code: 5, bought: false });
    expect(error).toMatchObject({ type: 'insufficient_credits', charged: 'no' });
  });

  it.each(['-1', '1.5', 'all', ''])('%j is no limit', async (given) => {
    expect(await asked(`${lookup} --max-credits=${given}`)).toMatchObject({ code: 2, paths: [] });
  });
});

describe('--dry-run', () => {
  it.each(rows)('%s says what it costs at most, and the balance', async (line, most, setting) => {
    const { code, paths, stdout } = await asked(`${line} --dry-run`);
    expect({ code, paths }).toEqual({ code: 0, paths: ['credit/balance'] });
    const shown = JSON.parse(stdout);
    expect(shown).toMatchObject({ worst_case: worstAt(most, setting), available_credits: 50 });
    expect(shown).not.toHaveProperty('needs_setting');
  });

  it.each(withPrice)('%s names the setting that is missing', async (line, setting) => {
    const { code, stdout } = await asked(`${line} --dry-run`, {});
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({ worst_case: null, needs_setting: setting });
  });

  it.each([
    ['4', 5, 'over_limit'],
    ['5', 0, undefined],
  ])('with --max-credits %s it ends as the purchase would: %i', async (limit, exit, type) => {
    const { code, stdout, stderr, error } = await asked(`${lookup} --dry-run --max-credits ${limit}`);
    expect(code).toBe(exit);
    expect(JSON.parse(stdout)).toMatchObject({ worst_case: 5, available_credits: 50 });
    expect(stderr === '' ? undefined : error.type).toBe(type);
  });

  it('works without a service; the balance is then unknown', async () => {
    const { code, stdout } = await asked(`${limited} --dry-run`, prices, () => {});
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({ worst_case: 5, available_credits: null });
  });

  it('says on a terminal which command stores a price that is missing', async () => {
    const at = await machineWith(answering);
    const { stderr } = await at.leadpipe('research x --dry-run', { stderrIsTerminal: true });
    expect(stderr.replace(/\s+/g, ' ')).toContain('leadpipe config set price.research <credits>');
  });
});

describe('the advice of a refusal is not refused again', () => {
  const items = jsonAnswer({ success: true, data: [{ id: 1 }] });
  const leads = wholeStream(searchFrames([['{"name":"A"}']]));
  const service = (available: number): Answer => {
    return (socket, { path }) => {
      if (path.endsWith('balance')) return void socket.end(jsonAnswer(creditBalance(available)));
      if (path.endsWith('extract')) return void socket.end(items);
      socket.end(path.endsWith('contact-search') ? contact : leads);
    };
  };
  const fields = '--enrich-fields a';
  const list = 'contact email --input rows.csv -o out.csv';

  it.each<[line: string, limit: string, settings: object, advised: string[], available?: number]>([
    ['search company x --limit 50', '--max-credits 7', {}, ['--max-credits 50', '--limit 7']],
    ['search company x', '--max-credits 7', {}, ['--max-credits 100', '--limit 7']],
    [
      `search company x --limit 50 ${fields}`,
      '--max-credits 7',
      { 'price.search': 3 },
      ['--max-credits 150', '--limit 2'],
    ],
    [
      'extract x_followers y',
      '--max-credits 7',
      { 'price.extract': 0.4 },
      ['--max-credits 40', '--limit 17'],
    ],
    [
      'extract x_followers y --limit 9',
      '--max-credits 2',
      { 'price.extract': 0.4 },
      ['--max-credits 4', '--limit 5'],
    ],
    // It has no limit that could be lowered, nor has one look-up, or what not even one lead fits into.
    [
      'extract web2list https://a.example --instruction y',
      '--max-credits 7',
      { 'price.extract': 1 },
      ['--max-credits 100'],
    ],
    ['contact email x', '--max-credits 4', { 'price.contact.email': 5 }, ['--max-credits 5']],
    [`search company x --limit 9 ${fields}`, '--max-credits 2', { 'price.search': 3 }, ['--max-credits 27']],
    ['search company x --limit 9', '--max-credits 0', {}, ['--max-credits 9']],
    // Rows that were bought before count for the limit, too.
    [list, '--max-credits 12', { 'price.contact.email': 5 }, ['--max-credits 15']],
    ['search company x --limit 50', '', { max_credits: 7 }, ['config set max_credits', '--limit 7']],
    [
      'search company x --limit 50',
      '',
      { max_credits_per_day: 7 },
      ['config set max_credits_per_day', '--limit 7'],
    ],
    ['search company x --limit 50', '--max-credits 50', {}, ['--limit 7'], 7],
    ['search company x --limit 50', '--max-credits 50', {}, [], 0],
  ])('%s %s with %j', async (line, limit, settings, advised, available = 1000) => {
    const at = priced(await machineWith(service(available)), settings);
    at.write('rows.csv', 'objective\na\nb\nc\n');
    if (line === list) expect((await at.leadpipe(`${list} --first 1`)).code).toBe(0);
    const { code, stderr } = await at.leadpipe(`${line} ${limit}`);
    const advices = /--max-credits [\d.]*\d|--limit \d+|config set max_\w+/g;
    expect({ code, advised: stderr.match(advices) ?? [] }).toEqual({ code: 5, advised });
    const bought = async (one: string) => {
      const number = Number(one.split(' ').at(-1));
      const given = one.startsWith('--max') ? line : `${line} ${limit}`;
      const option = one.split(' ')[0] ?? '';
      const words = given.includes(`${option} `)
        ? given.replace(RegExp(`${option} \\S+`), one)
        : `${given} ${one}`;
      if (Number.isNaN(number)) writeSettings(at.env, { ...settings, [one.split(' ').at(-1) ?? '']: 100 });
      return (await at.leadpipe(number ? words : line)).code;
    };
    // One less, or one more, would be refused.
    const beyond = advised.find((one) => one.startsWith('--limit'));
    if (beyond) expect(await bought(beyond.replace(/\d+$/, (most) => String(Number(most) + 1)))).toBe(5);
    for (const one of advised.toReversed())
      expect({ one, code: await bought(one) }).toEqual({ one, code: 0 });
  });

  it.each([
    [3, true],
    [0, false],
  ])('by the service, with %i credits left and an unknown price', async (left, isLimit) => {
    const at = await machineWith((socket, request) =>
      request.path.endsWith('balance')
        ? service(left)(socket, request)
        : void socket.write(errorAnswer('402 X', 'insufficient_credits', 'no')),
    );
    const { code, stderr } = await at.leadpipe(`search company x ${fields}`);
    expect({ code, isLimit: stderr.includes('--limit') }).toEqual({ code: 5, isLimit });
  });

  it('for the rest of a search, without advice to ask for fewer', async () => {
    const at = await machineWith((socket, request) =>
      request.path.endsWith('balance') ? service(1000)(socket, request) : cutting(socket, request),
    );
    const line = 'search company x --limit 8 -o x.csv';
    expect((await at.leadpipe(line)).code).toBe(3);
    for (const again of [line, 'resume']) {
      const { code, stderr } = await at.leadpipe(`${again} --max-credits 5`);
      expect({ code, advised: stderr.match(/--(?:max-credits|limit) \d+/g) }).toEqual({
        code: 5,
        advised: ['--max-credits 6'],
      });
    }
    expect((await at.leadpipe('resume --max-credits 6')).stderr).toContain('Buying up to 6 more');
  });
});

describe('the setting max_credits', () => {
  it.each(rows.slice(0, 2))(
    'is the limit of %s, and the refusal names the setting',
    async (line, most, setting) => {
      const worst = worstAt(most, setting);
      const settings = { ...prices, max_credits: worst - 1 };
      const { code, paths, error } = await asked(`${line} --json-errors`, settings);
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
    const refused = await asked(`${lookup} --max-credits 4`, { ...prices, max_credits: 100 });
    expect(refused.code).toBe(5);
    expect(refused.error.message).toContain('but the limit is 4;');
  });

  it('applies to a list as one limit for all rows, and is named if the list stops', async () => {
    const settings = { ...prices, max_credits: 14 };
    const list = 'contact email --input rows.csv --json-errors';
    const { code, error, paths } = await asked(list, settings);
    expect({ code, posts: paths.includes('contact-search') }).toEqual({ code: 5, posts: false });
    expect(error.message).toContain('(setting max_credits)');
    expect((await asked(`${list} --max-credits 15`, settings)).code).toBe(0);
  });

  it('is for a search that is resumed what it is then', async () => {
    const service = await machineWith((socket, request) =>
      (request.path.endsWith('balance') ? answering : cutting)(socket, request),
    );
    const at = priced(service, { max_credits: 8 });
    expect((await at.leadpipe('search company x --limit 8')).code).toBe(3);
    priced(at, { max_credits: 5 });
    expect(await at.leadpipe('resume')).toMatchObject(ending(5, '(setting max_credits)'));
  });

  it('does not apply to --local', async () => {
    const local = priced(createMachine(), { ...prices, max_credits: 1 });
    expect(await local.run('search company fintech --limit 5 --local -q')).toMatchObject(silently);
  });
});

it('--local costs nothing in the closing line, a dry run and the history', async () => {
  const at = priced(createMachine());
  const search = 'search company fintech --limit 3 --local';
  expect((await at.run(search)).stderr).toContain('cost nothing');
  expect(JSON.parse((await at.run(`${search} --dry-run`)).stdout)).toMatchObject({ worst_case: 0 });
  expect(await at.history()).toMatchObject([{ service: 'local', charged: 'no', credits_at_most: 0 }]);
  const [totals] = JSON.parse((await at.run('history totals --local -f json')).stdout);
  expect(totals).toMatchObject({ purchases: 1, leads: 3, credits_at_most: 0, unsettled: 0 });
});
