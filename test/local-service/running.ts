import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import type { Rows } from '../../src/local-service/database.ts';
import { loadSqlite } from '../../src/local-service/database.ts';
import {
  type LocalService,
  type LocalServiceOptions,
  startLocalService,
} from '../../src/local-service/server.ts';
import { openStore } from '../../src/local-service/store.ts';
import { audit } from '../helpers/audit.ts';

await loadSqlite();

/** A clock whose wall time stands still until it is moved, so that tasks advance when a test says so. */
export class SteppedClock {
  time = Date.UTC(2026, 0, 5, 12);
  now = (): Date => new Date(this.time);
  monotonic = (): number => performance.now();
  after = (ms: number, callback: () => void): (() => void) => {
    const timer = setTimeout(callback, ms);
    return () => clearTimeout(timer);
  };
  forward(ms: number): void {
    this.time += ms;
  }
}

/** A folder that is gone after the test. */
export function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'leadpipe-local-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

export interface Running extends LocalService {
  readonly stateDir: string;
  readonly clock: SteppedClock;
  /** POSTs JSON, with the demo key unless `headers` has another. */
  post(path: string, body: unknown, headers?: Record<string, string>): Promise<Response>;
  get(path: string, headers?: Record<string, string>): Promise<Response>;
  balance(key?: string): Promise<number>;
}

export interface RunningOptions extends Partial<Omit<LocalServiceOptions, 'clock'>> {
  /** `demonstration`: those that come along. */
  readonly leads?: readonly object[] | 'demonstration';
  readonly scenario?: object;
  readonly clock?: SteppedClock;
}

/** A local service over a small catalogue, closed after the test; its ledger must add up then. */
export async function running(options: RunningOptions = {}): Promise<Running> {
  const { leads = someLeads, scenario, ...rest } = options;
  const stateDir = options.stateDir ?? temporaryFolder();
  const folder = temporaryFolder();
  const catalogFile = leads === 'demonstration' ? undefined : join(folder, 'leads.jsonl');
  if (catalogFile !== undefined && leads !== 'demonstration')
    writeFileSync(catalogFile, leads.map((lead) => JSON.stringify(lead)).join('\n'));
  const scenarioFile = join(folder, 'scenario.json');
  if (scenario !== undefined) writeFileSync(scenarioFile, JSON.stringify(scenario));
  const clock = options.clock ?? new SteppedClock();
  const service = await startLocalService({
    port: 0,
    pid: process.pid,
    catalogFile,
    ...(scenario === undefined ? {} : { scenarioFile }),
    ...rest,
    stateDir,
    clock,
    switches: { batch_pause_ms: 0, batch_size: 2, ...options.switches },
  });
  let closed = false;
  const close = async () => {
    if (closed) return;
    closed = true;
    await service.close();
    expectToAddUp(stateDir);
  };
  onTestFinished(close);
  const call = (path: string, init: RequestInit) => globalThis.fetch(`${service.url}${path}`, init);
  return {
    ...service,
    close,
    stateDir,
    clock,
    post: (path, body, headers = {}) =>
      call(path, {
        method: 'POST',
        body: typeof body === 'string' ? body : JSON.stringify(body),
        headers: { 'content-type': 'application/json', ...key(headers) },
      }),
    get: (path, headers = {}) => call(path, { headers: key(headers) }),
    async balance(apiKey = 'lp_local_demo') {
      const answer = await call('/v1/credit/balance', { headers: { 'x-api-key': apiKey } });
      return ((await answer.json()) as { available_credits: number }).available_credits;
    },
  };
}

function key(headers: Record<string, string>): Record<string, string> {
  const given = Object.keys(headers).some((name) => /^(x-api-key|authorization)$/i.test(name));
  return given ? headers : { 'x-api-key': 'lp_local_demo', ...headers };
}

/** Works on a state, beside a service or alone. */
export function withRows<Result>(stateDir: string, work: (rows: Rows) => Result): Result {
  const store = openStore({ stateDir, pid: process.pid, monotonic: () => performance.now() });
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
export function payloads(stream: string): unknown[] {
  return stream
    .split('\n\n')
    .filter((frame) => frame.startsWith('data: '))
    .map((frame) => frame.slice('data: '.length))
    .map((payload) => (payload === '[DONE]' ? payload : JSON.parse(payload)));
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
