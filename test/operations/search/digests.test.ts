import fc from 'fast-check';
import { expect, it } from 'vitest';
import { digestsOf } from '../../../src/operations/search/digests.ts';

const digestOf = (text: string, before = ''): number => {
  const bytes = Buffer.from(before + text);
  return digestsOf({ bytes, starts: [Buffer.byteLength(before)], ends: [bytes.length] })[0] as number;
};

it('the same bytes have one digest, wherever they stand, and others have another', () => {
  fc.assert(
    fc.property(
      fc.string({ unit: 'grapheme' }),
      fc.string(),
      fc.string({ maxLength: 9 }),
      (text, other, before) => {
        expect(digestOf(text, before)).toBe(digestOf(text));
        expect(digestOf(text) === digestOf(other)).toBe(text === other);
      },
    ),
    { numRuns: 5000 },
  );
});

it('a hundred thousand leads that differ in a digit or in a letter have a digest each', () => {
  const digests = new Set<number>();
  for (let n = 0; n < 50_000; n++) {
    digests.add(digestOf(`{"name":"Company ${n} GmbH","follower_id":7}`));
    digests.add(
      digestOf(
        `{"name":"Company GmbH","x":"${'a'.repeat(n % 100)}${String.fromCharCode(0x4e00 + n / 100)}"}`,
      ),
    );
  }
  expect(digests.size).toBe(100_000);
});
