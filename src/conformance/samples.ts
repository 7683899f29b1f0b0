import type { EndpointName } from '../contract/endpoints.ts';
import {
  type Action,
  type Answer,
  type Request,
  type Step,
  searchIdOf,
  type TestedService,
} from './service.ts';

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

/** Taken once in a run, for all rows that look at its answers. */
export function shared(step: Step): Action {
  return { once: true, sends: [step], take: (service, ...earlier) => service.take(step, ...earlier) };
}

/** What costs nothing. */
export function free(take: (service: TestedService, ...earlier: Answer[]) => Promise<Answer>): Action {
  return { sends: [], take: async (...given) => [await take(...given)] };
}

export const steady = free((service) => service.steadyBalance());

/** Waits until the task that an earlier answer created has ended. */
export const ended = (created: number): Action =>
  free((service, ...earlier) => service.statusWhen(searchIdOf(earlier[created] as Answer)));

type TaskEndpoint = 'status' | 'fetch';

export const ofCreatedTask = (endpoint: TaskEndpoint): Action =>
  free((service, created) =>
    service.send({ endpoint, query: { leads_search_id: searchIdOf(created as Answer) } }),
  );

const seven = post('createTask', { limit: 7 });

/** Seven leads, once for all rows that read a task which has ended. */
const finishedTask: Action = {
  once: true,
  sends: [seven],
  async take(service) {
    const created = await service.send(seven);
    return [created, await service.statusWhen(searchIdOf(created))];
  },
};

/** `tail` stands behind its ID. */
export function ofFinishedTask(
  endpoint: TaskEndpoint,
  query: Readonly<Record<string, string>> = {},
  more: Partial<Request> = {},
  tail = '',
): Action {
  return {
    sends: [finishedTask, { endpoint, ...more }],
    async take(service) {
      const [created] = await service.take(finishedTask);
      const leads_search_id = searchIdOf(created as Answer) + tail;
      return [await service.send({ endpoint, query: { leads_search_id, ...query }, ...more })];
    },
  };
}
