import type { AnswerKind } from '../../src/operations/kinds/kinds.ts';

/** Expectations for a purchase with one answer, written by hand: none is computed by the code under test. */
export interface AnswerKindRow {
  /** Its command, and one with another request. The leads of the demonstration and of ledger.ts have answers for both. */
  readonly line: string;
  readonly otherLine: string;
  /** The endpoint and the body of the request that `line` sends. */
  readonly path: `/v1/${string}`;
  readonly body: object;
  /** The setting with its price. */
  readonly setting: `price.${string}`;
  /** The price of the local service, which charges it once for each of the lines. */
  readonly credits: number;
  /** Maximum cost of `line` there, if it is more. */
  readonly atMost?: number;
  /** A good answer, and its result in the words of the closing line. */
  readonly answer: string;
  readonly brought: string;
  /** The records of the answer, if these are printed instead of it. */
  readonly items?: readonly string[];
  /** An answer that is paid for and has no result, and the words in it, as they are shown. */
  readonly withoutResult?: readonly [answer: string, words: string];
  /** Whether the service may give the answer again to the same key, so that it is asked a second time. */
  readonly mayReplay?: true;
}

/** A row for each such command, in the order of the help. Tests that need one of each kind take them from here. */
export const answerKinds: Readonly<Record<AnswerKind, AnswerKindRow>> = {
  contact: {
    line: 'contact email " CTO of Nordlicht Pay "',
    otherLine: 'contact email "who founded Nordlicht Pay"',
    path: '/v1/contact-search',
    body: { contact_type: 'email', objective: 'CTO of Nordlicht Pay' },
    setting: 'price.contact.email',
    credits: 5,
    answer:
      '{"object":"contact_search_result","request":{"contact_type":"email","objective":"x"},"result":{"content":"a@b.example","reference":"https://b.example"},"created_at":"2026-01-31T09:00:00Z","id":12345678901234567890}',
    brought: 'email found',
  },
  research: {
    line: 'research "seed-stage fintech in Berlin"',
    otherLine: 'research "What is Nordlicht Pay?"',
    path: '/v1/deep-search',
    body: { query: 'seed-stage fintech in Berlin' },
    setting: 'price.research',
    credits: 20,
    answer: '{"success":true,"answer":{"Result":"Yes.","Citations":["https://a.example"]}}',
    brought: 'answered, 1 citation',
    withoutResult: [
      '{"success":false,"answer":{"answer":"No result generated from deep search"}}',
      'No result generated from deep search',
    ],
  },
  enrich: {
    line: 'enrich " Nordlicht Pay, Berlin " --field headcount:integer --field "city=where it is"',
    otherLine: 'enrich "Nordlicht Pay" --field city',
    path: '/v1/enrich',
    body: {
      entity_context: 'Nordlicht Pay, Berlin',
      enrich_fields: {
        type: 'object',
        properties: { headcount: { type: 'integer' }, city: { type: 'string', description: 'where it is' } },
      },
    },
    setting: 'price.enrich',
    credits: 2,
    answer: '{"success":true,"answer":{"headcount":12345678901234567890,"city":"Berlin"}}',
    brought: '2 of 2 fields filled',
    withoutResult: [
      '{"success":false,"answer":{"answer":"No result generated from enrich"}}',
      'No result generated from enrich',
    ],
  },
  extract: {
    line: 'extract web2list https://www.nordlicht-pay.example/team --instruction people',
    otherLine: 'extract web2list https://www.nordlicht-pay.example/team --instruction CTO',
    path: '/v1/extract',
    body: { type: 'web2list', target: 'https://www.nordlicht-pay.example/team', instruction: 'people' },
    setting: 'price.extract',
    credits: 1,
    // A page may have 100 items.
    atMost: 100,
    answer:
      '{"success":true,"data":[{"id":12345678901234567890},{"login":"ada"}],"metadata":{"type":"web2list","target":"https://www.nordlicht-pay.example/team","instruction":"people","limit":100}}',
    brought: '2 items',
    items: ['{"id":12345678901234567890}', '{"login":"ada"}'],
    withoutResult: [
      '{"success":false,"data":"the page is\\u001b[2J private","metadata":{}}',
      'the page is[2J private',
    ],
    mayReplay: true,
  },
};

export const answerKindRows: readonly AnswerKindRow[] = Object.values(answerKinds);

/** The hint for an option that the typed command lacks and these commands have. It names at most four. */
export function toOwners(names: readonly string[]): string {
  return `It is an option of ${names.slice(0, 4).join(', ')}${names.length > 4 ? ' and others' : ''}.`;
}
