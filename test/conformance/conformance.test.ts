import { describe, expect, it } from 'vitest';
import { endpoints } from '../../src/contract/endpoints.ts';
import type { Switches } from '../../src/local-service/switches.ts';
import { type StartedService, startService } from '../helpers/local-service.ts';
import { clientOf } from '../local-service/running.ts';
import { check } from './check.ts';
import type { RowResult } from './interpreter.ts';
import { costAtMost } from './row.ts';
import { rows } from './rows/index.ts';
import { keysOfLocalService } from './service.ts';

const openingCredits = 9000;
let service: StartedService;

/** The suite against a local service of its own; `seen` are its answers, as `<status> <path> <what is in it>`. */
async function checkLocal(
  switches: Partial<Switches> = {},
  some = rows,
  seen = new Set<string>(),
): Promise<RowResult[]> {
  const quick = { batch_pause_ms: 0, batch_size: 2, task_start_ms: 10, task_step_ms: 20, task_step: 3 };
  service = await startService({ switches: { ...quick, opening_credits: openingCredits, ...switches } });
  const options = {
    async fetch(input: string | URL | Request, init?: RequestInit) {
      const answer = await fetch(input, init);
      const text = await answer.clone().text();
      const [form = ''] =
        /"success":(true|false)|"content":(null|")|"object":"entity_search_batch"/.exec(text) ?? [];
      seen.add([answer.status, new URL(String(input)).pathname, form].join(' ').trim());
      return answer;
    },
    baseUrl: new URL(service.url),
    keys: keysOfLocalService,
    pollMs: 4,
  };
  return await check(options, some);
}

const failures = (results: readonly RowResult[]) =>
  results.filter(({ result }) => result === 'failed').map(({ row }) => row);
const oddOnes = (results: readonly RowResult[]) => results.filter(({ result }) => result !== 'passed');

describe('the conformance suite', () => {
  it('names every row once', () => {
    const ids = rows.map(({ id }) => id);
    expect(ids.filter((id, at) => ids.indexOf(id) !== at)).toEqual([]);
    expect(ids.filter((id) => !/^[a-z_-]+\/[a-z0-9_-]+$/.test(id))).toEqual([]);
  });

  it('passes against the local service, every row and form of it, for no more than was said', async () => {
    const seen = new Set<string>();
    const results = await checkLocal({ price_enrich_fields: 0, price_web_search: 0 }, rows, seen);
    expect(oddOnes(results)).toEqual([]);
    expect(results).toHaveLength(rows.length);
    expect([...seen]).toEqual(
      expect.arrayContaining([
        '200 /v1/entity-search "object":"entity_search_batch"',
        '200 /v1/contact-search "content":"',
        '200 /v1/contact-search "content":null',
        ...['deep-search', 'enrich', 'extract'].flatMap((name) =>
          [true, false].map((success) => `200 /v1/${name} "success":${success}`),
        ),
        ...Object.values(endpoints).map(({ path }) => `401 ${path}`),
      ]),
    );
    const prices = {
      'search lead': 1,
      'task lead': 1,
      'email lookup': 5,
      'phone lookup': 10,
      'research question': 20,
      enrichment: 2,
      'extracted item': 1,
    };
    const counts = costAtMost(rows);
    expect([...counts.keys()].sort()).toEqual(Object.keys(prices).sort());
    const bound = Object.entries(prices).reduce(
      (sum, [unit, price]) => sum + price * (counts.get(unit) ?? 0),
      0,
    );
    const spent = openingCredits - (await clientOf(service.url).balance());
    console.log(`conformance: ${results.length} rows for ${spent} of at most ${bound} credits`);
    expect(spent).toBeLessThanOrEqual(bound);
    expect(spent).toBeGreaterThan(bound / 3);
  });

  it('takes what the switches of the local service leave open', async () => {
    const switches = {
      error_type_at: 'error.code',
      auth_header: 'documented',
      extract_replay: 'off',
      contact_billing: 'per_request',
      no_result_bills: 'yes',
      stream_fetch: 'on',
    } as const;
    const some = rows.filter(
      ({ id }) => !/^(search|create_task|enrich|extract)\/.*-(\d|missing|null|a-)/.test(id),
    );
    expect(oddOnes(await checkLocal(switches, some))).toEqual([]);
  });

  it('skips what is not enabled, and fails nothing for it', async () => {
    const some = rows.filter(({ id }) =>
      /^(contact|extract|fetch|status|create_task|settlement|errors)\//.test(id),
    );
    const results = await checkLocal({ disabled: 'phone,extract,wechat,createTask' }, some);
    expect(failures(results)).toEqual([]);
    const skipped = results.filter(({ result }) => result === 'skipped').map(({ row }) => row);
    expect(skipped).toEqual(expect.arrayContaining(['contact/body-phone', 'extract/body', 'fetch/body']));
    expect(skipped).not.toContain('contact/body-email');
  });
});
