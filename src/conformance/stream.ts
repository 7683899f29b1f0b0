import { createParser } from 'eventsource-parser';
import { streamSentinel } from '../contract/types.ts';
import { isObject } from '../json/object.ts';
import { arrayItems, type JsonText, objectMembers } from '../json/text.ts';
import type { Answer } from './row.ts';

export interface Events {
  /** The payloads of all frames, in order. */
  readonly payloads: readonly string[];
  readonly batches: readonly Record<string, unknown>[];
  readonly dones: readonly Record<string, unknown>[];
  /** The entities of all batches, in their order. */
  readonly entities: readonly Record<string, unknown>[];
  /** The same as they were written. */
  readonly texts: readonly JsonText[];
  readonly leadsSearchId: string | undefined;
}

/** The parser keeps a trailing CR back: lines end with LF alone before it sees them. */
function linesOf({ text }: Answer): string {
  return text.replace(/\r\n?/g, '\n');
}

/** What is not a frame as the document has it: one line `data: <payload>`, followed by a blank line. */
export function oddFrames(answer: Answer): string[] {
  const text = linesOf(answer);
  const frames = text.split(/\n{2,}/).filter((frame) => frame !== '');
  // Comments are part of Server-Sent Events, and say nothing.
  const odd = frames.filter((frame) => !/^(:.*\n?)*(data: .+)?$/.test(frame));
  // A frame without its blank line is none: the parser drops it without a word.
  return /\n\n$/.test(text) || text === '' ? odd : [...odd, 'the last frame, without a blank line after it'];
}

export function eventsOf(answer: Answer): Events {
  const payloads: string[] = [];
  const parser = createParser({ onEvent: ({ data }) => payloads.push(data) });
  parser.feed(linesOf(answer));
  const events = payloads
    .filter((payload) => payload !== streamSentinel)
    .map((payload) => ({ payload, event: toObject(payload) }));
  const ofBatches = events.filter(({ event }) => event.object === 'entity_search_batch');
  const batches = ofBatches.map(({ event }) => event);
  return {
    payloads,
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
