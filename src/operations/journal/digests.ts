import { hash } from 'node:crypto';

/** What is known of a request: where the last line about it stands, and what that says. */
export interface Place {
  readonly state: RowState;
  /** Bytes. */
  readonly offset: number;
  readonly length: number;
  /** Whether a row of this run has asked for it. */
  readonly seen: boolean;
}

export type RowState = 'sent' | 'answered' | 'failed' | 'unknown';

const states: readonly RowState[] = ['sent', 'answered', 'failed', 'unknown'];

/** Pure: of the exact body of a request. */
export function digestOf(body: string): bigint {
  return BigInt(`0x${hash('sha256', body).slice(0, 16)}`) || 1n;
}

/**
 * Short digests of requests, in a table with open addressing: a digest, an offset, and length with state and marks, side by side.
 * A hundred thousand of them take a few megabytes, where a Map would take tens.
 */
export function createDigests() {
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

  function placeAt(slot: number): Place {
    const packed = lengths[slot] as number;
    const marks = packed % 8;
    return {
      state: states[marks % 4] as RowState,
      seen: (marks & 4) !== 0,
      offset: offsets[slot] as number,
      length: Math.floor(packed / 8),
    };
  }

  return {
    get(digest: bigint): Place | undefined {
      const slot = slotOf(digest);
      return keys[slot] === digest ? placeAt(slot) : undefined;
    },
    set(digest: bigint, { state, offset, length, seen }: Place): void {
      if (used * 3 > size * 2) grow();
      const slot = slotOf(digest);
      if (keys[slot] !== digest) used++;
      keys[slot] = digest;
      offsets[slot] = offset;
      lengths[slot] = length * 8 + states.indexOf(state) + (seen ? 4 : 0);
    },
    *values(): Generator<Place> {
      for (let slot = 0; slot < size; slot++) if (keys[slot] !== 0n) yield placeAt(slot);
    },
  };
}
