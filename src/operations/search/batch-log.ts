import { crc32 } from 'node:zlib';
import type { JsonText, Records } from '../../json/text.ts';
import { countOf } from '../delivery.ts';

export interface BatchLog {
  /** Those entities of a batch that have not come under its index before. `count` is how many it announced. */
  take(
    index: number | undefined,
    count: number | undefined,
    entities: Records,
  ): { readonly fresh: Records; readonly warning?: string };
  /** Whether an entity has been taken, under any index. To be asked when the stream is over. */
  has(entity: JsonText): boolean;
  /** How many indexes have been seen. */
  size(): number;
  /** Why the batches can't be all there are; undefined when they can. */
  flaw(): string | undefined;
}

/** What came under an index. */
interface Brought {
  readonly digests: number[];
  announced: number;
}

/**
 * Remembers a digest of each entity, so that a repeated batch is dropped, and one that comes again with other content
 * yields only what is new: a long stream would not fit into memory.
 */
// rule: events.batch-index, events.unique
export function createBatchLog(): BatchLog {
  const batches = new Map<number, Brought>();
  const unnumbered: number[][] = [];
  let all: Set<number> | undefined;
  let highest = 0;

  return {
    take(index, count = 0, entities) {
      const digests = entities.map(digestOf);
      if (index === undefined) {
        unnumbered.push(digests);
        return { fresh: entities, warning: 'a group of leads came without its number' };
      }
      highest = Math.max(highest, index);
      const before = batches.get(index);
      if (before === undefined) {
        batches.set(index, { digests, announced: count });
        return { fresh: entities };
      }
      const seen = new Set(before.digests);
      const fresh = entities.filter((_, at) => {
        const digest = digests[at] as number;
        return !seen.has(digest) && seen.add(digest) && before.digests.push(digest);
      });
      before.announced = Math.max(before.announced, count);
      if (fresh.length === 0) return { fresh };
      return { fresh, warning: `batch ${index} came again with other leads (${fresh.length})` };
    },
    has(entity) {
      all ??= new Set([...unnumbered, ...[...batches.values()].map(({ digests }) => digests)].flat());
      return all.has(digestOf(entity));
    },
    size: () => batches.size,
    flaw() {
      if (unnumbered.length > 0)
        return 'a group of leads came without its number: some leads may be missing or come twice';
      for (const [index, { announced, digests }] of batches) {
        if (announced > digests.length) {
          return `the service announced ${countOf(announced)} in batch ${index}, but sent ${digests.length}`;
        }
      }
      for (let index = 1; index < highest; index++) {
        if (!batches.has(index)) return `batch ${index} never arrived`;
      }
      return undefined;
    },
  };
}

/**
 * 48 bits, which a number holds: a checksum and the length. Those of node:crypto take several times as long. They are kept
 * nowhere: whoever makes two leads of one digest hides one of his own.
 */
function digestOf(entity: JsonText): number {
  return crc32(entity) * 2 ** 16 + (entity.length & 0xffff);
}
