import { accepted } from '../expectations.ts';
import { type Answer, type Expectation, NotJudged, type Row, type Step, type TestedService } from '../row.ts';
import { companies, names, type PostEndpoint, post, rareObjective } from '../samples.ts';
import { eventsOf } from '../stream.ts';
import { creditsOf, ofFinishedTask, searchIdOf, statusOf } from '../tested-service.ts';

const steady: Step = (service) => service.steadyBalance();

/** What the requests between two balances cost. Nobody else may spend from the account meanwhile. */
function spent(before: Answer | undefined, after: Answer): number {
  return before === undefined ? Number.NaN : creditsOf(before) - creditsOf(after);
}

/** The balance of the step before is the balance now. */
function unchangedSince(step: number): Expectation {
  return accepted('an unchanged balance', (after, earlier) => {
    const cost = spent(earlier[step], after);
    return cost === 0 ? [] : [`${cost} ${cost === 1 ? 'credit was' : 'credits were'} charged`];
  });
}

function creditText(count: number): string {
  return `${count} ${count === 1 ? 'credit' : 'credits'}`;
}

function leadsOf(count: number): string {
  return `${count} ${count === 1 ? 'lead' : 'leads'}`;
}

function withinLimit(leads: number, limit: number, cost: number): string[] {
  if (leads === 0) return cost === 0 ? [] : [`${creditText(cost)} for no leads`];
  return cost >= 0 && cost <= limit
    ? []
    : [`${creditText(cost)} for ${leadsOf(leads)} with a limit of ${limit}`];
}

const manyLeads = 10;

/** A search with fewer leads than its limit: what was reserved for the others is given back. */
function unused(
  form: 'search' | 'createTask',
  name: string,
  ended: (service: TestedService, answer: Answer) => Promise<Answer>,
): Row {
  return {
    id: `settlement/${name}-unused`,
    rule: `a ${name} is charged only for the leads that it gives; the other reserved credits are given back`,
    costs: true,
    before: [
      steady,
      post(form, { body: companies({ objective: rareObjective, limit: manyLeads }) }),
      (service, [, answer]) => ended(service, answer as Answer),
    ],
    request: steady,
    expect: accepted('no more credits than leads', (after, [before, , last]) => {
      const leads =
        form === 'search' ? eventsOf(last as Answer).entities.length : statusOf(last as Answer)?.ready;
      if (leads === undefined || !(leads < manyLeads)) throw new NotJudged('all leads up to the limit came');
      const cost = spent(before, after);
      return cost >= 0 && cost <= leads ? [] : [`${creditText(cost)} for ${leadsOf(leads)}`];
    }),
  };
}

function duplicate(endpoint: PostEndpoint): Row {
  const id = `settlement/${names[endpoint]}-duplicate`;
  const request = post(endpoint, { idempotencyKey: id });
  return {
    id,
    rule: 'a repeated request is not charged again',
    costs: true,
    before: [request, steady, request],
    beforeStatus: [200, 409],
    request: steady,
    expect: unchangedSince(1),
  };
}

export const settlementRows: readonly Row[] = [
  {
    id: 'settlement/invalid-costs-nothing',
    rule: 'an invalid request is not charged',
    before: [
      steady,
      ...[
        post('search', { body: companies({ limit: 0 }) }),
        post('createTask', { body: companies({ limit: 0 }) }),
        post('contactSearch', { body: {} }),
        post('deepSearch', { body: {} }),
        post('enrich', { body: {} }),
        post('extract', { body: {} }),
      ],
    ],
    beforeStatus: [200, 422],
    request: steady,
    expect: unchangedSince(0),
  },
  {
    id: 'settlement/search',
    rule: 'a search is charged for the number of its leads, and never for more than limit',
    costs: true,
    before: [steady, post('search', { body: companies({ limit: 3 }) })],
    request: steady,
    expect: accepted('at most 3 credits, and 0 credits if there are no leads', (after, [before, search]) => {
      const leads = search === undefined ? 0 : eventsOf(search).entities.length;
      return withinLimit(leads, 3, spent(before, after));
    }),
  },
  unused('search', 'search', (_bench, answer) => Promise.resolve(answer)),
  {
    id: 'settlement/search-per-lead',
    rule: 'a search is charged per lead: three times the leads cost three times the credits',
    costs: true,
    before: [
      steady,
      post('search', { body: companies({ limit: 1 }) }),
      steady,
      post('search', { body: companies({ limit: 3 }) }),
    ],
    request: steady,
    expect: accepted('the same price per lead', (after, [first, one, second, three]) => {
      if (one === undefined || three === undefined || second === undefined) return [];
      const [few, many] = [eventsOf(one).entities.length, eventsOf(three).entities.length];
      const [cheap, dear] = [spent(first, second), spent(second, after)];
      return cheap * many === dear * few
        ? []
        : [`${creditText(cheap)} for ${leadsOf(few)}, but ${creditText(dear)} for ${leadsOf(many)}`];
    }),
  },
  duplicate('search'),
  {
    id: 'settlement/task',
    rule: 'a completed task is charged for its ready_count',
    costs: true,
    before: [
      steady,
      post('createTask', { body: companies({ limit: 3 }) }),
      (service, [, created]) => service.statusWhen(searchIdOf(created as Answer), () => false),
    ],
    request: steady,
    expect: accepted('at most 3 credits, and 0 credits if there are no leads', (after, [before, , ended]) => {
      const ready = ended === undefined ? undefined : statusOf(ended)?.ready;
      if (ready === undefined) throw new NotJudged('the task has no ready_count');
      return withinLimit(ready, 3, spent(before, after));
    }),
  },
  unused('createTask', 'task', (service, answer) => service.statusWhen(searchIdOf(answer), () => false)),
  {
    id: 'settlement/task-replay',
    rule: 'a repeated create_task returns the existing task and is not charged again',
    costs: true,
    before: [
      post('createTask', { idempotencyKey: 'settlement/task-replay' }),
      (service, [created]) => service.statusWhen(searchIdOf(created as Answer), () => false),
      steady,
      post('createTask', { idempotencyKey: 'settlement/task-replay' }),
    ],
    request: steady,
    expect: unchangedSince(2),
  },
  ...(['contactSearch', 'deepSearch', 'enrich', 'extract'] as const).map(duplicate),
  {
    id: 'settlement/contact',
    rule: 'a contact result is sent only after its billing is settled',
    costs: true,
    before: [post('contactSearch'), { endpoint: 'balance' }],
    request: steady,
    expect: unchangedSince(1),
  },
  {
    id: 'settlement/contact-not-negative',
    rule: 'a contact lookup never adds credits',
    costs: true,
    before: [steady, post('contactSearch')],
    request: steady,
    expect: accepted('no more credits than before', (after, [before]) => {
      const cost = spent(before, after);
      return cost >= 0 ? [] : [`${-cost} ${cost === -1 ? 'credit was' : 'credits were'} added`];
    }),
  },
  {
    id: 'settlement/reads-cost-nothing',
    rule: 'status, fetch and balance are not charged',
    costs: true,
    before: [
      ofFinishedTask('status'),
      steady,
      ofFinishedTask('status'),
      ofFinishedTask('fetch'),
      ofFinishedTask('fetch'),
    ],
    request: steady,
    expect: unchangedSince(1),
  },
];
