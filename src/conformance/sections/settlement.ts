import { type Problems, type Row, scenario, unless } from '../row.ts';
import {
  type Form,
  nameOf,
  ofFinishedTask,
  type PostEndpoint,
  post,
  postEndpoints,
  rare,
} from '../samples.ts';
import { creditsOf, notTried, type Request, searchIdOf, type TestedService } from '../service.ts';
import { type Found, find } from './searches.ts';

/** What is charged, by balances before and after. Nobody else may spend from the account meanwhile. */

/** What something costs, and its result. What was reserved before may have been given back meanwhile. */
export async function costOf<T>(service: TestedService, run: () => Promise<T>): Promise<[cost: number, T]> {
  const before = await service.steadyBalance();
  const result = await run();
  return [before - (await service.steadyBalance()), result];
}

function amount(count: number, what: 'credit' | 'lead'): string {
  return `${count} ${what}${count === 1 ? '' : 's'}`;
}

function chargedNothing(cost: number): Problems {
  return unless(cost <= 0, `${amount(cost, 'credit')} charged`);
}

const manyLeads = 10;
/** Something of which there is little. */
const scarce = { objective: 'satellite software companies in Portugal', limit: 20 };

type Charged = readonly [cost: number, found: Found];

/** Two searches, of which the second may not cost more for each lead, nor less. */
function samePrice([cheap, { count: few }]: Charged, [dear, { count: many }]: Charged): Problems {
  const costs = [`${amount(cheap, 'credit')} for ${amount(few, 'lead')}`, amount(dear, 'credit')];
  return unless(cheap * many === dear * few, `${costs.join(', but ')} for ${amount(many, 'lead')}`);
}

function searchRows(form: Form): Row[] {
  const name = form === 'search' ? 'search' : 'task';
  const [first, one, three] = [1, 1, 3].map((limit) => post(form, { limit })) as [Request, Request, Request];
  const none = post(form, { ...rare, limit: manyLeads });
  const few = post(form, scarce);
  const charged = (service: TestedService, request: Request) => costOf(service, () => find(service, request));
  return [
    // First, since it shows how long settlement takes.
    scenario(
      `settlement/${name}-unused: a ${name} is charged only for the leads that it gives; the other reserved credits are given back`,
      [none],
      async (service) => {
        const had = await service.steadyBalance();
        const { count } = await find(service, none);
        if (count === manyLeads)
          throw notTried('as many leads as the limit came, where hardly any should fit');
        const cost = had - (await service.balanceWhen((credits) => credits === had || count > 0));
        const problem = `${amount(cost, 'credit')} for ${amount(count, 'lead')}`;
        return unless(cost >= 0 && (count > 0 || cost === 0), problem);
      },
    ),
    scenario(
      `settlement/${name}-per-lead: a ${name} is charged per lead: three times the leads cost three times the credits`,
      [first, three],
      async (service) => {
        const cheap = await charged(service, first);
        const problems = samePrice(cheap, await charged(service, three));
        return [...problems, ...unless(cheap[0] >= 0, 'a lead adds credits')];
      },
    ),
    scenario(
      `settlement/${name}-fewer-than-limit: a ${name} with fewer leads than its limit has the same price per lead`,
      [one, few],
      async (service) => samePrice(await charged(service, one), await charged(service, few)),
    ),
  ];
}

/** Sends a request, and waits for the end of a task. */
async function complete(service: TestedService, request: Request, ...statuses: number[]) {
  const answer = await service.accepted(request, ...statuses);
  if (request.endpoint === 'createTask' && answer.status === 200)
    await service.statusWhen(searchIdOf(answer));
  return answer;
}

/** Again with the same key after the first was settled. */
function duplicate(endpoint: PostEndpoint): Row {
  const name = `settlement/${nameOf(endpoint)}-duplicate`;
  const request = post(endpoint, {}, { idempotencyKey: name });
  return scenario(`${name}: a repeated request is not charged again`, [request], async (service) => {
    await complete(service, request);
    const [cost] = await costOf(service, () => service.accepted(request, 200, 409));
    return chargedNothing(cost);
  });
}

/** Twice in the same moment, which must come to one: one is refused, or both have the same answer. */
function sameMoment(endpoint: PostEndpoint): Row {
  const name = `settlement/${nameOf(endpoint)}-at-once`;
  const isTask = endpoint === 'createTask';
  const usual = post(endpoint);
  const request = post(endpoint, {}, { idempotencyKey: name });
  const both = (service: TestedService) => () =>
    Promise.all([request, request].map((one) => complete(service, one, 200, 409)));
  return scenario(
    `${name}: two equal requests in the same moment are one: it is answered and charged once`,
    [usual, request],
    async (service) => {
      const [one, single] = await costOf(service, () => complete(service, usual));
      const [two, answers] = await costOf(service, both(service));
      const given = answers.filter(({ status }) => status === 200);
      const texts = new Set(given.map((answer) => (isTask ? searchIdOf(answer) : answer.text)));
      const isOne = texts.size === 1 && (given.length === 1 || isTask || endpoint === 'extract');
      // Whoever finds something once may not find it again: how much of what costs is in an answer is, roughly, its length.
      const isTwice = two > one && (given[0]?.text.length ?? 0) <= single.text.length;
      const prices = `${amount(two, 'credit')} for both, but ${amount(one, 'credit')} for one`;
      return [...unless(isOne, `${given.length} were answered`), ...unless(!isTwice, prices)];
    },
  );
}

const wrong = postEndpoints.map((endpoint) => {
  const request = post(endpoint, { limit: 0 });
  return endpoint === 'search' || endpoint === 'createTask' ? request : { ...request, body: {} };
});
const [readStatus, readPage] = [ofFinishedTask('status'), ofFinishedTask('fetch')];

/** A request that may cost, and the balance after it. */
function notNegative(endpoint: PostEndpoint): Row {
  const name = `settlement/${nameOf(endpoint)}-not-negative: a request never adds credits`;
  const request = post(endpoint);
  return scenario(name, [request], async (service) => {
    const [cost] = await costOf(service, () => service.accepted(request));
    return unless(cost >= 0, `${amount(-cost, 'credit')} added`);
  });
}

const contact = post('contactSearch');

export const settlementRows: readonly Row[] = [
  ...searchRows('search'),
  ...searchRows('createTask'),
  scenario('settlement/invalid-costs-nothing: an invalid request is not charged', [], async (service) => {
    const [cost] = await costOf(service, async () => {
      for (const request of wrong) await service.accepted(request, 422);
    });
    return chargedNothing(cost);
  }),
  ...postEndpoints.map(duplicate),
  ...postEndpoints.map(sameMoment),
  scenario(
    'settlement/contact: a contact result is sent only after its billing is settled',
    [contact],
    async (service) => {
      await service.accepted(contact);
      const before = creditsOf(await service.accepted({ endpoint: 'balance' }));
      const more = (await service.steadyBalance()) - before;
      return unless(more === 0, `the balance changed by ${amount(more, 'credit')} after the answer`);
    },
  ),
  ...(['contactSearch', 'deepSearch', 'enrich', 'extract'] as const).map(notNegative),
  scenario(
    'settlement/reads-cost-nothing: status, fetch and balance are not charged',
    readStatus.sends,
    async (service) => {
      await readStatus.take(service);
      const [cost] = await costOf(service, async () => {
        for (const { take } of [readStatus, readPage, readPage]) await take(service);
      });
      return chargedNothing(cost);
    },
  ),
];
