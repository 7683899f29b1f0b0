import { describe, expect, it } from 'vitest';
import {
  toBalance,
  toCreatedRecord,
  toPage,
  toSearchEvents,
  toStatus,
  toStatusRecord,
} from '../../src/answers.ts';
import { objectMembers } from '../../src/json/text.ts';

const balanceOf = (credits: string) =>
  toBalance(objectMembers(`{"object":"credit_balance","available_credits":${credits}}`));

describe('values that the document leaves open are accepted', () => {
  it.each([
    ['-3', -3],
    ['9007199254740993', 9007199254740992],
    ['1e400', Number.POSITIVE_INFINITY],
    ['7.5', 7.5],
  ])('a balance of %s', (credits, value) => {
    expect(balanceOf(credits)).toEqual({ available_credits: value });
  });

  it.each(['"7"', 'null', '[7]'])('but no balance that is %s', (credits) => {
    expect(balanceOf(credits)).toBe('`available_credits`');
  });

  it('an unknown task state and stop reason', () => {
    const status = { status: 'paused', ready_count: 3, verified_count: 4, stop_reason: 'lunch' };
    expect(toStatus(objectMembers(JSON.stringify({ status })))).toEqual({
      status: { status: 'paused', ready_count: 3, stop_reason: 'lunch' },
    });
    const page = { status: 'paused', pts: 0, num: 5, count: 0, ready_count: 3, limit: 9, entities: [] };
    expect(toPage(objectMembers(JSON.stringify(page)))).toEqual({ ...page, leads_search_id: undefined });
  });

  it('unknown members of events', () => {
    const done = '{"object":"entity_search_done","x":1,"cum_count":2,"stop_reason":"x","finish":true}';
    expect(toSearchEvents({ event: 'tomorrow', data: done })).toEqual([
      {
        kind: 'done',
        done: { leads_search_id: undefined, cum_count: 2, stop_reason: 'x' },
        finished: true,
      },
    ]);
  });
});

describe('records', () => {
  it.each([
    ['{"status": {"status":"done","n": 1.10} }', '{"leads_search_id":"ls","status":"done","n": 1.10}'],
    [
      '{"credits":2,"status":{"status":"done","leads_search_id":"ls"},"status_of":"x"}',
      '{"leads_search_id":"ls","status":"done","credits":2,"status_of":"x"}',
    ],
    [
      '{"status":{"status":"done","leads_search_id":"other"},"leads_search_id":"ls"}',
      '{"leads_search_id":"ls","status":"done","service_leads_search_id":"other"}',
    ],
  ])('of a status have the other members of the answer, and no name twice: %s', (answer, record) => {
    expect(toStatusRecord('ls', answer)).toBe(record);
  });

  it('of a creation have what else the service said', () => {
    const answer = {
      text: '{"eta":12,"leads_search_id":"ls","request_id":"mine"}',
      value: { leads_search_id: 'ls' },
      requestId: 'req',
      idempotencyKey: undefined,
      serverTime: undefined,
    };
    expect(toCreatedRecord(answer, 'key')).toBe(
      '{"leads_search_id":"ls","idempotency_key":"key","request_id":"req","eta":12,"service_request_id":"mine"}',
    );
  });
});
