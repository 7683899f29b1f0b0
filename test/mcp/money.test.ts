import { readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { type Fault, faultyWith } from '../durability/faulty-run.ts';
import { contactResult, creditBalance } from '../helpers/bodies.ts';
import { errorAnswer, jsonAnswer, searchFrames, wholeStream } from '../helpers/fault-server.ts';
import { bareEnvironment, run, temporaryFolder } from '../helpers/run.ts';
import { withSettings } from '../helpers/settings.ts';
import { type Agent, serving, startAgent, startLedger } from './agent.ts';

const search = { entity_type: 'company', objective: 'fintech', show: 200 };
const contact = { contact_type: 'email', objective: 'Lena Weber' };

/** Resolves when leads have come, and the search goes on. */
function untilLeads({ ask }: Agent, args: object, signal = new AbortController().signal) {
  let answered: ReturnType<typeof ask> = Promise.resolve();
  const some = new Promise<void>((resolve) => {
    const onProgress = (message: string) => message.includes('so far') && resolve();
    answered = ask('search', args, { signal, onProgress });
    answered.catch(() => {});
  });
  return { some, answered };
}

const namesOf = ({ leads }: { leads: { name: string }[] }): string[] => leads.map(({ name }) => name);

describe('an agent that repeats, cancels, loses and dies', () => {
  it('buys everything once', async () => {
    const lost = { operation: 'contactSearch', fault: 'lost_response', count: 1 };
    const { service, env } = await startLedger({ batch_size: 1, batch_pause_ms: 60 }, [lost]);
    let agent = await startAgent({ env });

    // The same call ten times, and one of them cancelled in the middle: the others wait on for the one purchase.
    const gone = new AbortController();
    const first = untilLeads(agent, { ...search, limit: 20 }, gone.signal);
    const others = Array.from({ length: 9 }, () => agent.ask('search', { ...search, limit: 20 }));
    await first.some;
    gone.abort();
    await expect(first.answered).rejects.toThrow();
    const answers = await Promise.all(others);
    expect(new Set(answers.map(({ operation_id }) => operation_id)).size).toBe(1);
    for (const one of answers) expect(one).toMatchObject({ count: 20, complete: true, charged: 'yes' });
    expect(service.spent()).toBe(20);

    // Cancelled by the only one who waits: what came is kept, and the same call gets the rest.
    const alone = new AbortController();
    const cancelled = untilLeads(agent, { ...search, limit: 21 }, alone.signal);
    await cancelled.some;
    alone.abort();
    await expect(cancelled.answered).rejects.toThrow();
    const whole = await agent.ask('search', { ...search, limit: 21 });
    expect(whole).toMatchObject({ count: 21, complete: true });
    expect(new Set(namesOf(whole)).size).toBe(21);

    // An answer that was lost is not bought again blindly, and bought once more only when that is wanted.
    const inDoubt = { exit: 8, charged: 'maybe', hint: expect.stringContaining('again: true') };
    for (const _ of [1, 2, 3]) expect((await agent.ask('contact', contact)).error).toMatchObject(inDoubt);
    const again = await agent.ask('contact', { ...contact, again: true });
    expect(again).toMatchObject({ charged: 'yes', complete: true });
    expect(await agent.ask('contact', contact)).toMatchObject({ charged: 'no', stored: true });

    // Killed in the middle: the next server goes on.
    const killed = untilLeads(agent, { ...search, limit: 22 });
    await killed.some;
    agent.kill();
    await expect(killed.answered).rejects.toThrow();
    await service.quiet();
    agent = await startAgent({ env });
    const resumed = await agent.ask('search', { ...search, limit: 22 });
    expect(resumed).toMatchObject({ count: 22, complete: true });
    expect(new Set(namesOf(resumed)).size).toBe(22);
    const { operation_id } = resumed;
    const shown = await agent.ask('history_show', { operation_id });
    expect(shown).toMatchObject({ count: 22, complete: true, next: 20 });

    // Five operations; two of them have a second key in the ledger, of the rest of their search.
    const history = await run('history list -f jsonl', { env });
    const lines = history.stdout.trimEnd().split('\n');
    const keys: readonly string[] = lines.map((line) => JSON.parse(line).idempotency_key);
    const ledger = await service.close();
    expect(new Set(keys).size).toBe(5);
    expect(keys.filter((key) => !ledger.has(key))).toEqual([]);
    // Two contacts, five searches: what was sent to a client that had gone is charged too, two leads of each.
    const settled = [...ledger.values()];
    expect(settled).toHaveLength(7);
    expect(settled.filter((credits) => credits === 5)).toHaveLength(2);
    const leads = settled.reduce((sum, credits) => sum + credits, 0) - 10;
    expect(leads).toBeGreaterThanOrEqual(63);
    expect(leads).toBeLessThanOrEqual(63 + 4);
  });
});

it('leads for which the disk has no room are all in the answer: they are paid for', async () => {
  const { service, env } = await startLedger({ batch_size: 10 });
  const full = { ...env, ...faultyWith({ mode: 'ENOSPC', at: 2, on: 'received.jsonl' }) };
  const { ask } = await startAgent({ env: full });
  const result = await ask('search', { ...search, limit: 30, show: 3 });
  expect(result).toMatchObject({
    count: 30,
    charged: 'yes',
    warnings: [expect.stringContaining('no space')],
  });
  expect(new Set(namesOf(result)).size).toBe(30);
  expect(service.spent()).toBe(30);
});

it('a call with again: true does not join the same call in progress', async () => {
  const { service, env } = await startLedger({ batch_size: 1, batch_pause_ms: 60 });
  const agent = await startAgent({ env });
  const first = untilLeads(agent, { ...search, limit: 10 });
  await first.some;
  const { error } = await agent.ask('search', { ...search, limit: 10, again: true });
  expect(error).toMatchObject({ type: 'operation_locked', charged: 'no' });
  expect(await first.answered).toMatchObject({ count: 10, charged: 'yes' });
  expect(service.spent()).toBe(10);
});

it('a search whose answer was lost may be charged, though it is refused when it is sent again', async () => {
  let isLost = true;
  const { env } = await serving((socket, { method }) => {
    if (method === 'GET') socket.write(jsonAnswer(creditBalance(3)));
    else if (isLost) socket.destroy();
    else socket.write(errorAnswer('402 X', 'insufficient_credits', 'no'));
  });
  const { ask } = await startAgent({ env });
  expect((await ask('search', search)).error).toMatchObject({ charged: 'maybe' });
  isLost = false;
  expect((await ask('search', search)).error).toMatchObject({
    type: 'insufficient_credits',
    charged: 'maybe',
  });
});

describe('many rows in a call', () => {
  it('are bought once each, and the same call buys only what is missing', async () => {
    const { service, env } = await startLedger({});
    const { ask } = await startAgent({ version: 1, env });
    const progress: string[] = [];
    const rows = ['Lena Weber', 'CTO of Kontora', 'Lena Weber'];
    const contacts = { contact_type: 'email', rows };
    const first = await ask('contact', contacts, { onProgress: (line) => progress.push(line) });
    expect(first).toMatchObject({ failed: 0, complete: true, charged: 'yes' });
    expect(first.rows).toHaveLength(3);
    expect(first.rows[0].answer.result.content).toBe('lena@nordlicht.example');
    expect(first.rows[2].operation_id).toBe(first.rows[0].operation_id);
    expect(first.credits_left).toEqual(expect.any(Number));
    expect(progress.at(-1)).toBe('2 of 2: 2 of 2 rows');
    const spent = service.spent();

    // One that can't be sent is found before anything is bought.
    const flawed = (await ask('contact', { ...contacts, rows: [...rows, ' '] })).error;
    expect(flawed).toMatchObject({ type: 'usage', message: expect.stringContaining('row 4') });
    const both = (await ask('contact', { ...contacts, objective: 'x' })).error;
    expect(both.message).toContain('either objective or rows');
    expect(service.spent()).toBe(spent);

    const second = await ask('contact', { ...contacts, rows: ['Lena Weber 4', ...rows] });
    const stored = second.rows.map((row: { stored?: boolean }) => row.stored);
    expect(stored).toEqual([undefined, true, true, true]);
    expect(service.spent()).toBe(spent + 5);
    const twice = { contact_type: 'email', rows: ['Lena Weber', 'Lena Weber'], again: true };
    expect((await ask('contact', twice)).rows).toHaveLength(2);
    expect(service.spent()).toBe(spent + 10);
    const pages = { type: 'web2list', rows: ['https://example.com/a', 'https://example.com/b'], show: 1 };
    const item = { items: [{}], charged: 'yes' };
    const extracted = await ask('extract', { ...pages, instruction: 'Kontora' });
    expect(extracted.rows).toMatchObject([item, item]);
  });

  it('count together against the limit, and are asked about once', async () => {
    const { service, env: bare } = await startLedger({});
    const env = { ...bare, ...withSettings({ 'price.contact.email': 5 }) };
    const questions: string[] = [];
    const answer = (question: string) => {
      questions.push(question);
      return 'accept' as const;
    };
    for (const version of [1, 2] as const) {
      const args = ['--confirm', '--max-credits', '14'];
      const { ask } = await startAgent({ version, env, args, answer });
      const before = service.spent();
      const rows = [1, 2, 3].map((number) => `Lena Weber ${version} ${number}`);
      expect((await ask('contact', { contact_type: 'email', rows })).error).toMatchObject({
        type: 'over_limit',
        charged: 'no',
        message: expect.stringContaining('this can cost 15 credits, but the limit is 14'),
      });
      expect(service.spent()).toBe(before);
      const bought = await ask('contact', { contact_type: 'email', rows: rows.slice(1) });
      expect(bought).toMatchObject({ complete: true, failed: 0 });
      expect(service.spent()).toBe(before + 10);
      expect(questions).toHaveLength(version);
      expect(questions.at(-1)).toMatch(/2 lookups.*Lena Weber . 2.*It costs at most 10 credits\./s);
    }
  });

  it('are not charged where they were not sent, whatever the ones before them may have cost', async () => {
    let posts = 0;
    const { env } = await serving((socket, { method }) => {
      if (method === 'GET') return void socket.write(jsonAnswer(creditBalance(0)));
      if (posts++ < 4) socket.destroy();
      else socket.write(errorAnswer('402 X', 'insufficient_credits', 'no'));
    });
    const { ask } = await startAgent({ env });
    const rows = Array.from({ length: 12 }, (_, nth) => `Lena ${nth}`);
    const result = await ask('contact', { contact_type: 'email', rows });
    const charged = result.rows.map(({ error }: { error: { charged: string } }) => error.charged);
    expect(charged.at(0)).toBe('maybe');
    expect(charged.at(-1)).toBe('no');
    expect(posts).toBeLessThan(12);
  });

  it('have their own errors; an error that affects all rows stops the others', async () => {
    let asked = 0;
    const { env } = await serving((socket, { method, body }) => {
      if (method === 'GET') return void socket.write(jsonAnswer('{}'));
      asked++;
      if (body.includes('nobody')) socket.write(errorAnswer('422 Unprocessable Content', 'invalid', 'no'));
      else socket.write(errorAnswer('401 Unauthorized', 'authentication_error', 'no'));
    });
    const { ask } = await startAgent({ env });
    const rows = ['nobody', ...Array.from({ length: 30 }, (_, number) => `Lena ${number}`)];
    const result = await ask('contact', { contact_type: 'email', rows });
    expect(result).toMatchObject({ failed: 31, complete: false, charged: 'no' });
    expect(result.rows[0].error).toMatchObject({ exit: 2 });
    expect(result.rows[30].error).toMatchObject({ exit: 4, charged: 'no' });
    expect(asked).toBeLessThanOrEqual(8);
  });
});

describe('rows whose answers were lost', () => {
  it.each([
    [['lost', 'gone'], 'maybe', 2],
    [['Ada', 'lost'], 'yes', 1],
    [['Ada', 'refused'], 'yes', 1],
    [['refused'], 'no', 1],
  ])('of a call for %j: %s', async (rows, charged, failed) => {
    const { env } = await serving((socket, { method, body }) => {
      if (method === 'GET') return void socket.write(jsonAnswer(creditBalance(9)));
      if (body.includes('Ada'))
        return void socket.write(jsonAnswer(contactResult('email', 'Ada', 'a@b.example')));
      if (body.includes('refused')) return void socket.write(errorAnswer('422 X', 'invalid', 'no'));
      socket.destroy();
    });
    const { ask } = await startAgent({ env });
    const result = await ask('contact', { contact_type: 'email', rows });
    expect(result).toMatchObject({ charged, failed, complete: false });
    const costs = result.rows.map(
      (row: { charged?: string; error?: { charged: string } }) => row.charged ?? row.error?.charged,
    );
    expect(costs).toEqual(rows.map((row) => ({ Ada: 'yes', refused: 'no' })[row] ?? 'maybe'));
  });
});

it('a row that is refused does not keep the others from being bought', async () => {
  const { env } = await serving((socket, { method, body }) => {
    if (method === 'GET') return void socket.write(jsonAnswer(creditBalance(99)));
    socket.write(
      body.includes('nobody')
        ? errorAnswer('422 X', 'invalid', 'no')
        : jsonAnswer(contactResult('email', 'x', 'y')),
    );
  });
  const { ask } = await startAgent({ env });
  const rows = ['nobody', ...Array.from({ length: 12 }, (_, nth) => `Ada ${nth}`)];
  const result = await ask('contact', { contact_type: 'email', rows });
  expect(result).toMatchObject({ failed: 1, charged: 'yes' });
});

it('a key that was used for another request costs nothing, and is not told as a lost answer', async () => {
  const conflict = errorAnswer('409 X', 'idempotency_error', 'another request');
  const { env } = await serving((socket, { method }) => {
    socket.write(method === 'GET' ? jsonAnswer(creditBalance(99)) : conflict);
  });
  const { ask } = await startAgent({ env });
  const { error } = await ask('contact', contact);
  expect(error).toMatchObject({ charged: 'no', hint: expect.not.stringContaining('its answer is lost') });
});

describe('only what is new', () => {
  it('is bought, and the same call gives the same leads again', async () => {
    const { service, env } = await startLedger({});
    const { ask } = await startAgent({ env });
    const fresh = { ...search, limit: 3, only_new: true };
    const first = namesOf(await ask('search', fresh));
    const second = namesOf(await ask('search', { ...fresh, again: true }));
    expect(new Set([...first, ...second]).size).toBe(6);
    expect(service.spent()).toBe(6);
    const stored = await ask('search', fresh);
    expect(stored).toMatchObject({ stored: true, charged: 'no' });
    expect(namesOf(stored)).toEqual(second);
    const names = [...first, ...second, ...namesOf(await ask('search', { ...fresh, again: true }))];
    expect(new Set(names).size).toBe(9);
    // Those of a task count too, though they are read at the service.
    const untilDone = async (args: object): Promise<string[]> => {
      const { leads_search_id } = await ask('task_create', args);
      while (!(await ask('task_status', { leads_search_id })).complete);
      return namesOf(await ask('task_fetch', { leads_search_id }));
    };
    const { show: _, ...task } = fresh;
    const fourth = await untilDone(task);
    const fifth = await untilDone({ ...task, again: true });
    expect(fourth).toHaveLength(3);
    expect(new Set([...names, ...fourth, ...fifth]).size).toBe(12 + fifth.length);
  });
});

it('a task counts with what it found, once task_fetch has seen that it has ended', async () => {
  const { service, env } = await startLedger({});
  const { ask } = await startAgent({ env });
  const task = { entity_type: 'company', objective: 'fintech', limit: 900 };
  const { leads_search_id } = await ask('task_create', task);
  while (!(await ask('task_status', { leads_search_id })).complete);
  expect((await ask('history_list')).purchases).toMatchObject([{ credits_at_most: 900, charged: null }]);
  const { count } = await ask('task_fetch', { leads_search_id, show: 5 });
  expect(count).toBe(service.spent());
  expect(count).toBeLessThan(900);
  const { purchases } = await ask('history_list');
  expect(purchases).toMatchObject([
    { state: 'complete', credits_at_most: count, charged: 'yes', leads: count },
  ]);
});

describe('limits', () => {
  let service: Awaited<ReturnType<typeof startLedger>>['service'];
  let newUser: () => Record<string, string>;
  beforeAll(async () => {
    ({ service, newUser } = await startLedger({}));
  });

  it('--max-credits is for the whole session, and a refusal says both numbers', async () => {
    const { ask } = await startAgent({ args: ['--max-credits', '25'], env: newUser() });
    const before = service.spent();
    expect((await ask('search', { ...search, limit: 20 })).count).toBe(20);
    expect((await ask('search', { ...search, limit: 19 })).error).toMatchObject({
      exit: 5,
      charged: 'no',
      message: 'this can cost 19 credits, but only 5 are left of the limit of 25; nothing was bought',
    });
    const unknown = { type: 'price_unknown', hint: expect.stringContaining('price.research') };
    expect((await ask('research', { query: 'What is Kontora?' })).error).toMatchObject(unknown);
    const session = { max_credits: 25, spent_at_most: 20, reserved: 0 };
    expect((await ask('balance')).session).toEqual(session);
    expect(service.spent() - before).toBe(20);
  });

  it('gives back what the balance refused: it is there when the account has credits again', async () => {
    let available = 4;
    const found = wholeStream(searchFrames([['{"name":"A"}']]));
    const { env: bare } = await serving((socket, { method, path }) => {
      if (method === 'GET') socket.write(jsonAnswer(creditBalance(available)));
      else
        socket.write(path.endsWith('entity-search') ? found : jsonAnswer(contactResult('email', 'x', 'y')));
    });
    const env = { ...bare, ...withSettings({ 'price.contact.email': 5 }) };
    const { ask } = await startAgent({ args: ['--max-credits', '35'], env });
    const rows = { contact_type: 'email', rows: ['a', 'b', 'c'] };
    const refused = { exit: 5, type: 'insufficient_credits', charged: 'no' };
    for (const _ of [1, 2]) {
      expect((await ask('search', { ...search, limit: 20 })).error).toMatchObject(refused);
      expect((await ask('contact', rows)).error).toMatchObject(refused);
    }
    const session = { max_credits: 35, spent_at_most: 0, reserved: 0 };
    expect((await ask('balance')).session).toEqual(session);
    available = 100;
    expect(await ask('search', { ...search, limit: 20 })).toMatchObject({ charged: 'yes' });
    expect(await ask('contact', rows)).toMatchObject({ complete: true, charged: 'yes' });
  });

  it('is not used up if nothing was sent; a sent request counts once', async () => {
    const { env: bare } = await serving((socket, { body, method }) => {
      if (method === 'GET') socket.write(jsonAnswer(creditBalance(100)));
      else if (body.includes('refused')) socket.write(errorAnswer('422 X', 'invalid', 'no'));
      else socket.write(jsonAnswer(contactResult('email', 'x', 'y')));
    });
    const state = join(temporaryFolder(), 'state');
    const env = { ...bare, ...withSettings({ 'price.contact.email': 5 }), LEADPIPE_STATE_DIR: state };
    const { ask } = await startAgent({ args: ['--max-credits', '10'], env });
    const left = async () => (await ask('balance')).session;
    writeFileSync(state, 'no folder');
    const unkept = { type: 'local_io', exit: 74, charged: 'no' };
    for (const _ of [1, 2, 3]) expect((await ask('contact', contact)).error).toMatchObject(unkept);
    rmSync(state);
    expect((await ask('contact', { ...contact, objective: 'refused' })).error).toMatchObject({
      charged: 'no',
    });
    expect(await left()).toEqual({ max_credits: 10, spent_at_most: 0, reserved: 0 });
    expect(await ask('contact', contact)).toMatchObject({ charged: 'yes' });
    expect(await left()).toEqual({ max_credits: 10, spent_at_most: 5, reserved: 0 });
    expect(await ask('contact', { ...contact, objective: 'Bo' })).toMatchObject({ charged: 'yes' });
    expect((await ask('contact', { ...contact, objective: 'Cy' })).error).toMatchObject({
      type: 'over_limit',
    });
  });

  it.each<Fault>([
    { mode: 'ENOSPC', at: 1, on: 'journal.jsonl' },
    { mode: 'open', on: 'received.jsonl' },
  ])('has all of it again where the disk had no room, and nothing is left of that: %j', async (fault) => {
    const { env: bare } = await serving((socket) => void socket.write(jsonAnswer(creditBalance(100))));
    const state = join(temporaryFolder(), 'state');
    const full = faultyWith(fault);
    const env = {
      ...bare,
      ...withSettings({ 'price.contact.email': 5 }),
      ...full,
      LEADPIPE_STATE_DIR: state,
    };
    const { ask } = await startAgent({ args: ['--max-credits', '10'], env });
    for (const _ of [1, 2, 3])
      expect((await ask('contact', contact)).error).toMatchObject({ type: 'local_io', charged: 'no' });
    expect((await ask('balance')).session).toEqual({ max_credits: 10, spent_at_most: 0, reserved: 0 });
    expect(readdirSync(join(state, 'operations'))).toEqual([]);
  });

  it('a stored result is free, also after a refused call that would buy it again', async () => {
    let asked = 0;
    const { env } = await serving((socket, { method }) => {
      if (method === 'GET') socket.write(jsonAnswer(creditBalance(0)));
      else if (++asked === 2) socket.end(errorAnswer('402 Payment Required', 'insufficient_credits', 'no'));
      else socket.write(jsonAnswer(contactResult('email', 'x', 'y')));
    });
    const { ask } = await startAgent({ env });
    expect(await ask('contact', contact)).toMatchObject({ charged: 'yes' });
    const again = await ask('contact', { ...contact, again: true });
    expect(again.error).toMatchObject({ exit: 5, charged: 'no' });
    expect(await ask('contact', contact)).toMatchObject({ stored: true, charged: 'no' });
    expect(asked).toBe(2);
  });

  it('the setting max_credits is the limit of a session that has none of its own', async () => {
    const env = { ...newUser(), ...withSettings({ max_credits: 10 }) };
    const { ask } = await startAgent({ version: 1, env });
    const before = service.spent();
    expect((await ask('search', { ...search, limit: 6 })).count).toBe(6);
    expect((await ask('search', { ...search, limit: 5 })).error).toMatchObject({
      exit: 5,
      message:
        'this can cost 5 credits, but only 4 are left of the limit of 10 (setting max_credits); nothing was bought',
      hint: expect.stringContaining('leadpipe config set max_credits <credits>'),
    });
    expect(service.spent() - before).toBe(6);
  });

  it('a limit that is set during the session is shown with the credits left, and names the profile', async () => {
    const env = newUser();
    await run('config set base_url http://127.0.0.1:1 --profile work', { env });
    const { ask } = await startAgent({ version: 1, env, args: ['--profile', 'work'] });
    expect((await ask('search', { ...search, limit: 1 })).count).toBe(1);
    expect((await ask('balance')).session).toBeUndefined();
    await run('config set max_credits 20 --profile work', { env });
    const { error } = await ask('search', { ...search, limit: 21 });
    expect(error.hint).toContain('leadpipe config set max_credits <credits> --profile work');
    expect((await ask('balance')).session).toMatchObject({ max_credits: 20 });
  });

  it('--confirm asks the person before each purchase; a client that can not ask buys nothing', async () => {
    const before = service.spent();
    let bought = 0;
    for (const version of [1, 2] as const) {
      const where = { version, args: ['--confirm'], env: newUser() };
      const args = { ...search, limit: 2 + bought };
      const mute = await startAgent(where);
      const unavailable = { type: 'confirmation_unavailable', charged: 'no', exit: 5 };
      expect((await mute.ask('search', args)).error).toMatchObject(unavailable);
      const questions: string[] = [];
      let says: 'accept' | 'decline' | 'cancel' = 'decline';
      const answer = (question: string) => {
        questions.push(question);
        return says;
      };
      const byLink = await startAgent({ ...where, answer, elicitation: { url: {} } });
      expect((await byLink.ask('search', args)).error).toMatchObject(unavailable);
      const { ask } = await startAgent({ ...where, answer });
      for (says of ['decline', 'cancel'] as const)
        expect((await ask('search', args)).error).toMatchObject({ type: 'declined', charged: 'no' });
      expect(service.spent() - before).toBe(bought);
      says = 'accept';
      expect(await ask('search', args)).toMatchObject({ complete: true, charged: 'yes' });
      // What is stored is given without a question.
      expect((await ask('search', args)).stored).toBe(true);
      expect(questions).toHaveLength(3);
      expect(questions[2]).toContain(`It costs at most ${args.limit} credits.`);
      bought += args.limit;
      expect(service.spent() - before).toBe(bought);
    }
  });

  it('--confirm asks with nothing in the question that a terminal would obey', async () => {
    const questions: string[] = [];
    const answer = (question: string) => {
      questions.push(question);
      return 'decline' as const;
    };
    const { ask } = await startAgent({ version: 1, args: ['--confirm'], env: newUser(), answer });
    await ask('search', { ...search, objective: 'fin\u001b[2Jtech\u202e' });
    expect(questions).toEqual([expect.stringMatching(/^Buy this\? [^\u001b\u202e]*tech/)]);
  });

  it('--confirm asks only for what the limit allows, and buys once what is asked for at the same time', async () => {
    for (const version of [1, 2] as const) {
      let questions = 0;
      let says: 'accept' | 'fail' = 'accept';
      const answer = () => {
        questions++;
        if (says === 'fail') throw new Error('no window');
        return says;
      };
      const args = ['--confirm', '--max-credits', '9'];
      const env = { ...newUser(), ...withSettings({ max_credits_per_day: 8 }) };
      const { ask, call } = await startAgent({ version, args, env, answer });
      const before = service.spent();
      const ofDay = await ask('search', { ...search, limit: 9 });
      expect(ofDay.error).toMatchObject({ message: expect.stringContaining('8 for today'), charged: 'no' });
      const dear = await ask('search', { ...search, limit: 10 });
      expect(dear.error).toMatchObject({ type: 'over_limit', charged: 'no' });
      const unpriced = await ask('research', { query: 'What is Kontora?' });
      const hint = expect.stringContaining('ask the person to set it');
      expect(unpriced.error).toMatchObject({ type: 'price_unknown', hint });
      expect(questions).toBe(0);
      const same = { ...search, limit: 2 + version };
      const answers = await Promise.all([1, 2, 3].map(() => ask('search', same)));
      for (const { count } of answers) expect(count).toBe(same.limit);
      // A client that asks by itself asks for each call.
      expect(questions).toBe(version === 1 ? 1 : 3);
      expect(service.spent() - before).toBe(same.limit);
      says = 'fail';
      // The second client tells its own program that its question failed.
      if (version === 1) {
        const failed = await call('search', { ...search, limit: 1 });
        expect(failed).toMatchObject({
          isError: true,
          structuredContent: { error: { exit: 5, charged: 'no' } },
        });
      }
      expect(service.spent() - before).toBe(same.limit);
    }
  });

  it('without an address and a key it starts all the same, and each tool says what to do', async () => {
    const { ask, call } = await startAgent({ env: bareEnvironment() });
    for (const [name, args] of [
      ['search', search],
      ['balance', {}],
      ['task_status', { leads_search_id: 'ls_1' }],
    ] as const) {
      const hint = expect.stringContaining('leadpipe auth login');
      const error = expect.objectContaining({ exit: 78, charged: 'no', hint });
      expect(await call(name, args)).toMatchObject({ isError: true, structuredContent: { error } });
    }
    expect(await ask('history_list')).toEqual({ purchases: [] });
  });
});
