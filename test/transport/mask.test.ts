import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { readText } from '../../src/transport/body.ts';
import { createMask } from '../../src/transport/mask.ts';

const key = 'lp/live+8f14e45fceea';
const mask = createMask(key);
const code = (character: string): string => character.charCodeAt(0).toString(16);
const each = (text: string, to: (character: string) => string): string => [...text].map(to).join('');
const unicode = (text: string): string => each(text, (one) => `\\u00${code(one)}`);
const url = (text: string): string => each(text, (one) => `%${code(one)}`);

describe('the key is masked', () => {
  it.each([
    ['as it is', key],
    ['in JSON in a string of JSON', JSON.stringify(unicode(key)).slice(1, -1)],
    [
      'in JSON in a string of JSON in one',
      JSON.stringify(JSON.stringify(unicode(key)).slice(1, -1)).slice(1, -1),
    ],
    ['as a part of a part of a URL', encodeURIComponent(encodeURIComponent(key))],
    ['in any mix', `${unicode('lp')}\\/${url('live')}+8f1\\u0034e45fcee%61`],
  ])('%s', (_, form) => {
    for (const text of [form, `a ${form} b`, `{"a":"${form}","b":1}`, `${form}${form}`, `"日本${form}"`]) {
      const masked = mask(text);
      expect(masked).toContain('[API key]');
      expect(masked).not.toContain(form.slice(2, -2));
    }
    expect(
      JSON.parse(mask(`{"${form}":["x","${form}\\"","\\\\${form}"],"n":12345678901234567890}`)),
    ).toBeTruthy();
  });

  it('and the text around it stays', () => {
    expect(mask(`no key ${key}.`)).toBe('no key [API key].');
    expect(mask(`{"a":"${key}","b":"50%","c":"\\u0041\\/"}`)).toBe(
      '{"a":"[API key]","b":"50%","c":"\\u0041\\/"}',
    );
    expect(mask(`{"a":"x ${unicode(key)} \\"y\\"","b":1.10}`)).toBe('{"a":"x [API key] \\"y\\"","b":1.10}');
  });

  it('and no half of an escape is left, whatever the key begins with', () => {
    for (const [begins, text] of [
      ['6cabcdefg', '"x\\u006cabcdefg"'],
      ['u006cabcdefg', '"x\\u006cabcdefg"'],
      ['nabcdefgh', '"x\\nabcdefgh"'],
      ['nabcdefgh', '"x\\\\nabcdefgh"'],
    ] as const) {
      expect(createMask(begins)(text)).toBe('"x[API key]"');
    }
  });

  it('and a number stays one', () => {
    expect(createMask('12345678')('{"id":-12345678.5,"s":"k12345678"}')).toBe(
      '{"id":-99999999.5,"s":"k99999999"}',
    );
  });

  it('however long it is', () => {
    const long = 'aB3-'.repeat(2000);
    for (const form of [long, unicode(long), url(long)]) {
      expect(createMask(long)(`{"a":"${form}"}`)).toBe('{"a":"[API key]"}');
    }
  });
});

// Not those that have an escape in them themselves.
const keys = fc.stringMatching(/^[!#-[\]-~]{8,40}$/).filter((one) => !/%[\da-f]{2}/i.test(one));
const escapes: readonly ((character: string) => string)[] = [
  (one) => one,
  (one) => `\\u00${code(one)}`,
  (one) => `\\u00${code(one).toUpperCase()}`,
  (one) => `%${code(one)}`,
  (one) => `%25${code(one).toUpperCase()}`,
  (one) => `\\u0025${code(one)}`,
  (one) => `\\\\u00${code(one)}`,
  (one) => (one === '/' ? '\\/' : one),
];

describe('any key', () => {
  it('in any escapes is found, and JSON stays JSON', () => {
    const written = keys.chain((plain) =>
      fc.tuple(
        fc.constant(plain),
        fc.array(fc.nat(escapes.length - 1), { minLength: plain.length, maxLength: plain.length }),
      ),
    );
    fc.assert(
      fc.property(written, fc.json(), fc.string(), ([plain, chosen], other, around) => {
        // fast-check tries names such as toString as a key and as a member's name: there it is masked too, and rightly.
        fc.pre(!other.includes(plain) && !around.includes(plain));
        const form = [...plain].map((one, at) => escapes[chosen[at] ?? 0]?.(one)).join('');
        // First, between other texts, and last.
        const between = `${form} ${JSON.stringify(around).slice(1, -1)} ${form} `;
        const masked = createMask(plain)(`["${form}","${between}\\n",${other},"${form}"]`);
        expect(masked).not.toContain(form);
        const [first, ...rest] = JSON.parse(masked);
        expect(['[API key]', plain.replace(/\d/g, '9')]).toContain(first);
        const stays = JSON.stringify([`${first} ${around} ${first} \n`, JSON.parse(other), first]);
        expect(JSON.stringify(rest)).toBe(stays);
      }),
      { numRuns: 500, examples: [[['!R!h}NC,%', [0, 0, 0, 0, 0, 0, 0, 0, 5]], '{}', '']] },
    );
  });

  it('that is not there changes nothing', () => {
    fc.assert(
      fc.property(fc.json({ stringUnit: 'binary' }), (text) => {
        expect(mask(text)).toBe(text);
        expect(mask(unicode(url(text)))).toBe(unicode(url(text)));
      }),
    );
  });

  it('is found wherever the pieces of a body end, and however long it is', async () => {
    // Not the texts themselves: a failure shows what was drawn.
    const filler = fc.constantFrom<[text: string, times: number]>(['', 0], ['x', 1 << 20], ['x ', 1 << 19]);
    const parts = fc.array(fc.constantFrom(key, unicode(key), 'a', ' ', '"', '\\', '\n', '日'));
    await fc.assert(
      fc.asyncProperty(parts, filler, parts, filler, fc.nat(200), async (first, before, some, after, at) => {
        const [front, back] = [before, after].map(([text, times]) => text.repeat(times));
        const text = `${first.join('')}${front}${some.join('')}${back}`;
        const bytes = Buffer.from(text);
        // Among the keys before the last filler.
        const cut = Math.max(0, bytes.length - Buffer.byteLength(back ?? '') - at);
        async function* pieces() {
          yield* [bytes.subarray(0, cut), bytes.subarray(cut)];
        }
        const read = await readText(pieces(), bytes.length, mask);
        expect([read.text === mask(text), read.isUtf8]).toEqual([true, true]);
      }),
      // One that begins in the part that is masked first, and ends in the next.
      { numRuns: 10, examples: [[[], ['x', 1 << 20], [key], ['x', 10], 5]] },
    );
  });
});
