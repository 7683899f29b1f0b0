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
 * yields only what is new. Memory: 5 bytes per entity and 16 per batch, and more only for what comes under an index that is
 * repeated or out of order.
 */
export function createBatchLog(): BatchLog {
  const digests = createDigests();
  /** Of the batches 1, 2, 3 and so on as far as they came in this order and once, two numbers each. */
  const inOrder: number[] = [];
  const others = new Map<number, Brought>();
  /** How many were announced, where that was more. */
  const announced = new Map<number, number>();
  let all: Set<number> | undefined;
  let highest = 0;
  let size = 0;
  let isUnnumbered = false;

  function broughtBy(index: number): Brought | undefined {
    const from = inOrder[2 * index - 2];
    return (
      others.get(index) ?? (from === undefined ? undefined : { from, count: inOrder[2 * index - 1] ?? 0 })
    );
  }

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
    before.count += fresh.size;
    return fresh;
  }

  return {
    take(index, count = 0, some) {
      if (index === undefined) {
        isUnnumbered = true;
        remember(some);
        return { fresh: undefined, warning: 'a batch came without a usable `batch_index`' };
      }
      const before = broughtBy(index);
      const fresh = before === undefined ? undefined : freshOf(before, some);
      if (before !== undefined) {
        others.set(index, before);
      } else {
        if (index === inOrder.length / 2 + 1) inOrder.push(digests.length(), some.length);
        else others.set(index, { from: digests.length(), count: some.length });
        size++;
        remember(some);
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
    size: () => size,
    flaw() {
      if (isUnnumbered)
        return 'a batch came without a usable `batch_index`: a batch may be missing or may have come twice';
      for (const [index, count] of announced) {
        const arrived = broughtBy(index)?.count ?? 0;
        if (count > arrived) return `batch ${index} announced ${count} leads but brought ${arrived}`;
      }
      for (let index = inOrder.length / 2 + 1; index < highest; index++) {
        if (!others.has(index)) return `batch ${index} never arrived`;
      }
      return undefined;
    },
  };
}

const perBlock = 1 << 14;

/** A list of digests that grows without being copied. */
function createDigests() {
  const blocks: { readonly low: Uint32Array; readonly high: Uint8Array }[] = [];
  let length = 0;
  const blockOf = (at: number) => blocks[Math.floor(at / perBlock)] as (typeof blocks)[number];
  return {
    add(digest: number): void {
      const at = length % perBlock;
      if (at === 0) blocks.push({ low: new Uint32Array(perBlock), high: new Uint8Array(perBlock) });
      const { low, high } = blockOf(length++);
      low[at] = digest;
      high[at] = digest / 2 ** 32;
    },
    length: () => length,
    *some(from: number, count: number): Generator<number, void> {
      for (let number = from; number < from + count; number++) {
        const { low, high } = blockOf(number);
        const at = number % perBlock;
        yield (high[at] as number) * 2 ** 32 + (low[at] as number);
      }
    },
  };
}
