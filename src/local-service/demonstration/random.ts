/** A small seeded generator (mulberry32), so that the same seed gives the same catalogue everywhere. */
export class Random {
  #state: number;

  constructor(seed: string) {
    let hash = 2166136261;
    for (let index = 0; index < seed.length; index++) {
      hash = Math.imul(hash ^ seed.charCodeAt(index), 16777619);
    }
    this.#state = hash >>> 0;
  }

  /** From 0 up to, not including, 1. */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let mixed = this.#state;
    mixed = Math.imul(mixed ^ (mixed >>> 15), mixed | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  }

  /** Both ends included. */
  integer(low: number, high: number): number {
    return low + Math.floor(this.next() * (high - low + 1));
  }

  /** Small values as likely as large ones, order of magnitude by order of magnitude; both ends included. */
  magnitude(low: number, high: number): number {
    return Math.min(high, Math.round(low * (high / low) ** this.next()));
  }

  chance(probability: number): boolean {
    return this.next() < probability;
  }

  pick<Item>(items: readonly Item[]): Item {
    const item = items[Math.floor(this.next() * items.length)];
    if (item === undefined) throw new Error('nothing to pick from');
    return item;
  }

  /** Two different ones. */
  pair<Item>(items: readonly Item[]): [Item, Item] {
    const first = Math.floor(this.next() * items.length);
    const second = (first + 1 + Math.floor(this.next() * (items.length - 1))) % items.length;
    const [one, other] = [items[first], items[second]];
    if (one === undefined || other === undefined || first === second) throw new Error('no pair to pick');
    return [one, other];
  }
}
