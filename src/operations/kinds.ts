import { type Client, requests } from '../client.ts';
import { createYielder } from '../event-loop.ts';
import { eachItem, type JsonText, objectMembers, stringOf } from '../json/text.ts';
import type { Request } from '../transport/call.ts';

/** Everything that differs between kinds of operations. */
interface Kind {
  /** The request that is paid for; null where nothing is paid for. */
  readonly endpoint: 'search' | 'createTask' | 'contactSearch' | 'deepSearch' | 'enrich' | 'extract' | null;
  /** What this machine stores of the answer. The leads of a task stay at the service. */
  readonly keeps: 'leads' | 'answer' | 'rows' | 'nothing';
  /** How an interrupted operation goes on: as itself, as another purchase of the rest, with its key, or with the same command. */
  readonly goesOn: 'resume' | 'continue' | 'repeat' | 'command' | 'never';
  /** The member of the request that is shown behind the name in the history: `search company`. */
  readonly subject: 'entity_type' | 'contact_type' | 'type' | null;
  /** The member of the request, or of a list's options, that holds the user's words. */
  readonly about: 'objective' | 'query' | 'entity_context' | 'target' | 'input' | null;
  readonly prints: 'single' | 'list';
  /** Cuts the records out of an answer that holds several. Throws when `signal` aborts. */
  readonly recordsOf?: (answer: JsonText, signal?: AbortSignal) => Promise<readonly JsonText[]>;
  /** The service's words where it finished without a result. */
  readonly reasonIn?: (answer: JsonText) => JsonText;
}

const leads = { prints: 'list', subject: 'entity_type', about: 'objective' } as const;
const answer = { keeps: 'answer', goesOn: 'never', prints: 'single' } as const;
const said = { subject: null, reasonIn: answerInAnswer } as const;
/** A list: many answers, one bought for each row. */
const rows = { endpoint: null, prints: 'list', keeps: 'rows', goesOn: 'command', about: 'input' } as const;

/**
 * Every kind of operation that leaves a record, by its name in the journal and the history. Don't rename them: the journals of earlier
 * versions hold these names.
 */
export const kinds = {
  search: { ...leads, endpoint: 'search', keeps: 'leads', goesOn: 'continue' },
  'task create': { ...leads, endpoint: 'createTask', prints: 'single', keeps: 'nothing', goesOn: 'repeat' },
  'task run': { ...leads, endpoint: 'createTask', keeps: 'nothing', goesOn: 'resume' },
  'task wait': { ...leads, endpoint: null, keeps: 'nothing', goesOn: 'resume', subject: null, about: null },
  contact: { ...answer, endpoint: 'contactSearch', subject: 'contact_type', about: 'objective' },
  research: { ...answer, ...said, endpoint: 'deepSearch', about: 'query' },
  enrich: { ...answer, ...said, endpoint: 'enrich', about: 'entity_context' },
  extract: {
    ...answer,
    endpoint: 'extract',
    subject: 'type',
    about: 'target',
    prints: 'list',
    recordsOf: itemsOf,
    reasonIn: (answer) => objectMembers(answer).get('data') ?? 'null',
  },
  'contact list': { ...rows, subject: 'contact_type' },
  'research list': { ...rows, subject: null },
  'enrich list': { ...rows, subject: null },
  'extract list': { ...rows, subject: 'type' },
} as const satisfies Readonly<Record<string, Kind>>;

type Kinds = typeof kinds;
export type KindName = keyof Kinds;
type KindsWith<Trait> = { [Name in KindName]: Kinds[Name] extends Trait ? Name : never }[KindName];

export type PaidKind = Exclude<KindName, KindsWith<{ endpoint: null }>>;
export type AnswerKind = KindsWith<{ keeps: 'answer' }>;
/** Kinds whose records are stored on this machine. */
export type KeptKind = KindsWith<{ keeps: 'leads' | 'answer' }>;

export type BodyOf<Name extends PaidKind> = Parameters<Client[Kinds[Name]['endpoint']]>[0];

export function toRequest<Name extends PaidKind>(name: Name, body: BodyOf<Name>, key: string): Request {
  const make = requests[kinds[name].endpoint] as (body: object, key: string) => Request;
  return make(body, key);
}

/** Pure: the kind of this name; undefined for a kind of a later version. */
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

/** Pure: whether this kind makes a task at the service. */
export function isTask(name: string): boolean {
  return kindOf(name)?.keeps === 'nothing';
}

const longestReason = 500;

/** Pure: what the service says instead of a result; undefined when there is one. */
// rule: extract.failure, errors.success-false
export function failureOf(name: AnswerKind, answer: JsonText): string | undefined {
  const { reasonIn }: Kind = kinds[name];
  if (reasonIn === undefined || objectMembers(answer).get('success') !== 'false') return undefined;
  const said = reasonIn(answer);
  return (stringOf(said) ?? said).slice(0, longestReason);
}

/** From `{ "success": false, "answer": { "answer": "…" } }`. */
function answerInAnswer(text: JsonText): JsonText {
  const answer = objectMembers(text).get('answer') ?? 'null';
  return objectMembers(answer).get('answer') ?? answer;
}

/** The items of an extraction, each as the service wrote it. Throws when `signal` aborts. */
async function itemsOf(answer: JsonText, signal?: AbortSignal): Promise<JsonText[]> {
  const items: JsonText[] = [];
  const yielder = createYielder(signal);
  for (const item of eachItem(objectMembers(answer).get('data') ?? '[]')) {
    items.push(item);
    if (yielder.isDue()) await yielder.yield();
  }
  return items;
}
