import { type Client, requests } from '../../client.ts';
import { memberLayout } from '../../columns/columns.ts';
import { entityLayout } from '../../columns/entity-layout.ts';
import type { Layout, LayoutOf } from '../../columns/layout.ts';
import { isPerson } from '../../columns/record-parts.ts';
import { limits } from '../../contract/limits.ts';
import type { CreateTaskRequest, EntitySearchRequest } from '../../contract/types.ts';
import type { Charged } from '../../errors.ts';
import { type JsonText, JsonView, objectMembers, stringOf } from '../../json/text.ts';
import type { Request } from '../../transport/call.ts';
import { contact } from './contact.ts';
import { enrich } from './enrich.ts';
import { extract } from './extract.ts';
import type { Kind } from './kind.ts';
import { research } from './research.ts';

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
  tariff: ({ limit, enrich_fields }) => ({
    setting: 'price.search',
    units: limit ?? limits.entityLimit.default,
    plain: !enrich_fields?.length,
  }),
  layout: ({ enrich_fields, entity_type }) => entityLayout(enrich_fields, entity_type),
} as const satisfies Kind<EntitySearchRequest>;

const task = {
  ...leads,
  endpoint: 'createTask',
  isTask: true,
  tariff: ({ limit, enrich_fields, enable_web_search }) => ({
    setting: 'price.task',
    units: limit ?? limits.entityLimit.default,
    plain: !enrich_fields?.length && enable_web_search !== true,
  }),
  layout: ({ enrich_fields, entity_type }) => entityLayout(enrich_fields, entity_type),
} as const satisfies Partial<Kind<CreateTaskRequest>>;

/** What is bought as one answer, or as a list with one for each row. */
const lookups = { contact, research, enrich, extract } as const;

/** Every kind of operation that leaves a record, by its name in the journal and the history. */
export const kinds = {
  search,
  'task create': {
    ...task,
    prints: 'single',
    keeps: 'nothing',
    isResumable: false,
    layout: () => memberLayout(['leads_search_id', 'idempotency_key', 'request_id']),
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
    // Somebody else may have created it: its first page shows which enrich fields it has.
    layout: () => foundLayout,
  },
  ...lookups,
  ...toLists(lookups),
} as const satisfies Readonly<Record<string, Kind>>;

type Lists<Answers> = {
  readonly [Name in keyof Answers & string as `${Name} list`]: typeof list & {
    readonly subject: Kind['subject'];
  };
};

/** Pure: for each kind of answer the kind of its lists. */
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

/** Pure: whether the records of this kind are stored on this machine. */
export function isKept(name: string): name is KeptKind {
  const keeps = kindOf(name)?.keeps;
  return keeps === 'leads' || keeps === 'answer';
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

/** Pure: how the records of a kind are printed. */
export function printedAs<Name extends PaidKind | KeptKind>(
  name: Name,
  body: object,
): { readonly shape: Kind['prints']; readonly layout: Layout | LayoutOf } {
  const { layout } = kinds[name] as { readonly layout: (body: object) => Layout | LayoutOf };
  return { shape: kinds[name].prints, layout: layout(body) };
}

/** The columns of leads whose enrich fields only they themselves show. */
const foundLayout: LayoutOf = (records) => {
  const fields = records.flatMap((record) => [
    ...objectMembers(objectMembers(record).get('enrich_fields') ?? '{}').keys(),
  ]);
  return entityLayout([...new Set(fields)], records.some(isPerson) ? 'person' : undefined);
};

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
