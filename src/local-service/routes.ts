import type { EndpointName } from '../contract/endpoints.ts';
import { balance } from './routes/balance.ts';
import { contactSearch } from './routes/contact-search.ts';
import { deepSearch } from './routes/deep-search.ts';
import { enrich } from './routes/enrich.ts';
import { extract } from './routes/extract.ts';
import { search } from './routes/search.ts';
import { createTask, fetchPage, status } from './routes/tasks.ts';
import type { Exchange, Service } from './service.ts';

/** What answers each endpoint of the contract. */
export const routes: Readonly<Record<EndpointName, (service: Service, exchange: Exchange) => Promise<void>>> =
  {
    search,
    createTask,
    status,
    fetch: fetchPage,
    contactSearch,
    deepSearch,
    enrich,
    extract,
    balance,
  };
