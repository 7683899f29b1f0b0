/** A heap: gives the best of what was put in, one after the other, without sorting what nobody asks for. */
export class BestFirst<Item> {
  readonly #items: Item[] = [];
  readonly #better: (a: Item, b: Item) => boolean;

  constructor(better: (a: Item, b: Item) => boolean) {
    this.#better = better;
  }

  add(item: Item): void {
    let at = this.#items.push(item) - 1;
    while (at > 0) {
      const parent = (at - 1) >> 1;
      if (!this.#swapped(at, parent)) return;
      at = parent;
    }
  }

  /** Takes the best out. */
  *[Symbol.iterator](): Generator<Item, void, undefined> {
    for (let best = this.#items[0]; best !== undefined; best = this.#items[0]) {
      const last = this.#items.pop() as Item;
      if (this.#items.length > 0) {
        this.#items[0] = last;
        this.#sink();
      }
      yield best;
    }
  }

  #sink(): void {
    for (let at = 0; ; ) {
      const left = 2 * at + 1;
      const child = this.#isBetter(left + 1, left) ? left + 1 : left;
      if (!this.#swapped(child, at)) return;
      at = child;
    }
  }

  /** Brings the better of two to the front. */
  #swapped(behind: number, ahead: number): boolean {
    if (!this.#isBetter(behind, ahead)) return false;
    const item = this.#items[behind] as Item;
    this.#items[behind] = this.#items[ahead] as Item;
    this.#items[ahead] = item;
    return true;
  }

  #isBetter(one: number, other: number): boolean {
    const { length } = this.#items;
    return one < length && this.#better(this.#items[one] as Item, this.#items[other] as Item);
  }
}
