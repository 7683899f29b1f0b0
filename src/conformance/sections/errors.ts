import type { EndpointName } from '../../contract/endpoints.ts';
import { refusal } from '../expectations.ts';
import type { KeyName, Row } from '../row.ts';
import { names, post, postEndpoints } from '../samples.ts';

/** Every paid operation, with a key that is refused for it. */
function paid(name: string, rule: string, status: number, apiKey: KeyName): Row[] {
  return postEndpoints.map((endpoint: EndpointName & (typeof postEndpoints)[number]) => ({
    id: `errors/${names[endpoint]}-${name}`,
    rule,
    needs: [apiKey],
    request: post(endpoint, { apiKey }),
    expect: refusal(status),
  }));
}

export const errorRows: readonly Row[] = [
  ...paid(
    'without-credits',
    'an account without enough credits for the request gives 402',
    402,
    'no_credits',
  ),
  ...paid('busy', 'a key that has reached its concurrency limit gives 429', 429, 'busy'),
];
