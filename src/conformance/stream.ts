import { streamSentinel } from '../contract/types.ts';
import type { Answer } from './row.ts';
import { isObject } from './shapes.ts';

export interface Events {
  readonly batches: readonly Record<string, unknown>[];
  readonly dones: readonly Record<string, unknown>[];
  /** The entities of all batches, in their order. */
  readonly entities: readonly Record<string, unknown>[];
  readonly leadsSearchId: string | undefined;
}

/** The payloads of a stream, in order. Comments are part of Server-Sent Events, and say nothing. */
export function payloadsOf({ text }: Answer): string[] {
  return framesOf(text).map((frame) => frame.slice('data: '.length));
}

/** What is not a frame as the document has it: one line `data: <payload>`, followed by a blank line. */
export function oddFrames({ text }: Answer): string[] {
  const odd = framesOf(text).filter((frame) => !/^data: [^\r\n]+$/.test(frame));
  return /\r?\n\r?\n$/.test(text) || text === '' ? odd : [...odd, 'the last one has no blank line after it'];
}

function framesOf(text: string): string[] {
  return text.split(/(?:\r?\n){2,}/).filter((frame) => frame !== '' && !/^(:.*(\r?\n|$))+$/.test(frame));
}

export function eventsOf(answer: Answer): Events {
  const events = payloadsOf(answer)
    .filter((payload) => payload !== streamSentinel)
    .map(toObject);
  const batches = events.filter(({ object }) => object === 'entity_search_batch');
  return {
    batches,
    dones: events.filter(({ object }) => object === 'entity_search_done'),
    entities: batches.flatMap(({ entities }) => (Array.isArray(entities) ? entities.filter(isObject) : [])),
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
