import { hash } from 'node:crypto';
import type { JsonText } from '../json/text.ts';

export interface BatchLog {
  /** The entities of a batch that have not been seen under its index before. */
  take(batchIndex: number, entities: readonly JsonText[]): { taken: readonly JsonText[]; warning?: string };
  /** Whether an entity has been taken, under any index. */
  has(entity: JsonText): boolean;
  /** The lowest batch index that is missing below the highest one seen. */
  gap(): number | undefined;
}

/**
 * Remembers a short digest of each entity, so that a repeated batch is dropped, and one that comes again with other
 * content yields only what is new. Memory: about 60 bytes per entity.
 */
export function createBatchLog(): BatchLog {
  const digests = new Map<number, Set<string>>();
  let highest = 0;

  return {
    take(batchIndex, entities) {
      if (!Number.isSafeInteger(batchIndex) || batchIndex < 1) {
        return { taken: entities, warning: `a batch came with the index ${String(batchIndex).slice(0, 40)}` };
      }
      const seen = digests.get(batchIndex);
      if (seen === undefined) {
        digests.set(batchIndex, new Set(entities.map(digestOf)));
        highest = Math.max(highest, batchIndex);
        return { taken: entities };
      }
      const taken = entities.filter((entity) => {
        const digest = digestOf(entity);
        if (seen.has(digest)) return false;
        seen.add(digest);
        return true;
      });
      if (taken.length === 0) return { taken };
      return { taken, warning: `batch ${batchIndex} came again with other leads (${taken.length})` };
    },
    has(entity) {
      const digest = digestOf(entity);
      return [...digests.values()].some((seen) => seen.has(digest));
    },
    gap() {
      for (let index = 1; index < highest; index++) if (!digests.has(index)) return index;
      return undefined;
    },
  };
}

function digestOf(entity: JsonText): string {
  return hash('sha1', entity, 'base64').slice(0, 16);
}
