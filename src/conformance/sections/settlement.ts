import { accepted } from '../expectations.ts';
import {
  type Action,
  type Answer,
  type Expectation,
  free,
  NotJudged,
  type Request,
  type Row,
  type Step,
} from '../row.ts';
import {
  companies,
  names,
  type PostEndpoint,
  post,
  postBodies,
  postEndpoints,
  rareObjective,
} from '../samples.ts';
import { creditsOf, ended, ofFinishedTask, searchIdOf, steady } from '../tested-service.ts';
import { countOf } from './searches.ts';

/** What is charged, by balances before and after. Nobody else may spend from the account meanwhile. */

type Form = 'search' | 'createTask';

function spent(before: Answer | undefined, after: Answer | undefined): number {
  if (before === undefined || after === undefined) return Number.NaN;
  return creditsOf(before) - creditsOf(after);
}

/** Nothing was charged since an earlier balance; what was reserved before may have been given back. */
function unchangedSince(step: number): Expectation {
  return accepted('an unchanged balance', (after, earlier) => {
    const cost = spent(earlier[step], after);
    return cost <= 0 ? [] : [`${creditText(cost)} charged`];
  });
}

function creditText(count: number): string {
  return `${count} ${count === 1 ? 'credit' : 'credits'}`;
}

function leadsText(count: number): string {
  return `${count} ${count === 1 ? 'lead' : 'leads'}`;
}

/** A search to its end: one answer, with its leads or its counts. */
function searched(form: Form, change: object): Action {
  const request = post(form, { body: companies(change) });
  return {
    pays: [request],
    async take(service) {
      const answer = await service.send(request);
      return form === 'search' ? [answer] : [await service.statusWhen(searchIdOf(answer))];
    },
  };
}

const manyLeads = 10;

function searchRows(form: Form): Row[] {
  const name = form === 'search' ? 'search' : 'task';
  return [
    {
      // First, since it shows how long settlement takes.
      id: `settlement/${name}-unused`,
      rule: `a ${name} is charged only for the leads that it gives; the other reserved credits are given back`,
      before: [steady, searched(form, { objective: rareObjective, limit: manyLeads })],
      request: free((service, [before, search]) => {
        const [had, leads] = [creditsOf(before as Answer), countOf(search as Answer)];
        if (!(leads < manyLeads))
          throw new NotJudged('as many leads as the limit came, where hardly any should fit');
        return service.balanceWhen((credits) => credits === had || leads > 0);
      }),
      expect: accepted('the balance as before, if there are no leads', (after, [before, search]) => {
        const [cost, leads] = [spent(before, after), countOf(search as Answer)];
        return cost >= 0 && (leads > 0 || cost === 0) ? [] : [`${creditText(cost)} for ${leadsText(leads)}`];
      }),
    },
    {
      id: `settlement/${name}-per-lead`,
      rule: `a ${name} is charged per lead: three times the leads cost three times the credits`,
      before: [steady, searched(form, { limit: 1 }), steady, searched(form, { limit: 3 })],
      request: steady,
      expect: accepted('the same price per lead', (after, [first, one, second, three]) => {
        const [few, many] = [countOf(one as Answer), countOf(three as Answer)];
        const [cheap, dear] = [spent(first, second), spent(second, after)];
        return cheap >= 0 && cheap * many === dear * few
          ? []
          : [`${creditText(cheap)} for ${leadsText(few)}, but ${creditText(dear)} for ${leadsText(many)}`];
      }),
    },
    {
      id: `settlement/${name}-fewer-than-limit`,
      rule: `a ${name} with fewer leads than its limit has the same price per lead`,
      before: [steady, searched(form, { limit: 1 }), steady, searched(form, scarce)],
      request: steady,
      expect: accepted('the same price per lead', (after, [first, one, second, last]) => {
        const [few, more] = [countOf(one as Answer), countOf(last as Answer)];
        const [cheap, dear] = [spent(first, second), spent(second, after)];
        return cheap * more === dear * few
          ? []
          : [`${creditText(cheap)} for ${leadsText(few)}, but ${creditText(dear)} for ${leadsText(more)}`];
      }),
    },
  ];
}

/** Something of which there is little. */
const scarce = { objective: 'satellite software companies in Portugal', limit: 20 };

/** Again with the same key after the first was settled. */
function duplicate(endpoint: PostEndpoint): Row {
  const id = `settlement/${names[endpoint]}-duplicate`;
  const request = post(endpoint, { idempotencyKey: id });
  return {
    id,
    rule: 'a repeated request is not charged again',
    before: [
      request,
      ...(endpoint === 'createTask' ? [ended(0)] : []),
      steady,
      { ...request, answered: [200, 409] },
    ],
    request: steady,
    expect: unchangedSince(endpoint === 'createTask' ? 2 : 1),
  };
}

/** Twice in the same moment, which must come to one: one is refused, or both have the same answer. */
function sameMoment(endpoint: PostEndpoint): Row {
  const id = `settlement/${names[endpoint]}-at-once`;
  const single = post(endpoint);
  const request: Request = post(endpoint, { idempotencyKey: id, answered: [200, 409] });
  const both: Step = {
    pays: [request],
    async take(service) {
      const answers = await Promise.all([service.send(request), service.send(request)]);
      for (const { status, ...answer } of answers)
        if (endpoint === 'createTask' && status === 200)
          await service.statusWhen(searchIdOf({ status, ...answer }));
      return answers;
    },
  };
  return {
    id,
    rule: 'two equal requests in the same moment are one: it is answered and charged once',
    before: [steady, single, ...(endpoint === 'createTask' ? [ended(1)] : []), steady, both],
    request: steady,
    expect: accepted('one answer, at the price of one', (after, earlier) => {
      const [second, ...answers] = earlier.slice(-3) as [Answer, Answer, Answer];
      const [one, two] = [spent(earlier[0], second), spent(second, after)];
      const given = answers.filter(({ status }) => status === 200);
      const texts = new Set(
        given.map((answer) => (endpoint === 'createTask' ? searchIdOf(answer) : answer.text)),
      );
      const replays = endpoint === 'createTask' || endpoint === 'extract';
      const wrong =
        texts.size === 1 && (given.length === 1 || replays) ? [] : [`${given.length} were answered`];
      // Whoever finds something once may not find it again.
      return two > one && sizeOf(given[0]) <= sizeOf(earlier[1])
        ? [...wrong, `${creditText(two)} for both, but ${creditText(one)} for one`]
        : wrong;
    }),
  };
}

/** How much of what costs is in an answer, roughly: its length. */
function sizeOf(answer: Answer | undefined): number {
  return answer?.text.length ?? 0;
}

const wrongBodies = postEndpoints.map((endpoint) =>
  post(endpoint, {
    body: endpoint === 'search' || endpoint === 'createTask' ? { ...postBodies[endpoint], limit: 0 } : {},
    answered: [422],
  }),
);

export const settlementRows: readonly Row[] = [
  ...searchRows('search'),
  ...searchRows('createTask'),
  {
    id: 'settlement/invalid-costs-nothing',
    rule: 'an invalid request is not charged',
    before: [steady, ...wrongBodies],
    request: steady,
    expect: unchangedSince(0),
  },
  ...postEndpoints.map(duplicate),
  ...postEndpoints.map(sameMoment),
  {
    id: 'settlement/contact',
    rule: 'a contact result is sent only after its billing is settled',
    before: [post('contactSearch'), { endpoint: 'balance' }],
    request: steady,
    expect: accepted('an unchanged balance', (after, earlier) => {
      const cost = spent(earlier[1], after);
      return cost === 0 ? [] : [`the balance changed by ${creditText(-cost)} after the answer`];
    }),
  },
  ...(['contactSearch', 'deepSearch', 'enrich', 'extract'] as const).map((endpoint) => ({
    id: `settlement/${names[endpoint]}-not-negative`,
    rule: 'a request never adds credits',
    before: [steady, post(endpoint)],
    request: steady,
    expect: accepted('no more credits than before', (after: Answer, [before]: readonly Answer[]) => {
      const cost = spent(before, after);
      return cost >= 0 ? [] : [`${creditText(-cost)} added`];
    }),
  })),
  {
    id: 'settlement/reads-cost-nothing',
    rule: 'status, fetch and balance are not charged',
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
