import { type EndpointName, endpoints } from '../../src/contract/endpoints.ts';
import type { Entity } from '../../src/contract/types.ts';
import { openStore } from '../../src/local-service/store.ts';
import { loadSqlite, type Rows } from '../../src/sqlite/database.ts';
import { audit } from '../helpers/audit.ts';
import { machineClock } from '../helpers/clock.ts';
import { closing } from '../helpers/closing.ts';
import { type ServiceOptions, startService } from '../helpers/local-service.ts';

await loadSqlite();

/** A clock whose wall time stands still until it is moved, so that tasks advance when a test says so. */
class SteppedClock {
  time = Date.UTC(2026, 0, 5, 12);
  now = (): Date => new Date(this.time);
  monotonic = machineClock.monotonic;
  after = machineClock.after;
  forward(ms: number): void {
    this.time += ms;
  }
}

/** A request of each operation that is paid for, as it should be. */
export const usual: Partial<Record<EndpointName, object>> = {
  search: { entity_type: 'company', objective: 'fintech' },
  createTask: { entity_type: 'company', objective: 'fintech' },
  contactSearch: { contact_type: 'email', objective: 'Lena Weber' },
  deepSearch: { query: 'What is Kontora?' },
  enrich: {
    entity_context: 'Kontora',
    enrich_fields: { type: 'object', properties: { city: { type: 'string' } } },
  },
  extract: { type: 'web2list', target: 'https://example.com/list', instruction: 'fintech in Berlin' },
};
export const operations = Object.keys(endpoints) as EndpointName[];
export const paid = Object.keys(usual) as EndpointName[];

/** A lead as a search brings it. */
export type FoundLead = Entity & {
  readonly name: string;
  readonly description: string;
  score: { score: string; reason: string };
};

interface RunningOptions extends Omit<ServiceOptions, 'clock' | 'leads'> {
  /** `demonstration`: those that come along. */
  readonly leads?: readonly object[] | 'demonstration';
  readonly clock?: SteppedClock;
}
export type Running = Awaited<ReturnType<typeof running>>;

/** A local service over a small catalogue, closed after the test; its ledger must add up then. */
export async function running(options: RunningOptions = {}) {
  const { leads = someLeads, clock = new SteppedClock(), ...rest } = options;
  const hasOwn = leads !== 'demonstration' && rest.catalogFile === undefined;
  const service = await startService({
    ...rest,
    ...(hasOwn && { leads: leads.map((lead) => JSON.stringify(lead)) }),
    clock,
    switches: { batch_pause_ms: 0, batch_size: 2, ...options.switches },
  });
  return closing({
    ...service,
    ...clientOf(service.url),
    clock,
    async close() {
      await service.close();
      expectToAddUp(service.stateDir);
    },
  });
}

/** What asks a service at this address, with the demo key unless `headers` has another. */
export function clientOf(url: string) {
  /** POSTs a body as it is. */
  const post = (path: string, body: unknown, headers: Record<string, string> = {}): Promise<Response> =>
    fetch(`${url}${path}`, {
      method: 'POST',
      body: typeof body === 'string' ? body : JSON.stringify(body),
      headers: { 'content-type': 'application/json', ...keyed(headers) },
    });
  /** Asks for the usual with some changes, or for a query; a task with a new Idempotency-Key unless it is given. */
  const ask = (name: EndpointName, changes: object = {}, headers: Record<string, string> = {}) => {
    const { path, method } = endpoints[name];
    const query = new URLSearchParams(changes as Record<string, string>);
    if (method === 'GET') return fetch(`${url}${path}?${query}`, { headers: keyed(headers) });
    const key = name === 'createTask' ? { 'idempotency-key': crypto.randomUUID() } : {};
    return post(path, { ...usual[name], ...changes }, { ...key, ...headers });
  };
  // biome-ignore lint/suspicious/noExplicitAny: of any form
  const json = async (...[name, changes, headers]: Parameters<typeof ask>): Promise<any> => {
    const answer = await ask(name, changes, headers);
    if (answer.status !== 200) throw new Error(await errorOf(answer));
    return answer.json();
  };
  return {
    post,
    ask,
    json,
    /** The leads of a stream, and its done event. */
    async search(changes: object = {}, headers: Record<string, string> = {}) {
      const answer = await ask('search', changes, headers);
      if (answer.status !== 200) throw new Error(await errorOf(answer));
      const events = payloads(await answer.text());
      const leads: FoundLead[] = events.flatMap(({ entities }) => entities ?? []);
      return { leads, id: String(events[0].leads_search_id), done: events.at(-2) };
    },
    balance: async (): Promise<number> => (await json('balance')).available_credits,
  };
}

function keyed(headers: Record<string, string>): Record<string, string> {
  const given = Object.keys(headers).some((name) => /^(x-api-key|authorization)$/i.test(name));
  return given ? headers : { 'x-api-key': 'lp_local_demo', ...headers };
}

/** Works on a state, beside a service or alone. */
export function withRows<Result>(stateDir: string, work: (rows: Rows) => Result): Result {
  const store = openStore({ stateDir, pid: process.pid, monotonic: machineClock.monotonic });
  try {
    return store.transaction(work);
  } finally {
    store.close();
  }
}

/** Throws what does not add up in a state. */
export function expectToAddUp(stateDir: string): ReturnType<typeof audit>['accounts'] {
  const { accounts, faults } = withRows(stateDir, (rows) => audit({ transaction: (work) => work(rows) }));
  if (faults.length > 0) throw new Error(faults.join('\n'));
  return accounts;
}

/** The payloads of a stream, parsed; the last is the text `[DONE]` when it is complete. */
// biome-ignore lint/suspicious/noExplicitAny: of any form
export function payloads(stream: string): any[] {
  const frames = stream.split('\n\n').filter((frame) => frame.startsWith('data: '));
  return frames
    .map((frame) => frame.slice('data: '.length))
    .map((payload) => (payload === '[DONE]' ? payload : JSON.parse(payload)));
}

/** `200`, or the status and the type of a refusal. */
export async function outcomeOf(answer: Response): Promise<string> {
  if (answer.status >= 400) return errorOf(answer);
  await answer.text();
  return String(answer.status);
}

export async function errorOf(answer: Response): Promise<string> {
  const { error } = (await answer.json()) as { error: { type?: string } };
  return `${answer.status} ${error.type}`;
}

const person = (name: string, title: string, company: string, city: string, contact: object) => ({
  entity_type: 'person',
  name,
  links: { linkedin_url: `https://linkedin.example/in/${name.toLowerCase().replaceAll(' ', '-')}` },
  description: `${title} at ${company} in ${city}.`,
  facts: { title, company, city },
  contact,
});

const company = (name: string, industry: string, stage: string, city: string, headcount: number) => ({
  entity_type: 'company',
  name,
  links: { website: `https://${name.toLowerCase()}.example` },
  description: `${name} is a ${stage} ${industry} company from ${city}.`,
  facts: { industry, funding_stage: stage, city, headcount },
  contact: { email: `hello@${name.toLowerCase()}.example`, phone: null },
});

export const someLeads: readonly object[] = [
  company('Kontora', 'fintech', 'seed', 'Berlin', 12),
  company('Pfandwerk', 'fintech', 'seed', 'Berlin', 30),
  company('Zahlstelle', 'fintech', 'Series A', 'Berlin', 80),
  company('Mandato', 'fintech', 'seed', 'Madrid', 25),
  company('Grünlicht', 'climate tech', 'seed', 'Berlin', 40),
  company('Solana Verde', 'climate tech', 'Series B', 'Madrid', 200),
  person('Lena Weber', 'CTO', 'Kontora', 'Berlin', {
    email: 'lena@kontora.example',
    phone: '+49 30 5550 101',
  }),
  person('Ana Ruiz', 'CEO', 'Mandato', 'Madrid', { email: 'ana@mandato.example', phone: null }),
  {
    entity_type: 'youtube_creator',
    name: 'Warm Planet',
    links: { youtube_url: 'https://youtube.example/@warmplanet' },
    description: 'A climate podcast.',
    facts: { topic: 'climate', format: 'podcast', subscribers: 250_000 },
  },
  {
    entity_type: 'youtube_creator',
    name: 'Small Warm Planet',
    links: { youtube_url: 'https://youtube.example/@smallwarmplanet' },
    description: 'Another climate podcast.',
    facts: { topic: 'climate', format: 'podcast', subscribers: '90,000' },
  },
  {
    entity_type: 'xiaohongshu',
    name: '山月的咖啡日记',
    links: { xiaohongshu_url: 'https://xiaohongshu.example/user/shanyue' },
    description: '坐标上海，记录咖啡日常。',
    facts: { topic: '咖啡', city: '上海', followers: 151_000 },
  },
];
