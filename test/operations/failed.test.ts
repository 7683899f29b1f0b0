import { expect, it } from 'vitest';
import { endpoints } from '../../src/contract/endpoints.ts';
import { isGone } from '../../src/operations/kinds/failed.ts';
import { RequestError } from '../../src/transport/request-error.ts';

it.each([
  ['already_exists', 'refused', true],
  ['already_exists', 'may-replay', false],
  ['conflict', 'refused', true],
  ['conflict', 'may-replay', true],
  ['garbled', 'refused', true],
  ['unsent', 'refused', false],
] as const)('an answer that was lost, then %s of what is %s: it is gone: %s', (fault, repetition, gone) => {
  const cause = new RequestError(fault, endpoints.contactSearch, 'no');
  const lost = new RequestError('lost', endpoints.contactSearch, 'lost', { cause });
  expect(isGone(lost, repetition)).toBe(gone);
});
