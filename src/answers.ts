/**
 * The only place that turns the service's JSON into typed values. It reads JSON as text. A member that is not what the interface
 * promises counts as missing. Nothing here throws, however odd or deeply nested the text is.
 */
import { type CreatedTask, streamSentinel } from './contract/types.ts';
import {
  arrayItems,
  countOf,
  isOf,
  type JsonText,
  kindOf,
  objectMembers,
  objectOf,
  stringOf,
  withMembers,
} from './json/text.ts';
import { isJson } from './json/valid.ts';
import type { Frame } from './transport/frames.ts';

/** The content of a frame of a search stream. Members that can't be used are undefined; entities stay as the service wrote them. */
export type SearchEvent = ReturnType<typeof toSearchEvents>[number];

/** An answer that is a stream. */
export interface SearchStream {
  readonly requestId: string | undefined;
  /** Groups of events, as they arrive. Throws a RequestError if the stream is cut. */
  readonly events: AsyncIterable<readonly SearchEvent[]>;
}

/** The status of a task. */
export type Status = Exclude<ReturnType<typeof toStatus>, MissingMember>['status'];

/** A body as the service sent it, and its parsed value. */
export interface Answer<T> {
  readonly text: JsonText;
  readonly value: T;
  readonly requestId: string | undefined;
  /** The key that the service returned, supplied or generated. */
  readonly idempotencyKey: string | undefined;
  /** The `Date` header. */
  readonly serverTime: string | undefined;
}

/** A fetch page with its entities as the service wrote them. */
export interface Page extends Answer<Omit<Exclude<ReturnType<typeof toPage>, MissingMember>, 'entities'>> {
  readonly entities: readonly JsonText[];
}

/** The name of a required member that is missing in an answer. */
export type MissingMember = string;

/** Maximum lengths in characters. Longer texts are cut; a longer ID is invalid. */
const longestMessage = 500;
const longestStopReason = 200;
const longestState = 200;
const longestId = 1000;

const isArray = isOf('array');
const isBoolean = isOf('boolean');
const isNumber = isOf('number');
const isObject = isOf('object');

/** The members of an answer, each as it was written. */
export type Members = ReadonlyMap<string, JsonText>;

/** The content of a frame. Empty for an event of a later version of the interface. */
export function toSearchEvents({ event, data }: Frame) {
  const isError = event === 'error';
  if (data === streamSentinel && !isError) return [{ kind: 'sentinel' } as const];
  if (!isJson(data)) return [toFault(isError ? data : `a frame that is not JSON: ${data}`)];
  const members = objectMembers(data);
  const error = members.get('error') ?? (isError ? data : 'null');
  const parsed = toSearchEvent(members);
  if (kindOf(error) === 'null' && !isError) return parsed;
  // Leads in an error frame are paid for like any others. If no `message` is found, the whole text is shown.
  return [...parsed, toFault(stringOf(objectMembers(error).get('message')) ?? stringOf(error) ?? error)];
}

/** An error frame, or one that can't be understood. It ends the stream. */
function toFault(text: string) {
  return { kind: 'error', message: text.slice(0, longestMessage) } as const;
}

function toSearchEvent(members: Members) {
  const leads_search_id = idOf(members.get('leads_search_id'));
  const cum_count = countOf(members.get('cum_count'));
  switch (stringOf(members.get('object'))) {
    case 'entity_search_batch': {
      const batch_index = countOf(members.get('batch_index'));
      const batch = { leads_search_id, batch_index, count: countOf(members.get('count')), cum_count };
      const entities = members.get('entities');
      const isList = isArray(entities);
      return [{ kind: 'batch', batch, entities: isList ? arrayItems(entities) : undefined } as const];
    }
    case 'entity_search_done': {
      const done = { leads_search_id, cum_count, stop_reason: toStopReason(members) };
      return [{ kind: 'done', done, finished: (members.get('finish') ?? 'true') === 'true' } as const];
    }
    default:
      return [];
  }
}

function toStopReason(members: Members): string | undefined {
  return stringOf(members.get('stop_reason'))?.slice(0, longestStopReason);
}

export function toCreatedTask(members: Members): CreatedTask | MissingMember {
  const leads_search_id = idOf(members.get('leads_search_id'));
  return leads_search_id === undefined ? '`leads_search_id`' : { leads_search_id };
}

export function toStatus(members: Members) {
  const text = members.get('status');
  if (!isObject(text)) return '`status`';
  const inner = objectMembers(text);
  const status = stringOf(inner.get('status'))?.slice(0, longestState);
  const ready_count = countOf(inner.get('ready_count'));
  if (!status) return '`status.status`';
  if (ready_count === undefined) return '`status.ready_count`';
  return { status: { status, ready_count, stop_reason: toStopReason(inner) } };
}

export function toPage(members: Members) {
  const entities = members.get('entities');
  if (!isArray(entities)) return '`entities`';
  const counts = { pts: 0, num: 0, count: 0, ready_count: 0 };
  for (const name of Object.keys(counts) as (keyof typeof counts)[]) {
    const count = countOf(members.get(name));
    if (count === undefined) return `\`${name}\``;
    counts[name] = count;
  }
  const status = stringOf(members.get('status'))?.slice(0, longestState);
  const leads_search_id = stringOf(members.get('leads_search_id'));
  const limit = countOf(members.get('limit'));
  return { ...counts, status, leads_search_id, limit, entities: arrayItems(entities) };
}

export function toContact(members: Members): object | MissingMember {
  return isObject(members.get('result')) ? {} : '`result`';
}

export function toResearchOrEnrichment(members: Members) {
  const success = booleanOf(members.get('success'));
  if (success === undefined) return '`success`';
  return kindOf(members.get('answer') ?? 'null') === 'null' ? '`answer`' : { success };
}

export function toExtraction(members: Members) {
  const success = booleanOf(members.get('success'));
  const data = members.get('data');
  if (success === undefined) return '`success`';
  return (success ? isArray(data) : data !== undefined) ? { success } : '`data`';
}

/** Accepts any number, also a negative or very long one: it is printed from the text, without rounding. */
export function toBalance(members: Members) {
  const available_credits = members.get('available_credits');
  if (stringOf(members.get('object')) !== 'credit_balance' || !isNumber(available_credits)) {
    return '`available_credits`';
  }
  return { available_credits: Number(available_credits) };
}

/** Pure: the answer of status as one record: the ID, the members of `status`, and everything else in the answer. */
export function toStatusRecord(leadsSearchId: string, answer: JsonText): JsonText {
  const beside = objectMembers(answer);
  const id = ['leads_search_id', JSON.stringify(leadsSearchId)] as const;
  const status = withMembers([id], beside.get('status') ?? '{}');
  beside.delete('status');
  return beside.size === 0 ? status : withMembers([...objectMembers(status)], objectOf(beside));
}

/** Pure: the answer of create_task as a record: the ID, what must be stored beside it, and everything else in the answer. */
export function toCreatedRecord(answer: Answer<CreatedTask>, idempotencyKey: string): JsonText {
  const { leads_search_id } = answer.value;
  const kept = { leads_search_id, idempotency_key: idempotencyKey, request_id: answer.requestId ?? null };
  return withMembers([...objectMembers(JSON.stringify(kept))], answer.text);
}

function idOf(text: JsonText | undefined): string | undefined {
  const id = stringOf(text);
  return id === undefined || id === '' || id.length > longestId ? undefined : id;
}

function booleanOf(text: JsonText | undefined): boolean | undefined {
  return isBoolean(text) ? text === 'true' : undefined;
}
