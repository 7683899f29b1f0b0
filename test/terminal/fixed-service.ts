import { contactResult, creditBalance, taskPage, taskStatus } from '../helpers/bodies.ts';
import {
  errorAnswer,
  type FaultServer,
  frame,
  jsonAnswer,
  type RawRequest,
  searchFrames,
  startFaultServer,
  streamHead,
  streamStart,
  wholeStream,
} from '../helpers/fault-server.ts';

export const fixedTask = 'ls_00000000-0000-0000-0000-000000000000';

/** Leads as the web has them: long, wide, from the right to the left, and hostile. */
const leads = [
  {
    name: 'Solaris Ledger GmbH',
    links: {
      website: 'https://www.solaris-ledger.example/',
      linkedin_url: 'https://www.linkedin.example/company/solaris-ledger',
      x: 'https://x.example/solaris_ledger',
    },
    description:
      'Seed-stage fintech in Berlin that reconciles the ledgers of mid-market banks with those of their payment providers, every night and without spreadsheets.',
    score: { score: '0.98', reason: 'seed stage, fintech, Berlin' },
  },
  {
    name: '株式会社ペイメントクラウド東京',
    links: { blog: 'http://pay.example/ja' },
    description: '東京を拠点とする決済インフラのスタートアップ。加盟店の入金を当日中に行う。',
    score: { score: '0.9' },
  },
  {
    name: 'Family Pay 🏦🇩🇪',
    links: {},
    description: 'Pocket money 💶 for families; naïve design, crème de la crème.',
    score: 8.25,
  },
  {
    name: 'شركة المدفوعات',
    links: { website: 'https://payments.example/ar' },
    description: 'حلول الدفع للشركات الصغيرة في برلين.',
    score: { score: 'n/a' },
  },
  {
    name: 'Donaudampfschifffahrtsgesellschaftskapitänsfinanzierung',
    links: { website: `https://archive.example/${'very-long-path/'.repeat(7)}index.html` },
    description: `${'Wort'.repeat(30)} is one word.`,
    score: { score: '0.5' },
  },
  {
    name: 'Evil\u001b[2J\u001b]0;owned\u0007 Corp\u202e',
    links: { website: 'https://evil.example/\u001b[31m' },
    description: 'Line one\r\nline two\u001b[1A\u001b[2K and \u200bnothing else.\t\u009b31m',
    score: { score: '0.1\n0.2' },
  },
];

const more = ['Alster Konto', 'Isar Giro'].map((name) => ({
  name,
  links: { website: `https://${name.replace(' ', '').toLowerCase()}.example` },
  description: 'A bank account for small firms.',
  score: { score: '0.4' },
}));

const enriched = leads.slice(0, 3).map((lead) => ({
  ...lead,
  enrich_fields: {
    funding_stage: { content: 'Seed', reference: 'https://news.example/1' },
    headcount: { content: 21 },
    investors: { content: ['Point Nine', 'Cherry', 'a syndicate of forty angels from seven countries'] },
  },
}));

/** Values that the interface leaves open: scores in words, links of any kind and form, long names, empty descriptions. */
const unlike = [
  {
    name: 'The Society for the Promotion of Seed-Stage Financial Technology in Berlin and Brandenburg e. V.',
    links: { crunchbase: 'https://www.crunchbase.example/organization/society-for-the-promotion-of-fintech' },
    description: null,
    score: { score: 'medium', reason: 'a society' },
  },
  {
    name: 'Ada',
    links: { signal: '+49 30 1234567', mastodon: '@ada@social.example' },
    score: 'very high',
  },
  {
    name: 'Wettbewerbsfähigkeitsverbesserungsgesellschaft mbH & Co. KG',
    links: {
      phone: ['+49 30 7654321'],
      shop: 'the second shop on the left behind the station, open on Mondays only',
    },
    description: '',
    score: { fit: 'low', intent: 3 },
  },
  {
    name: 'Bergmann',
    links: 'bergmann.example',
    description: 'A bank.',
    score: { score: '85 %' },
  },
  { name: 'Nothing else is known of this one' },
];

const long = `the \u001b[31mobjective ${'and its many words '.repeat(12)}can not be understood`;

const ok = (body: object): string => jsonAnswer(body, ['X-Request-Id: req_0000-0000-0000-0000']);
const batches = (...some: object[][]): string[] =>
  searchFrames(some.map((batch) => batch.map((lead) => JSON.stringify(lead))));
const [someFew = '', ...end] = batches(more);

/** The text of the request says which of these searches it is. */
const searches: Readonly<Record<string, string | Buffer>> = {
  fintech: wholeStream(batches(leads)),
  'a few': wholeStream(batches(leads.slice(0, 1), more)),
  enriched: wholeStream(batches(enriched)),
  unlike: wholeStream(batches(unlike)),
  nothing: wholeStream(batches()),
  cut: streamStart(someFew),
  warned: wholeStream([someFew, frame('{"object":"entity_search_note"}'), ...end]),
  'no credit': errorAnswer('402 Payment Required', 'insufficient_credits', 'not enough credits', [
    'X-Request-Id: req_402',
  ]),
  misunderstood: errorAnswer('422 Unprocessable Entity', 'invalid_request_error', long, [
    'X-Request-Id: req_422',
  ]),
};

/** The searches of these begin, and never go on. */
const open: Readonly<Record<string, string | Buffer>> = {
  silent: streamHead,
  slow: streamStart(someFew),
};

const answers: Readonly<Record<string, (request: RawRequest) => string>> = {
  '/v1/contact-search': ({ body }) => {
    const { objective, contact_type } = JSON.parse(body);
    if (objective.includes('nobody')) return ok(contactResult(contact_type, objective, null));
    const reference = `https://www.solaris-ledger.example/${'about-us/'.repeat(6)}team`;
    return ok(contactResult(contact_type, objective, 'cto@solaris-ledger.example', reference));
  },
  '/v1/deep-search': () =>
    ok({
      success: true,
      answer: {
        Result: `Two firms fit.\n\n${leads[0]?.description} [1]\n${leads[1]?.description} [2]`,
        Citations: leads.flatMap(({ links }) => Object.values(links)).slice(0, 5),
      },
    }),
  '/v1/enrich': () =>
    ok({
      success: true,
      answer: {
        headcount: 21,
        offices: ['Berlin', '東京'],
        founders: { ceo: 'Ada Weber', cto: null },
        story: leads[0]?.description,
        city: null,
      },
    }),
  '/v1/extract': () =>
    ok({
      success: true,
      data: ['mayapemberton', 'naomivance', '東京太郎'].map((login, index) => ({
        id: 12345678 + index,
        login,
        url: `https://github.example/${login}`,
        bio: index === 1 ? null : 'Rockets, mostly.',
      })),
      metadata: { type: 'github_repo_stargazers', target: 'acme/rocket', instruction: null, limit: 100 },
    }),
  '/v1/credit/balance': () => ok(creditBalance(99970)),
  '/v1/entity-search/create_task': () => ok({ leads_search_id: fixedTask }),
  '/v1/entity-search/status': ({ path }) =>
    path.includes('ls_test')
      ? errorAnswer('404 Not Found', 'not_found', 'no such task')
      : ok(taskStatus('done', 2)),
  '/v1/entity-search/fetch': () => ok(taskPage(fixedTask, 'done', more, { pts: 0, num: 500 })),
};

/** A service that always says the same, so that a screen is always the same. */
export async function startFixedService(): Promise<FaultServer> {
  return await startFaultServer((socket, request) => {
    const path = request.path.replace(/\?.*/, '');
    // Some questions are never answered.
    if (request.body.includes('"never"')) return;
    if (path !== '/v1/entity-search') {
      const notFound = errorAnswer('404 Not Found', 'not_found', 'not found');
      return void socket.write(answers[path]?.(request) ?? notFound);
    }
    const { objective } = JSON.parse(request.body);
    if (open[objective] === undefined) socket.end(searches[objective] ?? '');
    else socket.write(open[objective]);
  });
}
