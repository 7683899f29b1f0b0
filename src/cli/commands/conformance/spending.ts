import { hash } from 'node:crypto';
import { paidRequestsOf, type Row } from '../../../conformance/row.ts';
import type { Request } from '../../../conformance/service.ts';
import type { Route } from '../../../connection/connection.ts';
import type { Context } from '../../../context.ts';
import { limits, web2listLimit } from '../../../contract/limits.ts';
import { LeadpipeError, type Outcome } from '../../../errors.ts';
import { withNewJournal } from '../../../operations/journal/journal.ts';
import {
  creditsOf,
  exact,
  type PriceName,
  type Prices,
  toOverLimit,
  toSpending,
  toUnknownPrice,
} from '../../../operations/spending.ts';

const unitNames: Partial<Record<PriceName, readonly [one: string, many: string]>> = {
  'price.search': ['lead of a search', 'leads of searches'],
  'price.task': ['lead of a task', 'leads of tasks'],
  'price.contact.email': ['lookup of an email address', 'lookups of email addresses'],
  'price.contact.phone': ['lookup of a phone number', 'lookups of phone numbers'],
  'price.research': ['research question', 'research questions'],
  'price.enrich': ['enrichment', 'enrichments'],
  'price.extract': ['extracted item', 'extracted items'],
};

interface Tariff {
  readonly setting: PriceName;
  readonly units: number;
}

function tariffOf({ endpoint, body }: Request): Tariff {
  const { limit, type, contact_type } = (body ?? {}) as {
    limit?: number;
    type?: string;
    contact_type?: string;
  };
  const most = limits.entityLimit.default;
  switch (endpoint) {
    case 'search':
      return { setting: 'price.search', units: limit ?? most };
    case 'createTask':
      return { setting: 'price.task', units: limit ?? most };
    case 'contactSearch':
      return { setting: contact_type === 'phone' ? 'price.contact.phone' : 'price.contact.email', units: 1 };
    case 'extract':
      return {
        setting: 'price.extract',
        units: type === 'web2list' ? web2listLimit : (limit ?? limits.extractLimit.default),
      };
    default:
      return { setting: endpoint === 'enrich' ? 'price.enrich' : 'price.research', units: 1 };
  }
}

export interface Bound {
  /** `12 leads of searches, 3 enrichments`; empty where nothing is paid. */
  readonly units: string;
  /** Undefined where a price is not set: `missing` is the first of these. */
  readonly credits: number | undefined;
  readonly missing: PriceName | undefined;
}

/** Pure: what rows cost at most with a service that charges for nothing else than what it has to accept. */
export function toBound(rows: readonly Row[], prices: Prices): Bound {
  const units = new Map<PriceName, number>();
  for (const { setting, units: more } of paidRequestsOf(rows).map(tariffOf))
    units.set(setting, (units.get(setting) ?? 0) + more);
  const missing = [...units.keys()].find((setting) => prices[setting] === undefined);
  const credits = [...units].reduce(
    (sum, [setting, count]) => exact(sum + count * (prices[setting] ?? 0)),
    0,
  );
  return {
    units: [...units]
      .map(([setting, count]) => `${count} ${unitNames[setting]?.[count === 1 ? 0 : 1]}`)
      .join(', '),
    credits: missing === undefined ? credits : undefined,
    missing,
  };
}

/** Pure: what a run may spend. Throws `credits` where the rows may cost more, or nobody knows how much. */
export function toBudget(bound: Bound, asked: number | undefined, settings: Route['settings']) {
  const spending = toSpending(asked, { origin: '', settings });
  if (spending === undefined || bound.units === '') return undefined;
  if (bound.missing !== undefined) throw toUnknownPrice(bound.missing);
  if ((bound.credits ?? 0) > spending.limit) throw toOverLimit(bound.credits ?? 0, spending);
  const costOf = (request: Request): number => {
    const { setting, units } = tariffOf(request);
    return units * (settings[setting] ?? 0);
  };
  return { credits: spending.limit, costOf };
}

export function toAnnouncement({ units, credits }: Bound): string {
  const sum = credits === undefined ? '' : `; by your prices at most ${creditsOf(credits)}`;
  return `this costs credits: at most ${units}${sum}. A service that accepts what it should refuse may charge more. To spend nothing: --free`;
}

/** Runs `work` as an operation of the history; `null` is a run that costs nothing, of which no record is kept. */
export async function withRecord<T extends { readonly outcome: Outcome; readonly rows: number }>(
  context: Context,
  route: Pick<Route, 'apiKey' | 'baseUrl' | 'profile'> & { readonly local: boolean },
  bound: Bound | null,
  work: () => Promise<T>,
): Promise<T> {
  if (bound === null) return await work();
  return await withNewJournal(context, 'needed', async (journal) => {
    const time = () => context.clock.now().toISOString();
    const end = (outcome: Outcome, leads: number) =>
      journal.append({
        type: 'terminal',
        outcome,
        state: null,
        ready_count: null,
        leads,
        charged: route.local ? 'no' : 'maybe',
      });
    await journal.append(
      {
        type: 'intent',
        time: time(),
        command: 'conformance',
        // Of the run: each request has a key of its own.
        idempotency_key: context.ids.idempotencyKey(),
        worst_case: bound.credits ?? null,
        profile: route.profile,
        origin: route.local ? 'local' : route.baseUrl.origin,
        key_fingerprint: hash('sha256', `${journal.operationId}:${route.apiKey}`).slice(0, 12),
        output: null,
        options: {},
      },
      { type: 'sent', time: time() },
    );
    try {
      const done = await work();
      await end(done.outcome, done.rows);
      return done;
    } catch (error) {
      await end(error instanceof LeadpipeError ? error.outcome : 'bug', 0);
      throw error;
    }
  });
}
