export interface BatchLog {
  /**
   * Which entities of a batch have not been seen under its index before, by their digests: their numbers in the batch,
   * undefined for all of them. `count` is how many it announced.
   */
  take(
    index: number | undefined,
    count: number | undefined,
    digests: readonly number[],
  ): { readonly fresh: ReadonlySet<number> | undefined; readonly warning?: string };
  /** Whether an entity has been taken, under any index. To be asked when the stream is over. */
  has(digest: number): boolean;
  /** How many indexes have been seen. */
  size(): number;
  /** Why the batches can't be all there are; undefined when they can. */
  flaw(): string | undefined;
}

/** What came under an index. */
interface Brought {
  /** Where the digests of its first batch begin. */
  readonly from: number;
  count: number;
  /** All its digests, from its second batch on. */
  seen?: Set<number>;
}

/**
 * Remembers a digest of each entity, so that a repeated batch is dropped, and one that comes again with other content
 * yields only what is new. Memory: 8 bytes per entity, and more only for what comes under an index that is repeated.
 */
export function createBatchLog(): BatchLog {
  const digests = createNumbers();
  const brought = new Map<number, Brought>();
  /** How many were announced, where that was more. */
  const announced = new Map<number, number>();
  let all: Set<number> | undefined;
  let highest = 0;
  let isUnnumbered = false;

  function remember(some: readonly number[]): void {
    for (const digest of some) digests.add(digest);
  }

  /** Of a batch whose index has come before: the numbers of those that have not. */
  function freshOf(before: Brought, some: readonly number[]): Set<number> {
    before.seen ??= new Set(digests.some(before.from, before.count));
    const { seen } = before;
    const fresh = new Set<number>();
    for (const [number, digest] of some.entries()) {
      if (seen.has(digest)) continue;
      seen.add(digest);
      digests.add(digest);
      fresh.add(number);
    }
    return fresh;
  }

  return {
    take(index, count = 0, some) {
      if (index === undefined) {
        isUnnumbered = true;
        remember(some);
        return { fresh: undefined, warning: 'a batch came without a usable `batch_index`' };
      }
      const before = brought.get(index);
      const fresh = before === undefined ? undefined : freshOf(before, some);
      if (before === undefined) {
        brought.set(index, { from: digests.length(), count: some.length });
        remember(some);
      } else {
        before.count += fresh?.size ?? 0;
      }
      highest = Math.max(highest, index);
      const here = before?.count ?? some.length;
      if (count > here) announced.set(index, Math.max(count, announced.get(index) ?? 0));
      if (fresh === undefined || fresh.size === 0) return { fresh };
      return { fresh, warning: `batch ${index} came again with other leads (${fresh.size})` };
    },
    has(digest) {
      all ??= new Set(digests.some(0, digests.length()));
      return all.has(digest);
    },
    size: () => brought.size,
    flaw() {
      if (isUnnumbered)
        return 'a batch came without a usable `batch_index`: a batch may be missing or may have come twice';
      for (const [index, count] of announced) {
        const arrived = brought.get(index)?.count ?? 0;
        if (count > arrived) return `batch ${index} announced ${count} leads but brought ${arrived}`;
      }
      for (let index = 1; index < highest; index++) {
        if (!brought.has(index)) return `batch ${index} never arrived`;
      }
      return undefined;
    },
  };
}

const perBlock = 1 << 14;

/** A list of numbers that grows without being copied. */
function createNumbers() {
  const blocks: Float64Array[] = [];
  let length = 0;
  return {
    add(number: number): void {
      if (length % perBlock === 0) blocks.push(new Float64Array(perBlock));
      (blocks[Math.floor(length / perBlock)] as Float64Array)[length % perBlock] = number;
      length++;
    },
    length: () => length,
    *some(from: number, count: number): Generator<number, void> {
      for (let at = from; at < from + count; at++) {
        yield (blocks[Math.floor(at / perBlock)] as Float64Array)[at % perBlock] as number;
      }
    },
  };
}
