import { hash } from 'node:crypto';

/** What is known of a request: where the last line about it stands, and what that says. */
export interface Place {
  readonly state: RowState;
  /** Bytes. */
  readonly offset: number;
  readonly length: number;
}

export type RowState = 'sent' | 'answered' | 'failed' | 'unknown';

const states: readonly RowState[] = ['sent', 'answered', 'failed', 'unknown'];

/** The digests of rows by their number, which is how a row that has changed is seen. */
export function createRowDigests(): {
  get(row: number): bigint | undefined;
  set(row: number, digest: bigint): void;
} {
  let digests = new BigUint64Array(1024);
  return {
    get: (row) => digests[row] || undefined,
    set(row, digest) {
      if (row >= digests.length) {
        const more = new BigUint64Array(2 * row);
        more.set(digests);
        digests = more;
      }
      digests[row] = digest;
    },
  };
}

/** Short digests of requests. A hundred thousand of them take a few megabytes, where a Map would take tens. */
export interface Digests {
  get(digest: bigint): Place | undefined;
  set(digest: bigint, place: Place): void;
}

/** Pure: of the exact body of a request. */
export function digestOf(body: string): bigint {
  return BigInt(`0x${hash('sha256', body).slice(0, 16)}`) || 1n;
}

/** A table with open addressing: a digest, an offset, and length with state, side by side. */
export function createDigests(): Digests {
  let size = 1024;
  let used = 0;
  let keys = new BigUint64Array(size);
  let offsets = new Float64Array(size);
  let lengths = new Float64Array(size);

  function slotOf(digest: bigint): number {
    let slot = Number(digest % BigInt(size));
    while (keys[slot] !== 0n && keys[slot] !== digest) slot = (slot + 1) % size;
    return slot;
  }

  function grow(): void {
    const [oldKeys, oldOffsets, oldLengths] = [keys, offsets, lengths];
    size *= 2;
    keys = new BigUint64Array(size);
    offsets = new Float64Array(size);
    lengths = new Float64Array(size);
    for (const [at, digest] of oldKeys.entries()) {
      if (digest === 0n) continue;
      const slot = slotOf(digest);
      keys[slot] = digest;
      offsets[slot] = oldOffsets[at] as number;
      lengths[slot] = oldLengths[at] as number;
    }
  }

  return {
    get(digest) {
      const slot = slotOf(digest);
      if (keys[slot] !== digest) return undefined;
      const packed = lengths[slot] as number;
      return {
        state: states[packed % states.length] as RowState,
        offset: offsets[slot] as number,
        length: Math.floor(packed / states.length),
      };
    },
    set(digest, { state, offset, length }) {
      if (used * 3 > size * 2) grow();
      const slot = slotOf(digest);
      if (keys[slot] !== digest) used++;
      keys[slot] = digest;
      offsets[slot] = offset;
      lengths[slot] = length * states.length + states.indexOf(state);
    },
  };
}
