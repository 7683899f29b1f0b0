import { accepted, bodyLike, noStore } from '../expectations.ts';
import { balance } from '../resources.ts';
import type { Answer, Row, Step } from '../row.ts';
import { creditsOf } from '../tested-service.ts';

const read: Step = (service) => service.once('balance', { endpoint: 'balance' });

export const balanceRows: readonly Row[] = [
  {
    id: 'balance/body',
    rule: 'the balance has object, available_credits and, where available, two date-time texts',
    request: read,
    expect: bodyLike('a credit_balance', balance),
  },
  { id: 'balance/no-store', rule: 'the balance is not to be cached', request: read, expect: noStore },
  {
    id: 'balance/any-active-key',
    rule: 'any active key is enough for the balance',
    needs: ['no_access'],
    request: { endpoint: 'balance', apiKey: 'no_access' },
    expect: accepted(),
  },
  {
    id: 'balance/account-of-the-key',
    rule: 'the account is resolved from the API key: without credits there are none',
    needs: ['no_credits'],
    request: { endpoint: 'balance', apiKey: 'no_credits' },
    expect: accepted('available_credits below what the main key has', (answer, [main]) => {
      const [own, others] = [answer, main as Answer].map(creditsOf);
      return (own ?? 0) < (others ?? 0) ? [] : [`$.available_credits is ${own}; the main key has ${others}`];
    }),
    before: [read],
  },
];
