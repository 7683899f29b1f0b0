import { streamSentinel } from '../contract/types.ts';
import { isObject } from '../json/object.ts';
import { arrayItems, type JsonText, objectMembers } from '../json/text.ts';
import type { Answer } from './row.ts';

export interface Events {
  readonly batches: readonly Record<string, unknown>[];
  readonly dones: readonly Record<string, unknown>[];
  /** The entities of all batches, in their order. */
  readonly entities: readonly Record<string, unknown>[];
  /** The same as they were written. */
  readonly texts: readonly JsonText[];
  readonly leadsSearchId: string | undefined;
}

/** The payloads of a stream, in order. Comments are part of Server-Sent Events, and say nothing. */
export function payloadsOf({ text }: Answer): string[] {
  return framesOf(text).map((frame) => frame.slice('data: '.length));
}

/** What is not a frame as the document has it: one line `data: <payload>`, followed by a blank line. */
export function oddFrames({ text }: Answer): string[] {
  const odd = framesOf(text).filter((frame) => !/^data: [^\r\n]+$/.test(frame));
  return /\r?\n\r?\n$/.test(text) || text === ''
    ? odd
    : [...odd, 'the last frame, without a blank line after it'];
}

function framesOf(text: string): string[] {
  return text.split(/(?:\r?\n){2,}/).filter((frame) => frame !== '' && !/^(:.*(\r?\n|$))+$/.test(frame));
}

export function eventsOf(answer: Answer): Events {
  const events = payloadsOf(answer)
    .filter((payload) => payload !== streamSentinel)
    .map((payload) => ({ payload, event: toObject(payload) }));
  const ofBatches = events.filter(({ event }) => event.object === 'entity_search_batch');
  const batches = ofBatches.map(({ event }) => event);
  return {
    batches,
    dones: events.map(({ event }) => event).filter(({ object }) => object === 'entity_search_done'),
    entities: batches.flatMap(({ entities }) => (Array.isArray(entities) ? entities.filter(isObject) : [])),
    texts: ofBatches.flatMap(({ payload }) => entityTexts(payload)),
    leadsSearchId: batches.map((batch) => batch.leads_search_id).find((id) => typeof id === 'string'),
  };
}

/** Anything that is not a JSON object counts as an event that the document does not know. */
function toObject(payload: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(payload);
    return isObject(value) ? value : {};
  } catch {
    return {};
  }
}

/** The entities of a page or a batch as they were written: a text can be compared however deep it is nested. */
export function entityTexts(json: JsonText): JsonText[] {
  return arrayItems(objectMembers(json).get('entities') ?? '').filter((item) => item.startsWith('{'));
}

/** Score and reason may differ from search to search. Without name and links it is the whole. */
export function identityOf(entity: JsonText): string {
  const members = objectMembers(entity);
  const [name, links] = [members.get('name'), members.get('links')];
  return name === undefined && links === undefined ? entity : `${name} ${links}`;
}
