import type { EndpointName } from '../contract/endpoints.ts';
import type { EntityType, ExtractionType } from '../contract/types.ts';
import type { Request } from './row.ts';

/** Requests that are right in every way and cost little; a row changes the one thing it is about. */

const objective = 'software companies';
/** Words that hardly anybody fits. */
export const rareObjective = 'zzqx-conformance kwyjibo';

/** A search for companies, in either form. One lead, unless `change` says otherwise. */
export function companies(change: object = {}): object {
  return { entity_type: 'company', objective, limit: 1, ...change };
}

export const contact = {
  contact_type: 'email',
  objective: 'the business e-mail of the founder of Example GmbH',
};
const research = { query: 'Which software companies are there?' };
export const enrichment = {
  entity_context: 'Example GmbH. Industry: fintech. City: Berlin.',
  enrich_fields: { type: 'object', properties: { industry: { type: 'string' }, city: { type: 'string' } } },
};
export const extraction = { type: 'github_user_followers', target: 'octocat', limit: 1 };
/** Without `limit`, which these ignore: a hundred items are paid for at most. */
export const pageExtraction = {
  type: 'web2list',
  target: 'https://example.com/',
  instruction: 'all software companies',
};

export function targetOf(type: ExtractionType): string {
  return type.startsWith('github_repo')
    ? 'octocat/hello-world'
    : type.startsWith('github')
      ? 'octocat'
      : 'nasa';
}

/** Words of exactly so many bytes. */
export function sentence(bytes: number): string {
  return 'software companies in Berlin, '
    .repeat(Math.ceil(bytes / 30))
    .slice(0, bytes - 1)
    .concat('.');
}

export function objectiveOf(type: EntityType): string {
  if (type === 'company') return objective;
  return type === 'person' ? 'founders in Berlin' : type === 'shopify_store' ? 'coffee' : 'travel';
}

export const postBodies = {
  search: companies(),
  createTask: companies(),
  contactSearch: contact,
  deepSearch: research,
  enrich: enrichment,
  extract: extraction,
} as const satisfies Partial<Record<EndpointName, object>>;

export type PostEndpoint = keyof typeof postBodies;
export const postEndpoints = Object.keys(postBodies) as PostEndpoint[];

/** How the document calls the endpoints; the names of rows. */
export const names: Readonly<Record<EndpointName, string>> = {
  search: 'search',
  createTask: 'create_task',
  status: 'status',
  fetch: 'fetch',
  contactSearch: 'contact',
  deepSearch: 'deep-search',
  enrich: 'enrich',
  extract: 'extract',
  balance: 'balance',
};

export function post(endpoint: PostEndpoint, change: Partial<Request> = {}): Request {
  return { endpoint, body: postBodies[endpoint], ...change };
}

export function getTask(endpoint: 'status' | 'fetch', query: Readonly<Record<string, string>>): Request {
  return { endpoint, query };
}

/** A right request of any endpoint; those that read a task name one that nobody has. */
export function anyRequest(endpoint: EndpointName): Request {
  if (endpoint === 'balance') return { endpoint };
  if (endpoint === 'status' || endpoint === 'fetch')
    return getTask(endpoint, { leads_search_id: unknownTask });
  return post(endpoint);
}

export const unknownTask = 'conformance-no-such-task';
