import { Writable } from 'node:stream';
import { beforeEach, describe, expect, it } from 'vitest';
import { contactResult, creditBalance } from '../helpers/bodies.ts';
import { machineClock } from '../helpers/clock.ts';
import { ending } from '../helpers/ending.ts';
import {
  cutting,
  errorAnswer,
  jsonAnswer,
  searchFrames,
  streamStart,
  wholeAnswer,
  wholeStream,
} from '../helpers/fault-server.ts';
import { createMachine, type Machine, machineWith } from '../helpers/machine.ts';
import { type RowService, startRowService } from '../helpers/row-service.ts';
import { writeSettings } from '../helpers/settings.ts';
import { startAgent } from '../mcp/agent.ts';

/** Every purchase tells its cost; commands that are free or send nothing never do. */

let service: RowService;
let at: Machine;
beforeEach(async () => {
  service = await startRowService({ credits: 50, lost: new Set(['lost']) });
  at = createMachine(service.url);
  at.write('rows.csv', 'objective\na\nb\n');
  at.write('none.csv', 'objective\nlost\n');
});

describe('the last line of a purchase', () => {
  const setIt = 'To see what it costs, set your price, such as 5: leadpipe config set price.contact.email 5';
  const unknown = `charged; price unknown\n${setIt}`;
  it.each<[string, string, object, ...string[]]>([
    ['an answer without a price', 'contact email a', {}, `email found · ${unknown}\n`],
    ['an answer', 'contact email a', { 'price.contact.email': 3 }, 'email found · cost at most 3 credits\n'],
    ['a list without a price', 'contact email --input rows.csv', {}, `2 emails found · ${unknown}\n`],
    ['a list', 'contact email --input rows.csv', { 'price.contact.email': 3 }, '· cost at most 6 credits\n'],
    [
      'a limited one',
      'contact email --input rows.csv --max-credits 9',
      { 'price.contact.email': 3 },
      'cost at most 6 credits · balance 50 before, 48 after\n',
    ],
    ['a free one', 'contact email "CTO of Nordlicht Pay" --local', {}, 'email found · cost nothing\n'],
  ])('says what it cost: %s', async (_, line, settings, ...says) => {
    writeSettings(at.env, settings);
    expect(await at.leadpipe(line)).toMatchObject(ending(0, ...says));
  });

  it('of a list that is shown again counts its answers', async () => {
    await at.leadpipe('contact email --input rows.csv -q');
    expect((await at.leadpipe('history show')).stderr).toMatch(/^2 answers \(/);
  });

  it('says once a day how to set a price, if it can be read', async () => {
    const tell = async (line: string) => (await at.leadpipe(line)).stderr.split('\n').slice(0, 2);
    expect(await tell('contact email a -q')).toEqual(['']);
    expect(await tell('contact email b')).toEqual([`email found · ${unknown.split('\n')[0]}`, setIt]);
    expect(await tell('contact email c')).toEqual([
      'email found · charged; price unknown',
      expect.stringMatching(/^request /),
    ]);
  });
});

it('the balance after a purchase is not waited for, and the last line says that it is unknown', async () => {
  let balances = 0;
  const there = await machineWith((socket, { path }) => {
    if (!path.endsWith('balance')) socket.end(jsonAnswer(contactResult('email', 'a', 'a@b.example')));
    else if (balances++ === 0) socket.end(jsonAnswer(creditBalance(50)));
  });
  writeSettings(there.env, { 'price.contact.email': 3 });
  const { code, stderr } = await there.leadpipe('contact email a --max-credits 3');
  const left = 'balance 50 before; balance after unknown: no answer within 0.3 s';
  expect({ code, stderr }).toMatchObject(ending(0, `email found · cost at most 3 credits · ${left}\n`));
});

describe('with --local', () => {
  it.each([
    ['--max-credits without a price', 'contact email a --local --max-credits 0', {}],
    [
      '--max-credits below what it would cost elsewhere',
      'search company fintech --local --max-credits 0',
      {},
    ],
    ['max_credits', 'contact email a --local', { max_credits: 0 }],
    ['max_credits_per_day', 'contact email --input rows.csv --local', { max_credits_per_day: 0 }],
  ])('%s refuses nothing', async (_, line, settings) => {
    writeSettings(at.env, settings);
    expect(await at.leadpipe(line)).toMatchObject(ending(0, 'cost nothing'));
  });

  it('agents pay nothing either, whatever the limit of the session is', async () => {
    const agent = await startAgent({ args: ['--local', '--max-credits', '0'], env: at.env });
    const asked: [string, object][] = [
      ['search', { entity_type: 'company', objective: 'fintech', limit: 2 }],
      ['task_create', { entity_type: 'company', objective: 'fintech' }],
      ['contact', { contact_type: 'email', objective: 'CTO of Nordlicht Pay' }],
    ];
    for (const [tool, args] of asked) expect(await agent.ask(tool, args)).toMatchObject({ charged: 'no' });
    await agent.close();
  });
});

describe('an error of a paid command where nothing was sent', () => {
  it.each([
    ['a folder that is not there', 'contact email a -o no/such/out.csv', {}, 74],
    ['a limit', 'contact email a --max-credits 1', {}, 5],
    ['an input that is not there', 'contact email --input no.csv', {}, 2],
    ['no address', 'contact email a', { LEADPIPE_BASE_URL: '', LEADPIPE_API_KEY: '' }, 78],
    ['an option that is not known', 'contact email a --nothing', {}, 2],
    ['a number that is none', 'search company x --limit many', {}, 2],
  ])('says that nothing was charged: %s', async (_, line, env, exit) => {
    const { code, stderr } = await at.leadpipe(`${line} --json-errors`, { env });
    expect({ code, ...JSON.parse(stderr).error }).toMatchObject({ code: exit, charged: 'no' });
    expect(service.charged.size).toBe(0);
  });

  it('has a hint of one line, without the columns that people read', async () => {
    const env = { LEADPIPE_BASE_URL: '', LEADPIPE_API_KEY: '' };
    const { stderr } = await at.leadpipe('contact email a --json-errors', { env });
    expect(JSON.parse(stderr).error.hint).toMatch(
      /^With an account, run: leadpipe auth login; in a script, set: .*[^ ]$/,
    );
  });
});

describe('a bug of leadpipe behind a request that was sent', () => {
  const price = { 'price.contact.email': 3, max_credits_per_day: 100 };
  // The first answer is lost, and then something fails that never should.
  const broken = { random: () => JSON.parse('no number') };

  it.each([
    ['a look-up', 'contact email a', 3],
    ['a search', 'search company x --limit 4', 4],
    ['a task', 'task run company x --limit 5', 5],
    ['a row of a list', 'contact email --input none.csv', 3],
  ])('may be charged, and counts: %s', async (_, line, credits) => {
    const there = await machineWith((socket) => void socket.destroy());
    writeSettings(there.env, price);
    there.write('none.csv', 'objective\na\n');
    const run = await there.leadpipe(`${line} --json-errors --summary s.json`, { context: broken });
    expect({ code: run.code, sent: there.requests.length }).toEqual({ code: 1, sent: 1 });
    expect(JSON.parse(run.stderr.trim().split('\n').at(-1) ?? '').error).toMatchObject({
      type: 'bug',
      charged: 'maybe',
    });
    expect(JSON.parse(there.read('s.json'))).toMatchObject({ charged: 'maybe', credits_at_most: credits });
    expect(await there.history()).toMatchObject([
      { state: 'unknown', charged: 'maybe', credits_at_most: credits },
    ]);
    const left = `${100 - credits} are left`;
    expect((await there.leadpipe('search company y --limit 100 --dry-run')).stderr).toContain(left);
  });

  it('is told as charged where leads of a search had arrived', async () => {
    const there = await machineWith((socket) => {
      const [first = '', second = ''] = searchFrames([['{"name":"A"}'], ['{"name":"B"}']]);
      socket.write(streamStart([first, second]));
    });
    const stream = new Writable({
      write: () => {
        throw new TypeError('no stream');
      },
    });
    const context = { stdout: { stream, isTerminal: false, columns: undefined } };
    const run = await there.leadpipe('search company x --limit 4 --json-errors', { context });
    expect({ code: run.code, ...JSON.parse(run.stderr).error }).toMatchObject({ code: 1, charged: 'yes' });
    expect(await there.history()).toMatchObject([{ state: 'partial', charged: 'yes', leads: 2 }]);
  });
});

it.each([
  ['a task', 'task run company x -o x.jsonl', '422 X', 'invalid'],
  ['a look-up', 'contact email a --idempotency-key k', '422 X', 'invalid'],
])(
  '%s whose answer was lost may be charged, though it is refused when it is sent again',
  async (_, line, status, type) => {
    let isLost = true;
    const there = await machineWith((socket, { method }) => {
      if (method === 'GET') socket.write(jsonAnswer(creditBalance(3)));
      else if (isLost) socket.destroy();
      else socket.write(errorAnswer(status, type, 'no'));
    });
    writeSettings(there.env, { 'retry.attempts': 0 });
    await there.leadpipe(line);
    isLost = false;
    const { stderr } = await there.leadpipe(`${line} --json-errors`);
    expect(JSON.parse(stderr.trim().split('\n').at(-1) ?? '').error).toMatchObject({ charged: 'maybe' });
    expect(await there.history()).toMatchObject([{ charged: 'maybe' }]);
  },
);

describe('what was refused is no purchase of the totals; anything else is, whether it was charged or not', () => {
  const none = { success: false, answer: { answer: 'No result generated' } };
  const text = wholeAnswer('200 OK', 'application/json', '<paid for>');
  it.each<[string, string, string, 'no' | 'maybe' | 'yes' | null]>([
    ['an answer', 'contact email a', jsonAnswer(contactResult('email', 'a', 'a@b.example')), 'yes'],
    ['an answer that can not be read', 'contact email a', text, 'yes'],
    [
      'a contact that was not found',
      'contact email a',
      jsonAnswer(contactResult('email', 'a', null)),
      'maybe',
    ],
    ['an answer without a result', 'research a', jsonAnswer(none), 'maybe'],
    ['a creation that was lost', 'task create company x', '', 'maybe'],
    ['a task that goes on', 'task create company x', jsonAnswer({ leads_search_id: 'ls_1' }), null],
    ['a search that was lost', 'search company x', '', 'maybe'],
    ['a refusal', 'contact email a', errorAnswer('422 X', 'invalid', 'no'), 'no'],
  ])('%s', async (_, line, answer, charged) => {
    const there = await machineWith(answer);
    await there.leadpipe(line);
    expect(await there.history()).toMatchObject([{ charged }]);
    expect(await there.history('totals')).toMatchObject(charged === 'no' ? [] : [{ purchases: 1 }]);
  });

  it('an answer without a result is told as one that may be charged', async () => {
    const there = await machineWith(jsonAnswer(none));
    expect(await there.leadpipe('research a')).toMatchObject(ending(7, 'charged: maybe'));
    expect(await there.history()).toMatchObject([{ found: 0, not_found: 1 }]);
  });
});

it('a search that found nothing has cost nothing', async () => {
  const there = await machineWith(wholeStream(searchFrames([])));
  await there.leadpipe('search company x');
  expect(await there.history()).toMatchObject([{ state: 'complete', charged: 'no', credits_at_most: 0 }]);
});

describe('"You already bought this"', () => {
  it.each([
    ['of leads', 'search company x', 'x', true],
    ['not by --only-new', 'search company x --only-new', 'x', false],
    ['not of what was refused', 'search company x', 'refused', false],
  ])('is said %s', async (_, line, what, isSaid) => {
    const there = await machineWith((socket, { method }) => {
      if (method === 'GET') socket.write(jsonAnswer(creditBalance(9)));
      else if (what === 'refused') socket.write(errorAnswer('422 X', 'invalid', 'no'));
      else socket.write(wholeStream(searchFrames([['{"name":"A"}']])));
    });
    await there.leadpipe(line);
    expect((await there.leadpipe(line)).stderr.includes('You already bought')).toBe(isSaid);
  });

  const terminal = { stderrIsTerminal: true, columns: 200 };
  const told = 'You already bought';
  it.each([
    ['is said before what is charged again', 'contact email a', 'contact email a', true],
    [
      'also of a list of the same file',
      'contact email --input rows.csv',
      'contact email --input rows.csv -o x.csv',
      true,
    ],
    [
      'not of a run with a name',
      'contact email --input rows.csv --run october',
      'contact email --input rows.csv --run october',
      false,
    ],
    ['not before a refusal', 'contact email a', 'contact email a --max-credits 1', false],
    [
      'not by --only-new',
      'search company fintech --local',
      'search company fintech --local --only-new',
      false,
    ],
    ['not with --local', 'search company fintech --local', 'search company fintech --local', false],
    ['not of standard input', 'contact email --input - -o x.csv', 'contact email --input - -o y.csv', false],
    [
      'not where the key is the same',
      'contact email a --idempotency-key k',
      'contact email a --idempotency-key k',
      false,
    ],
  ])('%s', async (_, first, second, isSaid) => {
    at.write('rows.csv', 'objective\na\n');
    expect((await at.leadpipe(first, { stdin: 'objective\na\n' })).code).toBe(0);
    writeSettings(at.env, { 'price.contact.email': 3 });
    const again = await at.leadpipe(second, { ...terminal, stdin: 'objective\na\n' });
    expect(again.stderr.includes(told)).toBe(isSaid);
  });

  it.each([
    [23, true],
    [25, false],
  ])('for a day: %i hours later: %s', async (hours, isSaid) => {
    expect((await at.leadpipe('contact email a')).code).toBe(0);
    const clock = { ...machineClock, now: () => new Date(Date.now() + hours * 3_600_000) };
    const later = await at.leadpipe('contact email a', { ...terminal, context: { clock } });
    expect({ code: later.code, isSaid: later.stderr.includes(told) }).toEqual({ code: 0, isSaid });
  });

  it('not before a refusal by the limit of the day', async () => {
    writeSettings(at.env, { 'price.contact.email': 3, max_credits_per_day: 4 });
    expect((await at.leadpipe('contact email a')).code).toBe(0);
    const { code, stderr } = await at.leadpipe('contact email a', terminal);
    expect({ code, isSaid: stderr.includes(told) }).toEqual({ code: 5, isSaid: false });
  });
});

it('a list that a limit refused before its first row is "not charged" in the history', async () => {
  writeSettings(at.env, { 'price.contact.email': 5 });
  const { code } = await at.run('contact email --input - --max-credits 3', {}, 'Ada\nBo\n');
  expect(code).toBe(5);
  expect(await at.history()).toMatchObject([{ charged: 'no', state: 'interrupted' }]);
});

describe('resuming asks on a terminal', () => {
  const terminal = { stdinIsTerminal: true, stderrIsTerminal: true, columns: 300 };
  const list = 'Unfinished: contact email ';
  it.each([
    [
      'a search',
      'search company x --limit 6 -o x.csv',
      {},
      /Unfinished: search company x, 2 of 6 leads\. Buy the rest, for at most 4 credits\? \[y\/N\] /m,
    ],
    [
      'a list',
      'contact email --input rows.csv -o x.csv --concurrency 1',
      { 'price.contact.email': 3 },
      RegExp(`${list}rows\\.csv, 1 of 2 rows\\. Buy the rest, for at most 3 credits\\? \\[y/N\\] `, 'm'),
    ],
    [
      'a list without a price',
      'contact email --input rows.csv -o x.csv --concurrency 1',
      {},
      /, 1 of 2 rows\. Buy the rest, at an unknown price\? \[y\/N\] /,
    ],
  ])(
    '%s: what it is, how far it is and what the rest costs; Enter is no',
    async (_, line, settings, question) => {
      const cut = line.startsWith('search') ? await machineWith(cutting) : undefined;
      service = await startRowService({ credits: 1 });
      const there = cut ?? createMachine(service.url);
      writeSettings(there.env, settings);
      there.write('rows.csv', 'objective\na\nb\n');
      expect((await there.leadpipe(line)).code).not.toBe(0);
      const sent = () => cut?.requests.length ?? service.requests();
      const before = sent();
      for (const stdin of ['\n', 'n\n']) {
        expect(await there.leadpipe('resume', { ...terminal, stdin })).toMatchObject(
          ending(0, question, 'Nothing was bought.'),
        );
      }
      expect(sent()).toBe(before);
      await there.leadpipe('resume', { ...terminal, stdin: 'y\n' });
      expect(sent()).toBeGreaterThan(before);
    },
  );

  it('not about a rest that is free', async () => {
    const at = await machineWith(cutting);
    expect((await at.leadpipe('search company x --limit 2 -o x.csv')).code).toBe(3);
    const { code, stderr } = await at.leadpipe('resume', { ...terminal, stdin: 'n\n' });
    expect({ code, stderr }).toEqual({ code: 0, stderr: expect.stringContaining('Nothing is bought.') });
    expect(stderr).not.toContain('[y/N]');
  });
});
