import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createMask } from '../../src/transport/mask.ts';
import { createMaskProof, type NeedsNoMask } from '../../src/transport/unmasked.ts';

/** `npm run soak` looks at many more. */
const numRuns = Number(process.env.SCAN_DOCUMENTS ?? 10_000) / 5;
const seed = Number(process.env.FUZZ_SEED ?? 1);
const key = 'lp+live/9aJx~72L%m';

/** Where the proof is given, the mask itself has nothing to do; returns whether it is. */
function expectProvenRight(ofKey: string, proof: NeedsNoMask, bytes: Buffer): boolean {
  const isProven = proof(bytes);
  if (isProven) {
    const text = bytes.toString();
    expect({ key: ofKey, text: createMask(ofKey)(text) }).toEqual({ key: ofKey, text });
  }
  return isProven;
}

const percents = (text: string): string => text.replace(/./gs, (one) => `%${hexOf(one)}`);
const escapes = (text: string): string => text.replace(/./gs, (one) => `\\u00${hexOf(one)}`);
const hexOf = (text: string): string => Buffer.from(text).toString('hex');
const base64 = (text: string): string => Buffer.from(text).toString('base64');

type Form = [name: string, (key: string) => string];
const forms: readonly Form[] = [
  ['as it is', (plain) => plain],
  ...[0, 1, 2].map(
    (n): Form => [`in base64, behind ${n}`, (plain: string) => base64(`${'~'.repeat(n)}${plain}`)],
  ),
  ['in base64 for addresses', (plain) => Buffer.from(plain).toString('base64url')],
  ['in hexadecimal', hexOf],
  [
    'in large and small hexadecimal',
    (plain) => hexOf(plain).replace(/[a-f]/g, (one, at) => (at % 3 ? one : one.toUpperCase())),
  ],
  ['in percents', percents],
  ['in escapes', escapes],
  ['with \\/', (plain) => plain.replaceAll('/', '\\/')],
  ['in base64 with \\/', (plain) => base64(`>>>???${plain}`).replaceAll('/', '\\/')],
  ['in percents in escapes', (plain) => escapes(percents(plain))],
  ['with one escape', (plain) => escapes(plain.slice(0, 1)) + plain.slice(1)],
  [
    'with one large percent',
    (plain) => plain.slice(0, 3) + percents(plain.slice(3, 4)).toUpperCase() + plain.slice(4),
  ],
];

describe.each([key, '12345678', 'aaaaaaaa', 'bench-key-0123456789', 'k'.repeat(2000)])(
  'the key %.30s',
  (plain) => {
    const proof = createMaskProof(plain, createMask(plain));

    it.each(forms)('%s, at every place of a text, is not proven away', (_, form) => {
      for (let before = 0; before < 70; before++) {
        const text = Buffer.from(`${'x'.repeat(before)}"${form(plain)}" é `);
        const isLeft = createMask(plain)(text.toString()) === text.toString();
        // A key of digits is masked with digits, which can be its own.
        expect({ before, isProven: expectProvenRight(plain, proof, text) && !isLeft }).toEqual({
          before,
          isProven: false,
        });
      }
    });

    it('is proven away from what does not have it', () => {
      const text =
        '{"name":"Ünal \\n \\"x\\" 100 %, 日 \\ud83d\\ude00","link":"https://a.example/b-c?d=%C3%BC"}'.repeat(
          50,
        );
      expect(proof(Buffer.from(text))).toBe(true);
      expect(proof(Buffer.alloc(0))).toBe(true);
      expect(proof(Buffer.from('abc'))).toBe(true);
    });
  },
);

it(
  'nothing that a mask would change is proven to need none',
  () => {
    const keys = fc.stringMatching(/^[\x21\x23-\x5b\x5d-\x7e]{8,40}$/);
    fc.assert(
      fc.property(
        keys.chain((plain) =>
          fc.tuple(
            fc.constant(plain),
            fc.array(
              fc.oneof(
                fc.string({ unit: 'binary', maxLength: 20 }),
                fc.constantFrom(...'"\\%/ ', '\\u00', 'é', '%25', '\\\\', plain.slice(0, 5), plain.slice(3)),
                fc.constantFrom(...forms).map(([, form]) => form(plain)),
                fc.constantFrom(...forms).map(([, form]) => form(plain).slice(1)),
              ),
              { maxLength: 5 },
            ),
          ),
        ),
        ([plain, parts]) => {
          expectProvenRight(plain, createMaskProof(plain, createMask(plain)), Buffer.from(parts.join('')));
        },
      ),
      { numRuns, seed },
    );
  },
  120_000 + numRuns * 4,
);

it('a text that looks like the key everywhere is left to the mask', () => {
  const proof = createMaskProof('aaaaaaaab', createMask('aaaaaaaab'));
  expect(proof(Buffer.from('a'.repeat(100_000)))).toBe(false);
});
