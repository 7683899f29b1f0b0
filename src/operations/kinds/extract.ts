import { limits, web2listLimit } from '../../contract/limits.ts';
import type { ExtractRequest } from '../../contract/types.ts';
import { createYielder } from '../../event-loop.ts';
import { eachItem, type JsonText, objectMembers } from '../../json/text.ts';
import type { Kind } from './kind.ts';

export const extract = {
  endpoint: 'extract',
  keeps: 'answer',
  isResumable: false,
  prints: 'list',
  subject: 'type',
  about: 'target',
  tariff: ({ type, limit }) => ({
    setting: 'price.extract',
    units: type === 'web2list' ? web2listLimit : (limit ?? limits.extractLimit.default),
  }),
  recordsOf: itemsOf,
  reasonIn: (found) => objectMembers(found).get('data') ?? 'null',
} as const satisfies Kind<ExtractRequest>;

/** The items of an extraction, each as the service wrote it. Throws when `signal` aborts. */
async function itemsOf(text: JsonText, signal?: AbortSignal): Promise<JsonText[]> {
  const items: JsonText[] = [];
  const yielder = createYielder(signal);
  for (const item of eachItem(objectMembers(text).get('data') ?? '[]')) {
    items.push(item);
    if (yielder.isDue()) await yielder.yield();
  }
  return items;
}
