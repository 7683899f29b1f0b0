import type { EndpointName } from '../../../src/contract/endpoints.ts';
import { type Sample, sampleOf } from '../row.ts';
import { type Request, searchIdOf, type TestedService } from '../service.ts';

/** Correct requests that cost little. A row changes the one thing that it is about. */

/** Words that fit hardly anybody. */
export const rare = { objective: 'zzqx-conformance kwyjibo' };
const company = { entity_type: 'company', objective: 'software companies', limit: 1 };

const bodies = {
  search: company,
  createTask: company,
  contactSearch: { contact_type: 'email', objective: 'the business e-mail of the founder of Example GmbH' },
  deepSearch: { query: 'Which software companies are there?' },
  enrich: {
    entity_context: 'Example GmbH. Industry: fintech. City: Berlin.',
    enrich_fields: { type: 'object', properties: { industry: { type: 'string' }, city: { type: 'string' } } },
  },
  extract: { type: 'github_user_followers', target: 'octocat', limit: 1 },
} as const satisfies Partial<Record<EndpointName, object>>;

/** Without `limit`, which is ignored here: at most a hundred items are paid for. */
export const pageList = {
  type: 'web2list',
  target: 'https://example.com/',
  instruction: 'all software companies',
  limit: undefined,
};

export type PostEndpoint = keyof typeof bodies;
/** The two forms of Entity Search. */
export type Form = 'search' | 'createTask';
export const postEndpoints = Object.keys(bodies) as PostEndpoint[];

/** The name of an endpoint in the interface, which rows use, too. */
export function nameOf(endpoint: EndpointName): string {
  const others: Record<string, string> = {
    createTask: 'create_task',
    contactSearch: 'contact',
    deepSearch: 'deep-search',
  };
  return others[endpoint] ?? endpoint;
}

/** A request with a `change` of the body, and `more` of the request. */
export function post(endpoint: PostEndpoint, change: object = {}, more: Partial<Request> = {}): Request {
  return { endpoint, body: { ...bodies[endpoint], ...change }, ...more };
}

export const unknownTask = { leads_search_id: 'conformance-no-such-task' };

/** A correct request to any endpoint. Those that read a task name one that does not exist. */
export function anyRequest(endpoint: EndpointName): Request {
  if (endpoint === 'status' || endpoint === 'fetch') return { endpoint, query: unknownTask };
  return endpoint === 'balance' ? { endpoint } : post(endpoint);
}

/** Done once in a run, for all rows that need it. */
export function once<T>(
  take: (service: TestedService) => Promise<T>,
): (service: TestedService) => Promise<T> {
  const taken = new WeakMap<TestedService, Promise<T>>();
  return (service) => {
    const result = taken.get(service) ?? take(service);
    taken.set(service, result);
    return result;
  };
}

/** An answer that several rows check. */
export function shared(sample: Request | Sample): Sample {
  const { pays, take } = sampleOf(sample);
  return { pays, take: once(take) };
}

type TaskEndpoint = 'status' | 'fetch';

/** A task that has just been created. */
export function ofNewTask(endpoint: TaskEndpoint, change: object): Sample {
  const create = post('createTask', change);
  return {
    pays: [create],
    take: async (service) =>
      await service.send({ endpoint, query: { leads_search_id: searchIdOf(await service.send(create)) } }),
  };
}

const seven = post('createTask', { limit: 7 });
const finishedTask = once(async (service) => {
  const id = searchIdOf(await service.send(seven));
  await service.statusWhen(id);
  return id;
});

/** A finished task with seven leads. `tail` is added to its ID. */
export function ofFinishedTask(
  endpoint: TaskEndpoint,
  query: Readonly<Record<string, string>> = {},
  more: Partial<Request> = {},
  tail = '',
): Sample {
  return {
    pays: [seven],
    async take(service) {
      const leads_search_id = (await finishedTask(service)) + tail;
      return await service.send({ endpoint, query: { leads_search_id, ...query }, ...more });
    },
  };
}
