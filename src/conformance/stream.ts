import { createParser } from 'eventsource-parser';
import { streamSentinel } from '../contract/types.ts';
import { isObject } from '../json/object.ts';
import { arrayItems, type JsonText, objectMembers, stringOf } from '../json/text.ts';
import { type Answer, toJson } from './service.ts';
import { listIn } from './shapes.ts';

export type Events = ReturnType<typeof eventsOf>;

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

export function eventsOf(answer: Answer) {
  /** All frames, in order. */
  const payloads: string[] = [];
  const parser = createParser({ onEvent: ({ data }) => payloads.push(data) });
  parser.feed(linesOf(answer));
  const events = payloads.filter((payload) => payload !== streamSentinel).map(toEvent);
  const batches = events.filter(({ object }) => object === 'entity_search_batch');
  return {
    payloads,
    batches: batches.map(({ event }) => event),
    dones: events.filter(({ object }) => object === 'entity_search_done').map(({ event }) => event),
    entities: batches.flatMap(({ event }) => listIn(event, 'entities').filter(isObject)),
    /** The same as they were written. */
    texts: batches.flatMap(({ payload }) => entityTexts(payload)),
    leadsSearchId: batches.map(({ event }) => event.leads_search_id).find((id) => typeof id === 'string'),
  };
}

/** Anything that is not a JSON object counts as an event that the document does not know. */
function toEvent(payload: string): { payload: string; event: Record<string, unknown>; object: unknown } {
  const event = toJson(payload);
  return isObject(event)
    ? { payload, event, object: event.object }
    : { payload, event: {}, object: undefined };
}

/** The entities of a page or a batch as they were written: a text can be compared however deep it is nested. */
function entityTexts(json: JsonText): JsonText[] {
  return arrayItems(objectMembers(json).get('entities') ?? '').filter((item) => item.startsWith('{'));
}

/** Those of a page. */
export function leadsIn({ json, text }: Answer): JsonText[] {
  return json === undefined ? [] : entityTexts(text);
}

/** Undefined where a lead has none, or none that is a text. */
export function nameIn(lead: JsonText): string | undefined {
  return stringOf(objectMembers(lead).get('name'));
}

/** Score and reason may differ from search to search. Without name and links it is the whole. */
export function identityOf(entity: JsonText): string {
  const members = objectMembers(entity);
  const [name, links] = [members.get('name'), members.get('links')];
  return name === undefined && links === undefined ? entity : `${name} ${links}`;
}
