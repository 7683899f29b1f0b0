import { once } from 'node:events';
import { request } from 'node:http';
import { describe, expect, it } from 'vitest';
import { FileError, SwitchError, toSwitches } from '../../src/local-service/server.ts';
import { createSwitches, switchTable } from '../../src/local-service/switches.ts';
import { fileOf } from '../helpers/local-service.ts';
import { temporaryFolder } from '../helpers/run.ts';
import { errorOf, expectToAddUp, type FoundLead, payloads, running } from './running.ts';

const rehearse = (...faults: object[]) => running({ faults, switches: { opening_credits: 1000 } });
const same = { 'idempotency-key': 'same' };

/** What arrived of a stream, however it ended. */
async function arrived(answer: Response): Promise<{ text: string; whole: boolean }> {
  let text = '';
  const decoder = new TextDecoder();
  try {
    for await (const chunk of answer.body as ReadableStream<Uint8Array>)
      text += decoder.decode(chunk, { stream: true });
    return { text, whole: true };
  } catch {
    return { text, whole: false };
  }
}

describe('a rehearsed fault', () => {
  it('status: any status with any headers, for as many requests as it says', async () => {
    const html = { 'content-type': 'text/html' };
    const service = await rehearse(
      {
        operation: 'balance',
        skip: 1,
        count: 2,
        fault: 'status',
        status: 429,
        headers: { 'Retry-After': '7' },
      },
      { operation: '*', fault: 'status', status: 502, body: '<html>', headers: html },
    );
    const answers: Response[] = [];
    for (let index = 0; index < 4; index += 1) answers.push(await service.ask('balance'));
    // The first is let through by one fault and hit by the next.
    expect(answers.map(({ status }) => status)).toEqual([502, 429, 429, 200]);
    expect(await answers[0]?.text()).toBe('<html>');
    expect(answers[0]?.headers.get('content-type')).toBe('text/html');
    expect(answers[1]?.headers.get('retry-after')).toBe('7');
    expect(await errorOf(answers[2] as Response)).toBe('429 concurrency_limit');
  });

  it.each(['search', 'contactSearch', 'createTask'] as const)(
    'status after admission of %s: the reservation is released, the key is used',
    async (name) => {
      const service = await rehearse({ operation: name, fault: 'status', status: 500, admitted: true });
      expect(await errorOf(await service.ask(name, {}, same))).toBe('500 internal_error');
      expect(await errorOf(await service.ask(name, {}, same))).toBe('409 request_already_exists');
      expect(await service.balance()).toBe(1000);
    },
  );

  it.each([
    ['lost_response: done and charged, without an answer', 995],
    ['reset: nothing is done', 1000],
  ])('%s', async (told, left) => {
    const service = await rehearse({ operation: 'contactSearch', fault: told.split(':')[0] });
    await expect(service.ask('contactSearch')).rejects.toThrow();
    expect(await service.balance()).toBe(left);
  });

  it('lost_response of create_task: its repetition finds the task', async () => {
    const service = await rehearse({ operation: 'createTask', fault: 'lost_response' });
    await expect(service.ask('createTask', {}, same)).rejects.toThrow();
    await service.json('createTask', {}, same);
    expect(await service.balance()).toBe(900);
  });

  it('cut: half of a JSON answer', async () => {
    const service = await rehearse({ operation: 'contactSearch', fault: 'cut' });
    const { text, whole } = await arrived(await service.ask('contactSearch'));
    expect(whole).toBe(false);
    expect(text).toMatch(/^\{"object":/);
  });

  it.each([
    ['cut', true],
    ['reset', false],
  ])('%s: a stream ends after this number of batches, and is charged for them', async (fault, clean) => {
    const service = await rehearse({ operation: 'search', fault, after_batches: 1 });
    const { text, whole } = await arrived(await service.ask('search'));
    expect(whole).toBe(clean);
    expect(payloads(text)).toMatchObject([{ batch_index: 1, count: 2 }]);
    expect(await service.balance()).toBe(998);
  });

  it('stall: a stream goes silent and stays open', async () => {
    const service = await rehearse({ operation: 'search', fault: 'stall', after_batches: 1 });
    const answer = await service.ask('search');
    const reader = (answer.body as ReadableStream<Uint8Array>).getReader();
    expect(payloads(new TextDecoder().decode((await reader.read()).value))).toHaveLength(1);
    await expect.poll(() => service.balance()).toBe(998);
    await reader.cancel();
  });

  it.each([{ fault: 'stall' }, { fault: 'delay', delay_ms: 3_600_000 }])(
    '%j: no answer, and the others are served',
    async (fault) => {
      const service = await rehearse({ operation: 'status', ...fault });
      const silent = service.ask('status', { leads_search_id: 'x' }).then(
        () => 'answered',
        () => 'cut',
      );
      expect(await Promise.race([silent, service.balance()])).toBe(1000);
      await service.close();
      expect(await silent).toBe('cut');
    },
  );

  it('duplicate_batch: the same frame twice', async () => {
    const service = await rehearse({ operation: 'search', fault: 'duplicate_batch', after_batches: 2 });
    const events = payloads(await (await service.ask('search')).text());
    expect(events.map(({ batch_index }) => batch_index)).toEqual([1, 2, 2, undefined, undefined]);
    expect(events[1]).toEqual(events[2]);
    expect(await service.balance()).toBe(996);
  });

  it('task_error: some results, then error, charged for those', async () => {
    const service = await rehearse({ operation: 'createTask', fault: 'task_error', after_batches: 1 });
    const { leads_search_id } = await service.json('createTask');
    service.clock.forward(60_000);
    const expected = { status: 'error', count: 2, ready_count: 2 };
    expect(await service.json('fetch', { leads_search_id })).toMatchObject(expected);
    expect(await service.balance()).toBe(998);
  });

  it('delay: the same answer, later', async () => {
    const service = await rehearse({ operation: 'balance', fault: 'delay', delay_ms: 20 });
    expect(await service.balance()).toBe(1000);
  });
});

describe('closing', () => {
  it('ends what stalls, and the ledger adds up', async () => {
    const service = await rehearse({ operation: 'search', fault: 'stall', after_batches: 1 });
    const rest = arrived(await service.ask('search'));
    await service.close();
    expect((await rest).whole).toBe(false);
    expect(expectToAddUp(service.stateDir)).toMatchObject([{ reserved: 0, settled: 2 }]);
  });

  it('does not wait for a body that never comes', async () => {
    const service = await running();
    const headers = { 'content-type': 'application/json', 'x-api-key': 'lp_local_demo' };
    const sent = request(`${service.url}/v1/deep-search`, {
      method: 'POST',
      headers: { ...headers, 'content-length': 1000 },
    });
    const ended = once(sent, 'error');
    sent.write('{"query":');
    await once(sent, 'socket').then(([socket]) => socket.connecting && once(socket, 'connect'));
    await service.balance();
    await service.close();
    await ended;
  });

  it('a port in use is an error, and leaves nothing open', async () => {
    const { url } = await running();
    const stateDir = temporaryFolder();
    await expect(running({ stateDir, port: Number(new URL(url).port) })).rejects.toThrow('EADDRINUSE');
    expect(expectToAddUp(stateDir)).toEqual([]);
  });
});

const all = { operation: '*', fault: 'cut' };
it.each<[object, RegExp]>([
  [{}, /"faults" must be an array/],
  [{ faults: [{ ...all, operation: 'nothing' }] }, /fault 1: operation must be one of/],
  [{ faults: [{ ...all, fault: 'explode' }] }, /fault must be one of/],
  [{ faults: [{ ...all, count: -1 }] }, /count must be a whole number/],
  [{ faults: [{ ...all, status: 99 }] }, /status must be a whole number from 200 to 599/],
  [{ faults: [{ ...all, headers: { 'a b': 'c' } }] }, /header a b is not valid/],
  [{ faults: [{ ...all, after: 1 }] }, /unknown field "after"/],
  [{ faults: [{ ...all, delay_ms: 2 ** 31 }] }, /delay_ms must be .* to 2147483647/],
])('the scenario file %j is refused', async (scenario, message) => {
  const scenarioFile = fileOf('scenario.json', JSON.stringify(scenario));
  await expect(running({ scenarioFile })).rejects.toThrow(message);
  await expect(running({ scenarioFile })).rejects.toBeInstanceOf(FileError);
});

describe('switches', () => {
  it('next_refresh_s: the balance names the next refresh', async () => {
    const service = await running({ switches: { next_refresh_s: 3600 } });
    expect(await service.json('balance')).toMatchObject({ next_credit_refresh_at: '2026-01-05 13:00:00' });
  });

  it.each(['rejected_streak', 'no_data_timeout'] as const)('%s: a search ends there', async (name) => {
    const service = await running({ switches: { [name]: 3 } });
    const done = async (changes?: object) => (await service.search(changes)).done;
    expect(await done()).toMatchObject({ cum_count: 3, stop_reason: name });
    expect(await done({ limit: 3 })).toMatchObject({ cum_count: 3, stop_reason: 'limit' });
    expect(await done({ objective: 'fintech in Madrid' })).toMatchObject({ stop_reason: 'source_finished' });
    expect(await service.balance()).toBe(100_000 - 7);
  });

  it('web_only: leads that only a web search finds', async () => {
    const service = await running({ switches: { web_only: 2, task_start_ms: 0, task_step_ms: 0 } });
    const found = async (enable_web_search: boolean) => {
      const { leads_search_id } = await service.json('createTask', { enable_web_search });
      const { entities } = await service.json('fetch', { leads_search_id });
      return entities.map(({ name }: FoundLead) => name).sort();
    };
    expect(await found(false)).toEqual(['Kontora', 'Zahlstelle']);
    expect(await found(true)).toEqual(['Kontora', 'Mandato', 'Pfandwerk', 'Zahlstelle']);
  });

  it('are read from name=value', () => {
    const given = ['batch_size=3', 'disabled=phone,wechat', 'stream_fetch=on'];
    const expected = {
      batch_size: 3,
      disabled: 'phone,wechat',
      stream_fetch: 'on',
      opening_credits: 100_000,
    };
    expect(createSwitches(toSwitches(given))).toMatchObject(expected);
  });

  it.each(['nothing=1', 'batch_size', 'batch_size=x', 'batch_size=-1', 'stream_fetch=maybe', '__proto__=1'])(
    '%s is refused',
    (text) => {
      expect(() => toSwitches([text])).toThrow(SwitchError);
    },
  );

  const timers = Object.keys(switchTable).filter((name) => name.endsWith('_ms'));
  it.each(timers)('%s is not longer than a timer can wait', (name) => {
    expect(toSwitches([`${name}=2147483647`])).toEqual({ [name]: 2_147_483_647 });
    expect(() => toSwitches([`${name}=2147483648`])).toThrow(
      `the switch ${name} must be a whole number from 0 to 2147483647`,
    );
  });
});
