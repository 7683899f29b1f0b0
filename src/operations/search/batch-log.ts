import { hash } from 'node:crypto';
import type { JsonText } from '../../json/text.ts';

export interface BatchLog {
  /** The entities of a batch that have not been seen under its index before; `count` is how many it announced. */
  take(
    index: number | undefined,
    count: number | undefined,
    entities: readonly JsonText[],
  ): { taken: readonly JsonText[]; warning?: string };
  /** Whether an entity has been taken, under any index. */
  has(entity: JsonText): boolean;
  /** How many indexes have been seen. */
  size(): number;
  /** Why the batches can't be all there are; undefined when they can. */
  flaw(): string | undefined;
}

/**
 * Remembers a short digest of each entity, so that a repeated batch is dropped, and one that comes again with other
 * content yields only what is new. Memory: about 80 bytes per entity.
 */
export function createBatchLog(): BatchLog {
  /** How many entities came under each index. */
  const brought = new Map<number, number>();
  /** How many were announced, where that was more. */
  const announced = new Map<number, number>();
  /** The index that each entity came under first. */
  const firstIndexes = new Map<string, number>();
  /** Index and digest of what came under several. */
  const further = new Set<string>();
  let highest = 0;
  let isUnnumbered = false;

  const isSeen = (digest: string, index: number): boolean =>
    firstIndexes.get(digest) === index || further.has(`${index} ${digest}`);

  function remember(digest: string, index: number): void {
    const first = firstIndexes.get(digest);
    if (first === undefined) firstIndexes.set(digest, index);
    else if (first !== index) further.add(`${index} ${digest}`);
  }

  function takeNew(index: number, entities: readonly JsonText[]): readonly JsonText[] {
    const isRepeated = brought.has(index);
    return entities.filter((entity) => {
      const digest = digestOf(entity);
      if (isRepeated && isSeen(digest, index)) return false;
      remember(digest, index);
      return true;
    });
  }

  return {
    take(index, count = 0, entities) {
      if (index === undefined) {
        isUnnumbered = true;
        return { taken: takeNew(noIndex, entities), warning: 'a batch came without a usable `batch_index`' };
      }
      const before = brought.get(index);
      const taken = takeNew(index, entities);
      const all = taken.length + (before ?? 0);
      brought.set(index, all);
      highest = Math.max(highest, index);
      if (count > all) announced.set(index, Math.max(count, announced.get(index) ?? 0));
      if (before === undefined || taken.length === 0) return { taken };
      return { taken, warning: `batch ${index} came again with other leads (${taken.length})` };
    },
    has: (entity) => firstIndexes.has(digestOf(entity)),
    size: () => brought.size,
    flaw() {
      if (isUnnumbered)
        return 'a batch came without a usable `batch_index`: one may be missing, or have come twice';
      for (const [index, count] of announced) {
        const arrived = brought.get(index) ?? 0;
        if (count > arrived) return `batch ${index} announced ${count} leads and brought ${arrived}`;
      }
      for (let index = 1; index < highest; index++) {
        if (!brought.has(index)) return `batch ${index} never arrived`;
      }
      return undefined;
    },
  };
}

/** In place of an index: no batch has it. */
const noIndex = -1;

function digestOf(entity: JsonText): string {
  return hash('sha1', entity, 'base64').slice(0, 16);
}
