import type { CreditBalance } from '../../contract/types.ts';
import { authenticate, endOrphans, openAccount } from '../admission.ts';
import { answer, noStore } from '../answer.ts';
import type { Exchange, Service } from '../service.ts';
import { fundsOf } from '../store.ts';

/** GET /v1/credit/balance */
export async function balance(service: Service, exchange: Exchange): Promise<void> {
  const caller = authenticate(service, exchange);
  const funds = service.store.transaction((rows) => {
    openAccount(rows, caller, service.switches.opening_credits, service.now());
    endOrphans(service, rows);
    return fundsOf(rows, caller.key.account);
  });
  const body: CreditBalance = {
    object: 'credit_balance',
    available_credits: funds?.available ?? 0,
    updated_at: new Date(funds?.updatedAt ?? service.now()).toISOString().slice(0, 19).replace('T', ' '),
  };
  answer(exchange, 200, body, noStore);
}
