import { accepted, bodyLike, noStore } from '../expectations.ts';
import { balance } from '../resources.ts';
import type { Answer, Row, Step } from '../row.ts';
import { creditsOf } from '../tested-service.ts';

const read: Step = (service) => service.once('balance', { endpoint: 'balance' });

export const balanceRows: readonly Row[] = [
  {
    id: 'balance/body',
    rule: 'the balance has object, available_credits and, if there are any, two date-time texts',
    request: read,
    expect: bodyLike('a credit_balance', balance),
  },
  { id: 'balance/no-store', rule: 'the balance must not be cached', request: read, expect: noStore },
  {
    id: 'balance/any-active-key',
    rule: 'any active key is enough for the balance',
    needs: ['no_access'],
    request: { endpoint: 'balance', apiKey: 'no_access' },
    expect: accepted(),
  },
  {
    id: 'balance/account-of-the-key',
    rule: 'the API key decides the account: an account without credits shows none',
    needs: ['no_credits'],
    request: { endpoint: 'balance', apiKey: 'no_credits' },
    expect: accepted('fewer available_credits than the main key', (answer, [main]) => {
      const [own, others] = [answer, main as Answer].map(creditsOf);
      return (own ?? 0) < (others ?? 0) ? [] : [`$.available_credits is ${own}; the main key has ${others}`];
    }),
    before: [read],
  },
];
