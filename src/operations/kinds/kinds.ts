import { type Client, requests } from '../../client.ts';
import { leadLimitOf, limits, web2listLimit } from '../../contract/limits.ts';
import type {
  ContactSearchRequest,
  CreateTaskRequest,
  DeepSearchRequest,
  EnrichRequest,
  EntitySearchRequest,
  ExtractionType,
  ExtractRequest,
} from '../../contract/types.ts';
import type { Charged } from '../../errors.ts';
import { createYielder } from '../../event-loop.ts';
import {
  arrayItems,
  eachItem,
  isFilled,
  type JsonText,
  JsonView,
  objectMembers,
  stringOf,
} from '../../json/text.ts';
import type { Request } from '../../transport/call.ts';
import type { Kind } from './kind.ts';

/*
 * The kinds of purchases: their endpoints, prices, and what is stored. The columns of their records, and what a list sends for its rows, are in
 * layouts.ts, which most commands do not load.
 */

const leads = { prints: 'list', subject: 'entity_type', about: 'objective' } as const;
/** A list: many answers, one bought for each row, at the price of the row. */
const list = {
  endpoint: null,
  prints: 'list',
  keeps: 'rows',
  isResumable: true,
  about: 'input',
  tariff: noTariff,
} as const;

const search = {
  ...leads,
  endpoint: 'search',
  keeps: 'leads',
  isResumable: true,
  tariff: (request) => ({
    setting: 'price.search',
    units: leadLimitOf(request),
    plain: !request.enrich_fields?.length,
  }),
} as const satisfies Kind<EntitySearchRequest>;

const task = {
  ...leads,
  endpoint: 'createTask',
  isTask: true,
  tariff: (request) => ({
    setting: 'price.task',
    units: leadLimitOf(request),
    plain: !request.enrich_fields?.length && request.enable_web_search !== true,
  }),
} as const satisfies Partial<Kind<CreateTaskRequest>>;

/** The values that, together with a target, decide what is extracted. */
export interface ExtractRows {
  readonly type: ExtractionType;
  readonly instruction?: string | undefined;
  readonly limit?: number | undefined;
}

const answer = { keeps: 'answer', isResumable: false } as const;

/** The purchases that are one answer, or a list with one answer for each row. */
const lookups = {
  contact: {
    ...answer,
    endpoint: 'contactSearch',
    prints: 'single',
    subject: 'contact_type',
    about: 'objective',
    tariff: ({ contact_type }) => ({ setting: `price.contact.${contact_type}`, units: 1 }),
    foundIn: (found) => Number(contentOf(found) !== undefined),
  } satisfies Kind<ContactSearchRequest>,
  research: {
    ...answer,
    endpoint: 'deepSearch',
    prints: 'single',
    subject: null,
    about: 'query',
    tariff: () => ({ setting: 'price.research', units: 1 }),
    reasonIn: answerInAnswer,
  } satisfies Kind<DeepSearchRequest>,
  enrich: {
    ...answer,
    endpoint: 'enrich',
    prints: 'single',
    subject: null,
    about: 'entity_context',
    tariff: () => ({ setting: 'price.enrich', units: 1 }),
    reasonIn: answerInAnswer,
  } satisfies Kind<EnrichRequest>,
  extract: {
    ...answer,
    endpoint: 'extract',
    prints: 'list',
    subject: 'type',
    about: 'target',
    tariff: ({ type, limit }) => ({
      setting: 'price.extract',
      units: type === 'web2list' ? web2listLimit : (limit ?? limits.extractLimit.default),
    }),
    recordsOf: itemsOf,
    foundIn: (found) => arrayItems(found.member('data') ?? '[]').length,
    reasonIn: (found) => objectMembers(found).get('data') ?? 'null',
    sentOf: ({ type, instruction, limit = limits.extractLimit.default, ...rest }) => ({
      ...rest,
      type,
      instruction: instruction?.trim(),
      // The service ignores the limit of web2list.
      limit: type === 'web2list' ? undefined : limit,
    }),
  } satisfies Kind<ExtractRequest, ExtractRows>,
} as const;

/** Pure: the contact that was found. Null, empty and white space are all "not found". */
export function contentOf(found: JsonView): JsonText | undefined {
  const content = found.find([['result', 'content']]);
  return isFilled(content) ? content : undefined;
}

/** Pure: the inner answer of `{ "success": false, "answer": { "answer": "…" } }`. */
function answerInAnswer(text: JsonText): JsonText {
  const found = objectMembers(text).get('answer') ?? 'null';
  return objectMembers(found).get('answer') ?? found;
}

/** The items of an extraction, each as the service wrote it. Throws when `signal` aborts. */
async function itemsOf(text: JsonText, signal?: AbortSignal): Promise<JsonText[]> {
  const items: JsonText[] = [];
  const yielder = createYielder(signal);
  for (const item of eachItem(objectMembers(text).get('data') ?? '[]')) {
    items.push(item);
    if (yielder.isDue()) await yielder.yield();
  }
  return items;
}

/** Every kind of operation that leaves a record, by its name in the journal and the history. */
export const kinds = {
  search,
  'task create': {
    ...task,
    prints: 'single',
    keeps: 'nothing',
    isResumable: false,
  },
  'task run': { ...task, keeps: 'leads', isResumable: true },
  'task wait': {
    ...leads,
    endpoint: null,
    isTask: true,
    keeps: 'leads',
    isResumable: true,
    subject: null,
    about: null,
    tariff: noTariff,
  },
  ...lookups,
  ...toLists(lookups),
} as const satisfies Readonly<Record<string, Kind>>;

type Lists<Answers> = {
  readonly [Name in keyof Answers & string as `${Name} list`]: typeof list & {
    readonly subject: Kind['subject'];
  };
};

function toLists<Answers extends Readonly<Record<string, Pick<Kind, 'subject'>>>>(
  answers: Answers,
): Lists<Answers> {
  const named = Object.entries(answers).map(([name, { subject }]) => [`${name} list`, { ...list, subject }]);
  return Object.fromEntries(named);
}

/** A kind that is not paid for by itself. */
function noTariff(): never {
  throw new Error('this kind has no price');
}

type Kinds = typeof kinds;
export type KindName = keyof Kinds;
type KindsWith<Trait> = { [Name in KindName]: Kinds[Name] extends Trait ? Name : never }[KindName];

export type PaidKind = Exclude<KindName, KindsWith<{ endpoint: null }>>;
export type AnswerKind = KindsWith<{ keeps: 'answer' }>;
export type ListKind = KindsWith<{ keeps: 'rows' }>;
/** Kinds whose records are stored on this machine. */
export type KeptKind = KindsWith<{ keeps: 'leads' | 'answer' }>;

export type BodyOf<Name extends PaidKind> = Parameters<Client[Kinds[Name]['endpoint']]>[0];

export function toRequest<Name extends PaidKind>(name: Name, body: BodyOf<Name>, key: string): Request {
  const make = requests[kinds[name].endpoint] as (body: object, key: string) => Request;
  return make(body, key);
}

/** Pure: the kind of this name; undefined for one that is not known. */
export function kindOf(name: string): Kind | undefined {
  return Object.hasOwn(kinds, name) ? kinds[name as KindName] : undefined;
}

/** Pure: the kind that a list buys for each row; undefined for what is not a list. */
export function rowsOf(name: string): AnswerKind | undefined {
  return kindOf(name)?.keeps === 'rows' ? (name.replace(/ list$/, '') as AnswerKind) : undefined;
}

export function isPaid(name: string): name is PaidKind {
  return (kindOf(name)?.endpoint ?? null) !== null;
}

/** Pure: whether this kind can cost credits, by itself or by the rows of a list. */
export function canCost(name: string): boolean {
  return isPaid(name) || rowsOf(name) !== undefined;
}

/** Pure: whether this kind brings one answer. */
export function isAnswerKind(name: string): name is AnswerKind {
  return kindOf(name)?.keeps === 'answer';
}

/** Pure: whether the records of this kind are stored on this machine. */
export function isKept(name: string): name is KeptKind {
  return isAnswerKind(name) || kindOf(name)?.keeps === 'leads';
}

/** The records of an answer. Throws when `signal` aborts. */
export async function recordsOf(
  name: KeptKind,
  answer: JsonText,
  signal?: AbortSignal,
): Promise<readonly JsonText[]> {
  const { recordsOf: cut }: Kind = kinds[name];
  return cut === undefined ? [answer] : await cut(answer, signal);
}

/** Pure: whether this kind is about a task at the service. */
export function isTask(name: string): boolean {
  return kindOf(name)?.isTask === true;
}

const longestReason = 500;

/** Pure: how many items an answer has; of other kinds, 1 where something was found. */
export function foundIn(name: AnswerKind, answer: JsonText): number {
  if (failureOf(name, answer) !== undefined) return 0;
  const { foundIn: count }: Kind = kinds[name];
  return count?.(new JsonView(answer)) ?? 1;
}

/** Pure: whether an answer was charged: the interface does not say it of one that has found nothing. */
export function chargedFor(name: AnswerKind, answer: JsonText): Charged {
  return foundIn(name, answer) > 0 ? 'yes' : 'maybe';
}

/** Pure: what the service says instead of a result; undefined when there is one. */
export function failureOf(name: AnswerKind, answer: JsonText): string | undefined {
  const { reasonIn }: Kind = kinds[name];
  if (reasonIn === undefined || objectMembers(answer).get('success') !== 'false') return undefined;
  const reason = reasonIn(answer);
  return (stringOf(reason) ?? reason).slice(0, longestReason);
}
