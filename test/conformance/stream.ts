import { createParser } from 'eventsource-parser';
import { isObject } from '../../src/json/object.ts';
import { type Answer, toJson } from './service.ts';
import { jsonOf, listIn, memberOf } from './shapes.ts';

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
  const events = payloads.map(toEvent);
  const batches = events.filter(({ object }) => object === 'entity_search_batch');
  return {
    payloads,
    batches,
    dones: events.filter(({ object }) => object === 'entity_search_done'),
    entities: batches.flatMap((batch) => listIn(batch, 'entities').filter(isObject)),
    leadsSearchId: batches.map((batch) => batch.leads_search_id).find((id) => typeof id === 'string'),
  };
}

/** Anything that is not a JSON object counts as an unknown event. */
function toEvent(payload: string): Record<string, unknown> {
  const event = toJson(payload);
  return isObject(event) ? event : {};
}

/** The entities of a page. */
export function leadsIn({ json }: Answer): object[] {
  return listIn(json, 'entities').filter(isObject);
}

/** Score and reason may differ from search to search, so name and links identify a lead; without them, all of it. */
export function identityOf(lead: object): string {
  const identity = [memberOf(lead, 'name'), memberOf(lead, 'links')];
  return jsonOf(identity.some((one) => one !== undefined) ? identity : lead);
}
