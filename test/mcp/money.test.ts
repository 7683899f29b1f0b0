import { beforeAll, describe, expect, it } from 'vitest';
import { errorAnswer, startFaultServer, wholeAnswer } from '../helpers/fault-server.ts';
import { type LedgerService, ledgerKey, startLedgerService } from '../helpers/ledger.ts';
import { bareEnvironment, pointedAt, run, temporaryFolder } from '../helpers/run.ts';
import { type Agent, startAgent, startHttp, type ToolAnswer } from './agent.ts';

const search = { entity_type: 'company', objective: 'fintech', show: 200 };

/** Resolves when leads have come, and the search goes on. */
function untilLeads(agent: Agent, args: object, signal?: AbortSignal) {
  let answered: Promise<ToolAnswer> | undefined;
  const some = new Promise<void>((resolve) => {
    const onProgress = (message: string): void => {
      if (message.includes('so far')) resolve();
    };
    answered = agent.call('search', args, { onProgress, ...(signal === undefined ? {} : { signal }) });
    answered.catch(() => {});
  });
  return { some, answered: answered as Promise<ToolAnswer> };
}

function namesOf({ structuredContent }: ToolAnswer): string[] {
  return structuredContent.leads.map(({ name }: { name: string }) => name);
}

describe('an agent that repeats, cancels, loses and dies', () => {
  it('buys everything once', async () => {
    const lost = { operation: 'contactSearch', fault: 'lost_response', count: 1 };
    const service = await startLedgerService({ batch_size: 2, batch_pause_ms: 60 }, [lost]);
    const env = { ...bareEnvironment(), ...pointedAt(service.url, ledgerKey) };
    const options = { version: 2, env } as const;
    let agent = await startAgent(options);

    // The same call ten times, and one of them cancelled in the middle: the others wait on for the one purchase.
    const gone = new AbortController();
    const first = untilLeads(agent, { ...search, limit: 20 }, gone.signal);
    const others = Array.from({ length: 9 }, () => agent.call('search', { ...search, limit: 20 }));
    await first.some;
    gone.abort();
    await expect(first.answered).rejects.toThrow();
    const answers = await Promise.all(others);
    expect(new Set(answers.map(({ structuredContent }) => structuredContent.operation_id)).size).toBe(1);
    for (const { structuredContent } of answers) {
      expect(structuredContent).toMatchObject({ count: 20, complete: true, charged: 'yes' });
    }
    expect(service.spent()).toBe(20);

    // Cancelled by the only one who waits: what came is kept, and the same call gets the rest.
    const alone = new AbortController();
    const cancelled = untilLeads(agent, { ...search, limit: 21 }, alone.signal);
    await cancelled.some;
    alone.abort();
    await expect(cancelled.answered).rejects.toThrow();
    const whole = await agent.call('search', { ...search, limit: 21 });
    expect(whole.structuredContent).toMatchObject({ count: 21, complete: true });
    expect(new Set(namesOf(whole)).size).toBe(21);

    // An answer that was lost is not bought again blindly, and bought once more only when that is wanted.
    const contact = { contact_type: 'email', objective: 'Lena Weber' };
    for (const _ of [1, 2, 3]) {
      const { structuredContent } = await agent.call('contact', contact);
      expect(structuredContent.error).toMatchObject({
        exit: 8,
        charged: 'maybe',
        hint: expect.stringContaining('again: true'),
      });
    }
    const again = await agent.call('contact', { ...contact, again: true });
    expect(again.structuredContent).toMatchObject({ charged: 'yes', complete: true });
    const stored = await agent.call('contact', contact);
    expect(stored.structuredContent).toMatchObject({ charged: 'no', stored: true });

    // Killed in the middle: the next server goes on.
    const killed = untilLeads(agent, { ...search, limit: 22 });
    await killed.some;
    process.kill(agent.pid ?? 0, 'SIGKILL');
    await expect(killed.answered).rejects.toThrow();
    await service.quiet();
    agent = await startAgent(options);
    const resumed = await agent.call('search', { ...search, limit: 22 });
    expect(resumed.structuredContent).toMatchObject({ count: 22, complete: true });
    expect(new Set(namesOf(resumed)).size).toBe(22);
    const shown = await agent.call('history_show', { operation_id: resumed.structuredContent.operation_id });
    expect(shown.structuredContent).toMatchObject({ count: 22, complete: true, next: 20 });
    await agent.close();

    // Each key of the history is in the ledger, and nothing else is.
    const history = await run(['history', 'list', '-f', 'jsonl'], { env });
    const keys = history.stdout
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line).idempotency_key);
    const ledger = await service.close();
    expect(new Set(keys)).toEqual(new Set(ledger.keys()));
    expect(keys).toHaveLength(ledger.size);
    const settled = keys.map((key) => ledger.get(key));
    // Two contacts, five searches: what was sent to a client that had gone is charged too, a batch of it.
    expect(settled).toHaveLength(7);
    expect(settled.filter((credits) => credits === 5)).toHaveLength(2);
    const leads = settled.reduce((sum: number, credits) => sum + (credits ?? 0), 0) - 10;
    expect(leads).toBeGreaterThanOrEqual(63);
    expect(leads).toBeLessThanOrEqual(63 + 8);
  });
});

describe('many rows in a call', () => {
  it('are bought once each, and the same call buys only what is missing', async () => {
    const service = await startLedgerService({});
    const env = { ...bareEnvironment(), ...pointedAt(service.url, ledgerKey) };
    const agent = await startAgent({ version: 1, env });
    const progress: string[] = [];
    const names = ['Lena Weber', 'CTO of Kontora', 'Lena Weber'];
    const call = (name: string, args: object, onProgress?: (line: string) => void) =>
      agent.call(name, args, onProgress && { onProgress });
    const contact = { contact_type: 'email', rows: names };
    const first = (await call('contact', contact, (line) => progress.push(line))).structuredContent;
    expect(first).toMatchObject({ failed: 0, complete: true, charged: 'yes' });
    expect(first.rows).toHaveLength(3);
    expect(first.rows[0].answer.result.content).toBe('lena@nordlicht.example');
    expect(first.rows[2].operation_id).toBe(first.rows[0].operation_id);
    expect(first.credits_left).toEqual(expect.any(Number));
    expect(progress.at(-1)).toBe('2 of 2: 2 of 2 rows');
    const spent = service.spent();

    // One that can't be sent is found before anything is bought.
    const flawed = { contact_type: 'email', rows: [...names, ' '] };
    expect((await call('contact', flawed)).structuredContent.error).toMatchObject({
      type: 'usage',
      message: expect.stringContaining('row 4'),
    });
    const both = { contact_type: 'email', objective: 'x', rows: names };
    expect((await call('contact', both)).structuredContent.error.message).toContain(
      'either objective or rows',
    );
    expect(service.spent()).toBe(spent);

    const more = { contact_type: 'email', rows: ['Lena Weber 4', ...names] };
    const second = (await call('contact', more)).structuredContent;
    expect(second.rows.map(({ stored }: { stored?: boolean }) => stored ?? false)).toEqual([
      false,
      true,
      true,
      true,
    ]);
    expect(service.spent()).toBe(spent + 5);
    const twice = { contact_type: 'email', rows: ['Lena Weber', 'Lena Weber'], again: true };
    expect((await call('contact', twice)).structuredContent.rows).toHaveLength(2);
    expect(service.spent()).toBe(spent + 10);
    const pages = { type: 'web2list', rows: ['https://example.com/a', 'https://example.com/b'], show: 1 };
    const extracted = (await call('extract', { ...pages, instruction: 'Kontora' })).structuredContent;
    expect(extracted.rows).toMatchObject([
      { items: [{}], charged: 'yes' },
      { items: [{}], charged: 'yes' },
    ]);
    await agent.close();
  });

  it('count together against the limit, and are asked about once', async () => {
    const service = await startLedgerService({});
    const env = { ...bareEnvironment(), ...pointedAt(service.url, ledgerKey) };
    await run(['config', 'set', 'price.contact.email', '5'], { env });
    const questions: string[] = [];
    for (const version of [1, 2] as const) {
      const agent = await startAgent({
        version,
        env,
        args: ['--confirm', '--max-credits', '14'],
        answer(question) {
          questions.push(question);
          return 'accept';
        },
      });
      const before = service.spent();
      const rows = [1, 2, 3].map((number) => `Lena Weber ${version} ${number}`);
      const refused = await agent.call('contact', { contact_type: 'email', rows });
      expect(refused.structuredContent.error).toMatchObject({
        type: 'over_limit',
        charged: 'no',
        message: expect.stringContaining('this can cost 15 credits, but the limit is 14'),
      });
      expect(service.spent()).toBe(before);
      const bought = await agent.call('contact', { contact_type: 'email', rows: rows.slice(1) });
      expect(bought.structuredContent).toMatchObject({ complete: true, failed: 0 });
      expect(service.spent()).toBe(before + 10);
      expect(questions).toHaveLength(version);
      expect(questions.at(-1)).toMatch(/2 look-ups.*Lena Weber . 2.*It costs at most 10 credits\./s);
      await agent.close();
    }
  });

  it('have each their own error, and what holds for all is not tried for each', async () => {
    let asked = 0;
    const service = await startFaultServer((socket, { method, body }) => {
      if (method === 'GET') return void socket.write(wholeAnswer('200 OK', 'application/json', '{}'));
      asked++;
      if (body.includes('nobody'))
        return void socket.write(errorAnswer('422 Unprocessable Content', 'invalid', 'no'));
      socket.write(errorAnswer('401 Unauthorized', 'authentication_error', 'no'));
    });
    const env = { ...bareEnvironment(), ...pointedAt(service.url) };
    const agent = await startAgent({ version: 2, env });
    const rows = ['nobody', ...Array.from({ length: 30 }, (_, number) => `Lena ${number}`)];
    const { structuredContent } = await agent.call('contact', { contact_type: 'email', rows });
    expect(structuredContent).toMatchObject({ failed: 31, complete: false, charged: 'no' });
    expect(structuredContent.rows[0].error).toMatchObject({ exit: 2 });
    expect(structuredContent.rows[30].error).toMatchObject({ exit: 4, charged: 'no' });
    expect(asked).toBeLessThanOrEqual(8);
    await agent.close();
  });
});

describe('only what is new', () => {
  it('is bought, and the same call gives the same leads again', async () => {
    const service = await startLedgerService({});
    const env = { ...bareEnvironment(), ...pointedAt(service.url, ledgerKey) };
    const agent = await startAgent({ version: 2, env });
    const first = await agent.call('search', { ...search, limit: 3 });
    const fresh = { ...search, limit: 3, only_new: true };
    const second = await agent.call('search', fresh);
    const names = [...namesOf(first), ...namesOf(second)];
    expect(new Set(names).size).toBe(6);
    expect(service.spent()).toBe(6);
    const stored = await agent.call('search', fresh);
    expect(stored.structuredContent).toMatchObject({ stored: true, charged: 'no' });
    expect(namesOf(stored)).toEqual(namesOf(second));
    const third = await agent.call('search', { ...fresh, again: true });
    expect(new Set([...names, ...namesOf(third)]).size).toBe(9);
    // Those of a task count too, though they are read at the service.
    const untilDone = async (args: object): Promise<string[]> => {
      const { leads_search_id } = (await agent.call('task_create', args)).structuredContent;
      for (;;) {
        const { complete } = (await agent.call('task_status', { leads_search_id })).structuredContent;
        if (complete) break;
      }
      return namesOf(await agent.call('task_fetch', { leads_search_id }));
    };
    const { show: _, ...task } = fresh;
    const fourth = await untilDone(task);
    const fifth = await untilDone({ ...task, again: true });
    expect(fourth).toHaveLength(3);
    expect(new Set([...names, ...namesOf(third), ...fourth, ...fifth]).size).toBe(12 + fifth.length);
    await agent.close();
  });
});

describe('limits', () => {
  let service: LedgerService;
  let env: Record<string, string>;
  beforeAll(async () => {
    service = await startLedgerService({});
    env = pointedAt(service.url, ledgerKey);
  });

  it('--max-credits is for the whole session, and a refusal says both numbers', async () => {
    const agent = await startAgent({
      version: 1,
      args: ['--max-credits', '25'],
      env: { ...bareEnvironment(), ...env },
    });
    const before = service.spent();
    expect((await agent.call('search', { ...search, limit: 20 })).structuredContent.count).toBe(20);
    const { structuredContent } = await agent.call('search', { ...search, limit: 19 });
    expect(structuredContent.error).toMatchObject({
      exit: 5,
      charged: 'no',
      message: 'this can cost 19 credits, but only 5 are left of the limit of 25; nothing was bought',
    });
    const unknown = await agent.call('research', { query: 'What is Kontora?' });
    expect(unknown.structuredContent.error).toMatchObject({
      type: 'price_unknown',
      hint: expect.stringContaining('price.research'),
    });
    expect((await agent.call('balance')).structuredContent.session).toEqual({
      max_credits: 25,
      spent_at_most: 20,
      under_way: 0,
    });
    expect(service.spent() - before).toBe(20);
    await agent.close();
  });

  it('the setting max_credits is the limit of a session that has none of its own', async () => {
    const state = { ...bareEnvironment(temporaryFolder()), ...env };
    expect((await run(['config', 'set', 'max_credits', '10'], { env: state })).code).toBe(0);
    const agent = await startAgent({ version: 1, args: [], env: state });
    const before = service.spent();
    expect((await agent.call('search', { ...search, limit: 6 })).structuredContent.count).toBe(6);
    const { structuredContent } = await agent.call('search', { ...search, limit: 5 });
    expect(structuredContent.error).toMatchObject({
      exit: 5,
      message:
        'this can cost 5 credits, but only 4 are left of the limit of 10 (setting max_credits); nothing was bought',
      hint: expect.stringContaining('leadpipe config set max_credits <credits>'),
    });
    expect(service.spent() - before).toBe(6);
    await agent.close();
  });

  it('--confirm asks the person before each purchase; who can not ask buys nothing', async () => {
    const state = { ...bareEnvironment(), ...env };
    const http = await startHttp(['--confirm'], state);
    const before = service.spent();
    let bought = 0;
    for (const version of [1, 2] as const) {
      for (const url of [undefined, http.url]) {
        const where =
          url === undefined ? { args: ['--confirm'], env: { ...bareEnvironment(), ...env } } : { url };
        const args = { ...search, limit: 2 + bought };

        const mute = await startAgent({ version, ...where });
        const refused = await mute.call('search', args);
        expect(refused.structuredContent.error).toMatchObject({
          type: 'confirmation_unavailable',
          charged: 'no',
          exit: 5,
        });
        await mute.close();

        const questions: string[] = [];
        let says: 'accept' | 'decline' = 'decline';
        const agent = await startAgent({
          version,
          ...where,
          answer(question) {
            questions.push(question);
            return says;
          },
        });
        const declined = await agent.call('search', args);
        expect(declined.structuredContent.error).toMatchObject({ type: 'declined', charged: 'no' });
        expect(service.spent() - before).toBe(bought);
        says = 'accept';
        const accepted = await agent.call('search', args);
        expect(accepted.structuredContent).toMatchObject({ complete: true, charged: 'yes' });
        // What is stored is given without a question.
        expect((await agent.call('search', args)).structuredContent.stored).toBe(true);
        expect(questions).toHaveLength(2);
        expect(questions[1]).toContain(`It costs at most ${args.limit} credits.`);
        await agent.close();
        bought += args.limit;
        expect(service.spent() - before).toBe(bought);
      }
    }
    await http.stop();
  });

  it('--confirm asks only for what the limit allows, and once for what is asked for at the same time', async () => {
    const limited = { args: ['--confirm', '--max-credits', '9'], env: { ...bareEnvironment(), ...env } };
    for (const version of [1, 2] as const) {
      let questions = 0;
      let says: 'accept' | 'fail' = 'accept';
      const agent = await startAgent({
        version,
        ...limited,
        answer() {
          questions++;
          if (says === 'fail') throw new Error('no window');
          return says;
        },
      });
      const before = service.spent();
      const dear = await agent.call('search', { ...search, limit: 10 });
      expect(dear.structuredContent.error).toMatchObject({ type: 'over_limit', charged: 'no' });
      const unpriced = await agent.call('research', { query: 'What is Kontora?' });
      expect(unpriced.structuredContent.error).toMatchObject({
        type: 'price_unknown',
        hint: expect.stringContaining('Ask the person'),
      });
      expect(questions).toBe(0);
      const args = { ...search, limit: 2 + version };
      const answers = await Promise.all([1, 2, 3].map(() => agent.call('search', args)));
      for (const { structuredContent } of answers) expect(structuredContent.count).toBe(args.limit);
      // A client that asks by itself asks for each call.
      expect(questions).toBe(version === 1 ? 1 : 3);
      expect(service.spent() - before).toBe(args.limit);
      says = 'fail';
      // The second client tells its own program that its question failed.
      if (version === 1) {
        const failed = await agent.call('search', { ...search, limit: 1 });
        expect(failed).toMatchObject({ isError: true });
        expect(failed.structuredContent.error).toMatchObject({ exit: 5, charged: 'no' });
      }
      expect(service.spent() - before).toBe(args.limit);
      await agent.close();
    }
  });

  it('without an address and a key it starts all the same, and each tool says what to do', async () => {
    const agent = await startAgent({ version: 2, env: bareEnvironment() });
    for (const [name, args] of [
      ['search', search],
      ['balance', {}],
      ['task_status', { leads_search_id: 'ls_1' }],
    ] as const) {
      const { structuredContent, isError } = await agent.call(name, args);
      expect(isError).toBe(true);
      expect(structuredContent.error).toMatchObject({
        exit: 78,
        charged: 'no',
        hint: expect.stringContaining('leadpipe auth login'),
      });
    }
    expect((await agent.call('history_list')).structuredContent).toEqual({ purchases: [] });
    await agent.close();
  });
});
