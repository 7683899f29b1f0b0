import type { EnrichRequest, EntitySearchRequest } from '../contract/types.ts';
import { eachItem, type JsonText, objectMembers } from '../json/text.ts';
import type { Intent } from '../operations/journal/journal.ts';
import {
  contactLayout,
  enrichLayout,
  entityLayout,
  itemsLayout,
  type Layout,
  type LayoutOf,
  researchLayout,
} from '../output/columns.ts';
import { createTurns } from '../output/turns.ts';

/** How what a purchase brought is kept, and printed again as it was the first time. */
export interface KeptAnswer {
  /** `leads` are in a file of their own; the others are cut out of the one answer. */
  readonly shape: 'single' | 'list' | 'leads';
  readonly layout: Layout | LayoutOf;
  /** Throws when `signal` aborts. */
  recordsOf(answer: JsonText, signal?: AbortSignal): Promise<readonly JsonText[]>;
}

/** Pure: undefined for a task, whose leads are at the service. */
export function keptOf({ command, body = '{}' }: Intent): KeptAnswer | undefined {
  const whole = (layout: Layout): KeptAnswer => ({
    shape: 'single',
    layout,
    recordsOf: async (answer) => [answer],
  });
  switch (command) {
    case 'search': {
      const { enrich_fields } = JSON.parse(body) as EntitySearchRequest;
      return { shape: 'leads', layout: entityLayout(enrich_fields), recordsOf: async () => [] };
    }
    case 'contact':
      return whole(contactLayout);
    case 'research':
      return whole(researchLayout);
    case 'enrich': {
      const { properties } = (JSON.parse(body) as EnrichRequest).enrich_fields as { properties?: object };
      return whole(enrichLayout(Object.keys(properties ?? {})));
    }
    case 'extract':
      return { shape: 'list', layout: itemsLayout, recordsOf: itemsOf };
    default:
      return undefined;
  }
}

/** The items of an extraction, each as the service wrote it. Throws when `signal` aborts. */
export async function itemsOf(answer: JsonText, signal?: AbortSignal): Promise<JsonText[]> {
  const items: JsonText[] = [];
  const turns = createTurns(signal);
  for (const item of eachItem(objectMembers(answer).get('data') ?? '[]')) {
    items.push(item);
    if (turns.isDue()) await turns.take();
  }
  return items;
}
