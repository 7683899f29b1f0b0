import { type EndpointName, endpoints, type KeyHeader } from '../../contract/endpoints.ts';
import { accepted, refusal } from '../expectations.ts';
import type { Expectation, KeyName, Request, Row } from '../row.ts';
import { anyRequest, names, post } from '../samples.ts';
import { ofFinishedTask } from '../tested-service.ts';

const all = Object.keys(endpoints) as EndpointName[];
const unauthenticated = refusal(401);
const forbidden = refusal(403);

function each(
  name: string,
  rule: string,
  expect: Expectation,
  change: Partial<Request>,
  some: readonly EndpointName[] = all,
  needs?: readonly KeyName[],
): Row[] {
  return some.map((endpoint) => ({
    id: `authentication/${names[endpoint]}-${name}`,
    rule,
    ...(needs === undefined ? {} : { needs }),
    request: { ...anyRequest(endpoint), ...change },
    expect,
  }));
}

/** Which access Enrich and Deep Search take, and whether reading a task takes any, is not documented. */
const scoped: readonly EndpointName[] = ['search', 'createTask', 'contactSearch', 'extract'];

function malformed(name: string, authorization: string): Row {
  return {
    id: `authentication/${name}`,
    rule: 'a malformed key gives 401',
    request: { endpoint: 'balance', authorization },
    expect: unauthenticated,
  };
}

function form(endpoint: 'fetch' | 'contactSearch', keyHeader: KeyHeader): Row {
  const id = `authentication/${names[endpoint]}-${keyHeader}`;
  const rule = `the interface shows ${names[endpoint]} with ${keyHeader === 'bearer' ? 'Authorization: Bearer' : 'x-api-key'}`;
  return {
    id,
    rule,
    costs: true,
    request:
      endpoint === 'fetch' ? ofFinishedTask('fetch', {}, { keyHeader }) : post(endpoint, { keyHeader }),
    expect: accepted(),
  };
}

export const authenticationRows: readonly Row[] = [
  ...each('without-key', 'a missing key gives 401', unauthenticated, { apiKey: 'none' }),
  ...each('unknown-key', 'an unknown key gives 401', unauthenticated, { apiKey: 'unknown' }),
  malformed('bearer-without-a-key', 'Bearer'),
  malformed('basic', 'Basic bm9ib2R5Om5vdGhpbmc='),
  malformed('bearer-with-two-words', 'Bearer not a key'),
  ...each('revoked', 'a revoked key gives 403', forbidden, { apiKey: 'revoked' }, all, ['revoked']),
  ...each('expired', 'an expired key gives 403', forbidden, { apiKey: 'expired' }, all, ['expired']),
  ...each(
    'no-access',
    'a key without access to the operation gives 403',
    forbidden,
    { apiKey: 'no_access' },
    scoped,
    ['no_access'],
  ),
  form('fetch', 'x-api-key'),
  form('fetch', 'bearer'),
  form('contactSearch', 'x-api-key'),
  form('contactSearch', 'bearer'),
];
