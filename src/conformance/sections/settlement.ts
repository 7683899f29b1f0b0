import { accepted, table, unless } from '../expectations.ts';
import { type Action, type Answer, type Expectation, free, NotJudged, type Row, type Step } from '../row.ts';
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
    return unless(cost <= 0, `${amount(cost, 'credit')} charged`);
  });
}

function amount(count: number, what: 'credit' | 'lead'): string {
  return `${count} ${what}${count === 1 ? '' : 's'}`;
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
/** Something of which there is little. */
const scarce = { objective: 'satellite software companies in Portugal', limit: 20 };

/** Two searches between three balances, of which the second may not cost more for each lead, nor less. */
const samePrice = accepted('the same price per lead', (after, [first, one, second, two]) => {
  const [few, many] = [countOf(one as Answer), countOf(two as Answer)];
  const [cheap, dear] = [spent(first, second), spent(second, after)];
  const costs = [`${amount(cheap, 'credit')} for ${amount(few, 'lead')}`, amount(dear, 'credit')];
  return unless(cheap * many === dear * few, `${costs.join(', but ')} for ${amount(many, 'lead')}`);
});

function searchRows(form: Form): Row[] {
  const name = form === 'search' ? 'search' : 'task';
  const one = searched(form, { limit: 1 });
  return table('settlement', steady, {
    // First, since it shows how long settlement takes.
    [`${name}-unused: a ${name} is charged only for the leads that it gives; the other reserved credits are given back`]:
      {
        before: [steady, searched(form, { objective: rareObjective, limit: manyLeads })],
        request: free((service, [before, search]) => {
          const [had, leads] = [creditsOf(before as Answer), countOf(search as Answer)];
          if (!(leads < manyLeads))
            throw new NotJudged('as many leads as the limit came, where hardly any should fit');
          return service.balanceWhen((credits) => credits === had || leads > 0);
        }),
        expect: accepted('the balance as before, if there are no leads', (after, [before, search]) => {
          const [cost, leads] = [spent(before, after), countOf(search as Answer)];
          const problem = `${amount(cost, 'credit')} for ${amount(leads, 'lead')}`;
          return unless(cost >= 0 && (leads > 0 || cost === 0), problem);
        }),
      },
    [`${name}-per-lead: a ${name} is charged per lead: three times the leads cost three times the credits`]: {
      before: [steady, one, steady, searched(form, { limit: 3 })],
      expect: {
        ...samePrice,
        check: (after, earlier) => [
          ...(samePrice.check?.(after, earlier) ?? []),
          ...unless(spent(earlier[0], earlier[2]) >= 0, 'a lead adds credits'),
        ],
      },
    },
    [`${name}-fewer-than-limit: a ${name} with fewer leads than its limit has the same price per lead`]: {
      before: [steady, one, steady, searched(form, scarce)],
      expect: samePrice,
    },
  });
}

/** Again with the same key after the first was settled. */
function duplicate(endpoint: PostEndpoint): Row[] {
  const name = `${names[endpoint]}-duplicate`;
  const request = post(endpoint, { idempotencyKey: `settlement/${name}` });
  const task = endpoint === 'createTask' ? [ended(0)] : [];
  return table('settlement', steady, {
    [`${name}: a repeated request is not charged again`]: {
      before: [request, ...task, steady, { ...request, answered: [200, 409] }],
      expect: unchangedSince(task.length + 1),
    },
  });
}

/** Twice in the same moment, which must come to one: one is refused, or both have the same answer. */
function sameMoment(endpoint: PostEndpoint): Row[] {
  const name = `${names[endpoint]}-at-once`;
  const isTask = endpoint === 'createTask';
  const request = post(endpoint, { idempotencyKey: `settlement/${name}`, answered: [200, 409] });
  const both: Step = {
    pays: [request],
    async take(service) {
      const answers = await Promise.all([service.send(request), service.send(request)]);
      for (const answer of answers)
        if (isTask && answer.status === 200) await service.statusWhen(searchIdOf(answer));
      return answers;
    },
  };
  const expect = accepted('one answer, at the price of one', (after, earlier) => {
    const [second, ...answers] = earlier.slice(-3) as [Answer, Answer, Answer];
    const [one, two] = [spent(earlier[0], second), spent(second, after)];
    const given = answers.filter(({ status }) => status === 200);
    const texts = new Set(given.map((answer) => (isTask ? searchIdOf(answer) : answer.text)));
    const isOne = texts.size === 1 && (given.length === 1 || isTask || endpoint === 'extract');
    // Whoever finds something once may not find it again.
    const isTwice = two > one && sizeOf(given[0]) <= sizeOf(earlier[1]);
    const prices = `${amount(two, 'credit')} for both, but ${amount(one, 'credit')} for one`;
    return [...unless(isOne, `${given.length} were answered`), ...unless(!isTwice, prices)];
  });
  const before = [steady, post(endpoint), ...(isTask ? [ended(1)] : []), steady, both];
  return table('settlement', steady, {
    [`${name}: two equal requests in the same moment are one: it is answered and charged once`]: {
      before,
      expect,
    },
  });
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

/** A request that may cost, and the balance after it. */
const unnegative = (endpoint: PostEndpoint): Row[] =>
  table('settlement', steady, {
    [`${names[endpoint]}-not-negative: a request never adds credits`]: {
      before: [steady, post(endpoint)],
      expect: accepted('no more credits than before', (after, [before]) => {
        const cost = spent(before, after);
        return unless(cost >= 0, `${amount(-cost, 'credit')} added`);
      }),
    },
  });

const [readStatus, readPage] = [ofFinishedTask('status'), ofFinishedTask('fetch')];

export const settlementRows: readonly Row[] = [
  ...searchRows('search'),
  ...searchRows('createTask'),
  ...table('settlement', steady, {
    'invalid-costs-nothing: an invalid request is not charged': {
      before: [steady, ...wrongBodies],
      expect: unchangedSince(0),
    },
  }),
  ...postEndpoints.flatMap(duplicate),
  ...postEndpoints.flatMap(sameMoment),
  ...table('settlement', steady, {
    'contact: a contact result is sent only after its billing is settled': {
      before: [post('contactSearch'), { endpoint: 'balance' }],
      expect: accepted('an unchanged balance', (after, earlier) => {
        const cost = spent(earlier[1], after);
        return unless(cost === 0, `the balance changed by ${amount(-cost, 'credit')} after the answer`);
      }),
    },
  }),
  ...(['contactSearch', 'deepSearch', 'enrich', 'extract'] as const).flatMap(unnegative),
  ...table('settlement', steady, {
    'reads-cost-nothing: status, fetch and balance are not charged': {
      before: [readStatus, steady, readStatus, readPage, readPage],
      expect: unchangedSince(1),
    },
  }),
];
