import type { EndpointName } from '../contract/endpoints.ts';
import type { TimeLimits } from './watch.ts';

/** Seconds, per endpoint. The slow ones really are: a deep search may think for a quarter of an hour. */
export const timeLimits: Readonly<Record<EndpointName, TimeLimits>> = {
  balance: { headers: 15, idle: 15, total: 30 },
  status: { headers: 15, idle: 15, total: 30 },
  fetch: { headers: 30, idle: 30, total: 60 },
  createTask: { headers: 60, idle: 30, total: 90 },
  contactSearch: { headers: 180, idle: 30, total: 200 },
  enrich: { headers: 300, idle: 60, total: 330 },
  deepSearch: { headers: 900, idle: 60, total: 960 },
  extract: { headers: 900, idle: 60, total: 960 },
  search: { headers: 120, idle: 90, event: 300, total: 3600 },
};
