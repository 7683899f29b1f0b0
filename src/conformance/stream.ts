import { createParser } from 'eventsource-parser';
import { isObject } from '../json/object.ts';
import { arrayItems, type JsonText, objectMembers, stringOf } from '../json/text.ts';
import { type Answer, toJson } from './service.ts';
import { listIn } from './shapes.ts';

export type Events = ReturnType<typeof eventsOf>;

/** The parser waits after a CR at the end, so line ends become LF first. */
function linesOf({ text }: Answer): string {
  return text.replace(/\r\n?/g, '\n');
}

/** What is not a frame of the documented form: one line `data: <payload>` and a blank line. */
export function oddFrames(answer: Answer): string[] {
  const text = linesOf(answer);
  const frames = text.split(/\n{2,}/).filter((frame) => frame !== '');
  // Comments are part of Server-Sent Events, and are ignored.
  const odd = frames.filter((frame) => !/^(:.*\n?)*(data: .+)?$/.test(frame));
  // The parser drops a frame without its blank line.
  return /\n\n$/.test(text) || text === '' ? odd : [...odd, 'the last frame, without a blank line after it'];
}

export function eventsOf(answer: Answer) {
  /** All frames, in their order. */
  const payloads: string[] = [];
  const parser = createParser({ onEvent: ({ data }) => payloads.push(data) });
  parser.feed(linesOf(answer));
  const events = payloads.map((payload) => ({ payload, event: toEvent(payload) }));
  const batches = events.filter(({ event }) => event.object === 'entity_search_batch');
  return {
    payloads,
    batches: batches.map(({ event }) => event),
    dones: events.map(({ event }) => event).filter(({ object }) => object === 'entity_search_done'),
    entities: batches.flatMap(({ event }) => listIn(event, 'entities').filter(isObject)),
    /** The same, as they were written. */
    texts: batches.flatMap(({ payload }) => entityTexts(payload)),
    leadsSearchId: batches.map(({ event }) => event.leads_search_id).find((id) => typeof id === 'string'),
  };
}

/** Anything that is not a JSON object counts as an unknown event. */
function toEvent(payload: string): Record<string, unknown> {
  const event = toJson(payload);
  return isObject(event) ? event : {};
}

/** The entities of a page or a batch as they were written: texts can be compared however deep they are. */
function entityTexts(json: JsonText): JsonText[] {
  return arrayItems(objectMembers(json).get('entities') ?? '').filter((item) => item.startsWith('{'));
}

/** The entities of a page. */
export function leadsIn({ json, text }: Answer): JsonText[] {
  return json === undefined ? [] : entityTexts(text);
}

/** Undefined where a lead has no name, or one that is not a text. */
export function nameIn(lead: JsonText): string | undefined {
  return stringOf(objectMembers(lead).get('name'));
}

/** Score and reason may differ from search to search, so name and links identify a lead; without them, all of it. */
export function identityOf(entity: JsonText): string {
  const members = objectMembers(entity);
  const [name, links] = [members.get('name'), members.get('links')];
  return name === undefined && links === undefined ? entity : `${name} ${links}`;
}
