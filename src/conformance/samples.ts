import type { EndpointName } from '../contract/endpoints.ts';
import { type Sample, sampleOf } from './row.ts';
import { type Request, searchIdOf, type TestedService } from './service.ts';

/** Requests that are right in every way and cost little; a row changes the one thing it is about. */

/** Words that hardly anybody fits. */
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

/** Without `limit`, which these ignore: a hundred items are paid for at most. */
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

/** How the document calls an endpoint, and rows do. */
export function nameOf(endpoint: EndpointName): string {
  const others: Record<string, string> = {
    createTask: 'create_task',
    contactSearch: 'contact',
    deepSearch: 'deep-search',
  };
  return others[endpoint] ?? endpoint;
}

/** `change` of the body, and `more` of the request. */
export function post(endpoint: PostEndpoint, change: object = {}, more: Partial<Request> = {}): Request {
  return { endpoint, body: { ...bodies[endpoint], ...change }, ...more };
}

export const unknownTask = { leads_search_id: 'conformance-no-such-task' };

/** A right request of any endpoint; those that read a task name one that nobody has. */
export function anyRequest(endpoint: EndpointName): Request {
  if (endpoint === 'status' || endpoint === 'fetch') return { endpoint, query: unknownTask };
  return endpoint === 'balance' ? { endpoint } : post(endpoint);
}

/** Done once in a run, for all rows that look at it. */
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

/** An answer that several rows look at. */
export function shared(sample: Request | Sample): Sample {
  const { sends, take } = sampleOf(sample);
  return { sends, take: once(take) };
}

type TaskEndpoint = 'status' | 'fetch';

/** A task as soon as it is created. */
export function ofNewTask(endpoint: TaskEndpoint, change: object): Sample {
  const create = post('createTask', change);
  return {
    sends: [create],
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

/** The task of seven leads that has ended; `tail` stands behind its ID. */
export function ofFinishedTask(
  endpoint: TaskEndpoint,
  query: Readonly<Record<string, string>> = {},
  more: Partial<Request> = {},
  tail = '',
): Sample {
  return {
    sends: [seven, { endpoint, ...more }],
    async take(service) {
      const leads_search_id = (await finishedTask(service)) + tail;
      return await service.send({ endpoint, query: { leads_search_id, ...query }, ...more });
    },
  };
}
