import { type Check, type Row, table, unless } from '../row.ts';
import {
  ended,
  type Form,
  free,
  nameOf,
  ofFinishedTask,
  type PostEndpoint,
  post,
  postEndpoints,
  rare,
  steady,
} from '../samples.ts';
import { type Action, type Answer, creditsOf, NotJudged, searchIdOf } from '../service.ts';
import { countOf, find } from './searches.ts';

/** What is charged, by balances before and after. Nobody else may spend from the account meanwhile. */

function spent(before: Answer, after: Answer): number {
  return creditsOf(before) - creditsOf(after);
}

/** Nothing was charged since an earlier balance; what was reserved before may have been given back. */
const unchangedSince =
  (step: number): Check =>
  (...answers) => {
    const cost = spent(answers[step] as Answer, answers.at(-1) as Answer);
    return unless(cost <= 0, `${amount(cost, 'credit')} charged`);
  };

function amount(count: number, what: 'credit' | 'lead'): string {
  return `${count} ${what}${count === 1 ? '' : 's'}`;
}

const manyLeads = 10;
/** Something of which there is little. */
const scarce = { objective: 'satellite software companies in Portugal', limit: 20 };

/** Two searches between three balances, of which the second may not cost more for each lead, nor less. */
const samePrice: Check = (first, one, _, second, two, __, after) => {
  const [few, many] = [countOf(one), countOf(two)];
  const [cheap, dear] = [spent(first, second), spent(second, after)];
  const costs = [`${amount(cheap, 'credit')} for ${amount(few, 'lead')}`, amount(dear, 'credit')];
  return unless(cheap * many === dear * few, `${costs.join(', but ')} for ${amount(many, 'lead')}`);
};

function searchRows(form: Form): Row[] {
  const name = form === 'search' ? 'search' : 'task';
  const one = find(form, { limit: 1 });
  const whenSettled = free((service, before, search) => {
    const [had, leads] = [creditsOf(before as Answer), countOf(search as Answer)];
    if (leads < manyLeads) return service.balanceWhen((credits) => credits === had || leads > 0);
    throw new NotJudged('as many leads as the limit came, where hardly any should fit');
  });
  return table('settlement/', steady, {
    // First, since it shows how long settlement takes.
    [`${name}-unused: a ${name} is charged only for the leads that it gives; the other reserved credits are given back`]:
      [
        steady,
        find(form, { ...rare, limit: manyLeads }),
        whenSettled,
        (before, search, _, after) => {
          const [cost, leads] = [spent(before, after), countOf(search)];
          const problem = `${amount(cost, 'credit')} for ${amount(leads, 'lead')}`;
          return unless(cost >= 0 && (leads > 0 || cost === 0), problem);
        },
      ],
    [`${name}-per-lead: a ${name} is charged per lead: three times the leads cost three times the credits`]: [
      steady,
      one,
      steady,
      find(form, { limit: 3 }),
      steady,
      (...answers) => {
        const [first, , , second] = answers as [Answer, Answer, Answer, Answer];
        return [...samePrice(...answers), ...unless(spent(first, second) >= 0, 'a lead adds credits')];
      },
    ],
    [`${name}-fewer-than-limit: a ${name} with fewer leads than its limit has the same price per lead`]: [
      steady,
      one,
      steady,
      find(form, scarce),
      steady,
      samePrice,
    ],
  });
}

/** Again with the same key after the first was settled. */
function duplicate(endpoint: PostEndpoint): Row[] {
  const name = `${nameOf(endpoint)}-duplicate`;
  const request = post(endpoint, {}, { idempotencyKey: `settlement/${name}` });
  const first = endpoint === 'createTask' ? [request, ended(0)] : [request];
  const again = { ...request, answered: [200, 409] };
  return table('settlement/', steady, {
    [`${name}: a repeated request is not charged again`]: [
      ...first,
      steady,
      again,
      steady,
      unchangedSince(first.length),
    ],
  });
}

/** Twice in the same moment, which must come to one: one is refused, or both have the same answer. */
function sameMoment(endpoint: PostEndpoint): Row[] {
  const name = `${nameOf(endpoint)}-at-once`;
  const isTask = endpoint === 'createTask';
  const request = post(endpoint, {}, { idempotencyKey: `settlement/${name}`, answered: [200, 409] });
  const both: Action = {
    sends: [request],
    async take(service) {
      const answers = await Promise.all([service.send(request), service.send(request)]);
      for (const answer of answers)
        if (isTask && answer.status === 200) await service.statusWhen(searchIdOf(answer));
      return answers;
    },
  };
  const check: Check = (...answers) => {
    const [first, usual] = answers as [Answer, Answer];
    const [between, left, right, after] = answers.slice(-4) as [Answer, Answer, Answer, Answer];
    const [one, two] = [spent(first, between), spent(between, after)];
    const given = [left, right].filter(({ status }) => status === 200);
    const texts = new Set(given.map((answer) => (isTask ? searchIdOf(answer) : answer.text)));
    const isOne = texts.size === 1 && (given.length === 1 || isTask || endpoint === 'extract');
    // Whoever finds something once may not find it again: how much of what costs is in an answer is, roughly, its length.
    const isTwice = two > one && (given[0]?.text.length ?? 0) <= usual.text.length;
    const prices = `${amount(two, 'credit')} for both, but ${amount(one, 'credit')} for one`;
    return [...unless(isOne, `${given.length} were answered`), ...unless(!isTwice, prices)];
  };
  const usual = isTask ? [post(endpoint), ended(1)] : [post(endpoint)];
  return table('settlement/', steady, {
    [`${name}: two equal requests in the same moment are one: it is answered and charged once`]: [
      steady,
      ...usual,
      steady,
      both,
      steady,
      check,
    ],
  });
}

const wrong = postEndpoints.map((endpoint) => {
  const request = post(endpoint, { limit: 0 }, { answered: [422] });
  return endpoint === 'search' || endpoint === 'createTask' ? request : { ...request, body: {} };
});
const [readStatus, readPage] = [ofFinishedTask('status'), ofFinishedTask('fetch')];

/** A request that may cost, and the balance after it. */
const unnegative = (endpoint: PostEndpoint): Row[] =>
  table('settlement/', steady, {
    [`${nameOf(endpoint)}-not-negative: a request never adds credits`]: [
      steady,
      post(endpoint),
      steady,
      (before, _, after) => {
        const cost = spent(before, after);
        return unless(cost >= 0, `${amount(-cost, 'credit')} added`);
      },
    ],
  });

export const settlementRows: readonly Row[] = [
  ...searchRows('search'),
  ...searchRows('createTask'),
  ...table('settlement/', steady, {
    'invalid-costs-nothing: an invalid request is not charged': [steady, ...wrong, steady, unchangedSince(0)],
  }),
  ...postEndpoints.flatMap(duplicate),
  ...postEndpoints.flatMap(sameMoment),
  ...table('settlement/', steady, {
    'contact: a contact result is sent only after its billing is settled': [
      post('contactSearch'),
      { endpoint: 'balance' },
      steady,
      (_, before, after) => {
        const cost = spent(before, after);
        return unless(cost === 0, `the balance changed by ${amount(-cost, 'credit')} after the answer`);
      },
    ],
  }),
  ...(['contactSearch', 'deepSearch', 'enrich', 'extract'] as const).flatMap(unnegative),
  ...table('settlement/', steady, {
    'reads-cost-nothing: status, fetch and balance are not charged': [
      readStatus,
      steady,
      readStatus,
      readPage,
      readPage,
      steady,
      unchangedSince(1),
    ],
  }),
];
