import { type Problems, unless } from '../checks.ts';
import { type Row, scenarios } from '../row.ts';
import { creditsOf, notTried, type Request, searchIdOf, type TestedService } from '../service.ts';
import {
  type Form,
  nameOf,
  ofFinishedTask,
  type PostEndpoint,
  post,
  postEndpoints,
  rare,
} from './samples.ts';
import { find } from './searches.ts';

/** Charges, measured by the balance before and after. The account must not be used by others meanwhile. */

/** The cost of something, and its result. Meanwhile an earlier reservation may be released. */
export async function costOf<T>(service: TestedService, run: () => Promise<T>): Promise<[cost: number, T]> {
  const before = await service.steadyBalance();
  const result = await run();
  return [before - (await service.steadyBalance()), result];
}

function amount(count: number, what: 'credit' | 'lead' = 'credit'): string {
  return `${count} ${what}${count === 1 ? '' : 's'}`;
}

async function chargesNothing(service: TestedService, run: () => Promise<unknown>): Promise<Problems> {
  const [cost] = await costOf(service, run);
  return unless(cost <= 0, `${amount(cost)} charged`);
}

const manyLeads = 10;
/** Leads of which there are only a few. */
const scarce = { objective: 'satellite software companies in Portugal', limit: 20 };

function searchRows(form: Form): Row[] {
  const name = form === 'search' ? 'search' : 'task';
  const prefix = `settlement/${name}-`;
  const [first, one, three] = [1, 1, 3].map((limit) => post(form, { limit })) as [Request, Request, Request];
  const none = post(form, { ...rare, limit: manyLeads });
  const few = post(form, scarce);

  /** Two searches, of which the second must have the same price for each lead; and the cost of the first. */
  async function samePrice(service: TestedService, requests: readonly [Request, Request]) {
    const [cheap, { count: some }] = await costOf(service, () => find(service, requests[0]));
    const [dear, { count: more }] = await costOf(service, () => find(service, requests[1]));
    const costs = [`${amount(cheap)} for ${amount(some, 'lead')}`, amount(dear)].join(', but ');
    return [cheap, unless(cheap * more === dear * some, `${costs} for ${amount(more, 'lead')}`)] as const;
  }

  return [
    // First, since it shows how long settlement takes.
    ...scenarios(prefix, [none], {
      [`unused: a ${name} is charged only for the leads that it gives; the other reserved credits are given back`]:
        async (service) => {
          const had = await service.steadyBalance();
          const { count } = await find(service, none);
          if (count === manyLeads)
            throw notTried('as many leads as the limit came, where hardly any should fit');
          const cost = had - (await service.balanceWhen((credits) => credits === had || count > 0));
          const problem = `${amount(cost)} for ${amount(count, 'lead')}`;
          return unless(cost >= 0 && (count > 0 || cost === 0), problem);
        },
    }),
    ...scenarios(prefix, [first, three], {
      [`per-lead: a ${name} is charged per lead: three times the leads cost three times the credits`]: async (
        service,
      ) => {
        const [cheap, problems] = await samePrice(service, [first, three]);
        return [...problems, ...unless(cheap >= 0, 'a lead adds credits')];
      },
    }),
    ...scenarios(prefix, [one, few], {
      [`fewer-than-limit: a ${name} with fewer leads than its limit has the same price per lead`]: async (
        service,
      ) => (await samePrice(service, [one, few]))[1],
    }),
  ];
}

/** Sends a request, and waits for the end of a task. */
async function complete(service: TestedService, request: Request, ...statuses: number[]) {
  const answer = await service.accepted(request, ...statuses);
  if (request.endpoint === 'createTask' && answer.status === 200)
    await service.statusWhen(searchIdOf(answer));
  return answer;
}

/** The same key again, after the first request was settled. */
function duplicate(endpoint: PostEndpoint): Row[] {
  const name = `settlement/${nameOf(endpoint)}-duplicate`;
  const request = post(endpoint, {}, { idempotencyKey: name });
  return scenarios(name, [request], {
    ': a repeated request is not charged again': async (service) => {
      await complete(service, request);
      return await chargesNothing(service, () => service.accepted(request, 200, 409));
    },
  });
}

/** Twice at the same moment: one must be refused, or both must have the same answer. */
function sameMoment(endpoint: PostEndpoint): Row[] {
  const name = `settlement/${nameOf(endpoint)}-at-once`;
  const isTask = endpoint === 'createTask';
  const usual = post(endpoint);
  const request = post(endpoint, {}, { idempotencyKey: name });
  return scenarios(name, [usual, request], {
    ': two equal requests in the same moment are one: it is answered and charged once': async (service) => {
      const [one, single] = await costOf(service, () => complete(service, usual));
      const [two, answers] = await costOf(service, () =>
        Promise.all([request, request].map((same) => complete(service, same, 200, 409))),
      );
      const given = answers.filter(({ status }) => status === 200);
      const texts = new Set(given.map((answer) => (isTask ? searchIdOf(answer) : answer.text)));
      const isOne = texts.size === 1 && (given.length === 1 || isTask || endpoint === 'extract');
      // A request may not find the same twice. The length of an answer roughly shows how much of it is charged.
      const isTwice = two > one && (given[0]?.text.length ?? 0) <= single.text.length;
      const prices = `${amount(two)} for both, but ${amount(one)} for one`;
      return [...unless(isOne, `${given.length} were answered`), ...unless(!isTwice, prices)];
    },
  });
}

/** A request that may cost, and the balance after it. */
function notNegative(endpoint: PostEndpoint): Row[] {
  const request = post(endpoint);
  return scenarios(`settlement/${nameOf(endpoint)}-`, [request], {
    'not-negative: a request never adds credits': async (service) => {
      const [cost] = await costOf(service, () => service.accepted(request));
      return unless(cost >= 0, `${amount(-cost)} added`);
    },
  });
}

const wrong = postEndpoints.map((endpoint) => {
  const request = post(endpoint, { limit: 0 });
  return endpoint === 'search' || endpoint === 'createTask' ? request : { ...request, body: {} };
});
const [readStatus, readPage] = [ofFinishedTask('status'), ofFinishedTask('fetch')];
const contact = post('contactSearch');

export const settlementRows: readonly Row[] = [
  ...searchRows('search'),
  ...searchRows('createTask'),
  ...scenarios('settlement/', [], {
    'invalid-costs-nothing: an invalid request is not charged': (service) =>
      chargesNothing(service, async () => {
        for (const request of wrong) await service.accepted(request, 422);
      }),
  }),
  ...postEndpoints.flatMap(duplicate),
  ...postEndpoints.flatMap(sameMoment),
  ...scenarios('settlement/', [contact], {
    'contact: a contact result is sent only after its billing is settled': async (service) => {
      await service.accepted(contact);
      const before = creditsOf(await service.accepted({ endpoint: 'balance' }));
      const more = (await service.steadyBalance()) - before;
      return unless(more === 0, `the balance changed by ${amount(more)} after the answer`);
    },
  }),
  ...(['contactSearch', 'deepSearch', 'enrich', 'extract'] as const).flatMap(notNegative),
  ...scenarios('settlement/', readStatus.pays, {
    'reads-cost-nothing: status, fetch and balance are not charged': async (service) => {
      await readStatus.take(service);
      return await chargesNothing(service, async () => {
        for (const { take } of [readStatus, readPage, readPage]) await take(service);
      });
    },
  }),
];
