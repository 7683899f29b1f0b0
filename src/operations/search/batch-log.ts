import { countOf } from '../delivery.ts';

export interface BatchLog {
  /**
   * Which of `came` entities of a batch have not been seen under its index before, by their digests: their numbers in the
   * batch, undefined for all of them. `count` is how many it announced. Of a batch that is new its digests are asked for
   * later: nothing it brings has to wait for them.
   */
  take(
    index: number | undefined,
    count: number | undefined,
    came: number,
    digests: () => readonly number[],
  ): { readonly fresh: ReadonlySet<number> | undefined; readonly warning?: string };
  /** Asks for the digests that are still to be had. */
  settle(): void;
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
  let later: (() => readonly number[])[] = [];
  /** Of how many entities these are. */
  let laterCount = 0;

  function broughtBy(index: number): Brought | undefined {
    const from = inOrder[2 * index - 2];
    return (
      others.get(index) ?? (from === undefined ? undefined : { from, count: inOrder[2 * index - 1] ?? 0 })
    );
  }

  function remember(came: number, some: () => readonly number[]): void {
    later.push(some);
    laterCount += came;
  }

  function settle(): void {
    for (const some of later) for (const digest of some()) digests.add(digest);
    later = [];
    laterCount = 0;
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
    settle,
    take(index, count = 0, came, some) {
      if (index === undefined) {
        isUnnumbered = true;
        remember(came, some);
        return { fresh: undefined, warning: 'a group of leads came without its number' };
      }
      const before = broughtBy(index);
      let fresh: Set<number> | undefined;
      if (before !== undefined) {
        settle();
        fresh = freshOf(before, some());
        others.set(index, before);
      } else {
        const from = digests.length() + laterCount;
        if (index === inOrder.length / 2 + 1) inOrder.push(from, came);
        else others.set(index, { from, count: came });
        size++;
        remember(came, some);
      }
      highest = Math.max(highest, index);
      const here = before?.count ?? came;
      if (count > here) announced.set(index, Math.max(count, announced.get(index) ?? 0));
      if (fresh === undefined || fresh.size === 0) return { fresh };
      return { fresh, warning: `batch ${index} came again with other leads (${fresh.size})` };
    },
    has(digest) {
      settle();
      all ??= new Set(digests.some(0, digests.length()));
      return all.has(digest);
    },
    size: () => size,
    flaw() {
      if (isUnnumbered)
        return 'a group of leads came without its number: some leads may be missing or come twice';
      for (const [index, count] of announced) {
        const arrived = broughtBy(index)?.count ?? 0;
        if (count > arrived)
          return `the service announced ${countOf(count)} in batch ${index}, but sent ${arrived}`;
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
