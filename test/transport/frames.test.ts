import { Readable } from 'node:stream';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type Frame, framesOf } from '../../src/transport/frames.ts';

async function read(
  pieces: readonly Uint8Array[],
  cap = 1 << 20,
): Promise<{ frames: Frame[]; failure: string }> {
  const frames: Frame[] = [];
  try {
    for await (const some of framesOf(Readable.from(pieces), cap)) frames.push(...some);
    return { frames, failure: '' };
  } catch (error) {
    return { frames, failure: (error as Error).message };
  }
}

const torn = 'the stream ended in the middle of a frame';
const bytes = (text: string): Buffer => Buffer.from(text, 'utf8');
const data = (...texts: string[]): Frame[] => texts.map((text) => ({ event: undefined, data: text }));

const streams: readonly [name: string, text: string, frames: Frame[], failure?: string][] = [
  ['LF', 'data: a\n\ndata: b\n\n', data('a', 'b')],
  ['CRLF', 'data: a\r\n\r\ndata: b\r\n\r\n', data('a', 'b')],
  ['CR', 'data: a\r\rdata: b\r\r', data('a', 'b')],
  ['line ends mixed', 'data: a\r\n\ndata: b\n\r\n', data('a', 'b')],
  ['BOM', '\ufeffdata: a\n\n', data('a')],
  ['no space after the colon', 'data:a\n\n', data('a')],
  ['one space is dropped, not two', 'data:  a\n\n', data(' a')],
  ['several data lines', 'data: {"a":\ndata: 1}\n\n', data('{"a":\n1}')],
  ['comments', ': ping\n\ndata: a\n: pong\n\n', data('a')],
  [
    'id, event and retry lines',
    'id: 7\nevent: error\nretry: 10\ndata: a\n\n',
    [{ event: 'error', data: 'a' }],
  ],
  ['unknown fields and a bad retry', 'foo: bar\nretry: x\ndata: a\n\n', data('a')],
  [
    'no data',
    'data\n\ndata:\n\nevent: ping\ndata:\n\nevent: ping\n\ndata: \ndata:\n\ndata: a\n\n',
    data('a'),
  ],
  ['blank lines alone', '\n\n\n', []],
  ['UTF-8 of every length', 'data: é日😀\n\n', data('é日😀')],
  ['an unfinished last frame', 'data: a\n\ndata: b', data('a'), torn],
  ['a last frame without its blank line', 'data: a\n\ndata: b\n', data('a'), torn],
  ['the same with CR', 'data: a\r\rdata: b\r', data('a'), torn],
  ['the same with CRLF', 'data: a\r\n\r\ndata: b\r\n', data('a'), torn],
  ['nothing', '', []],
];

describe('frames', () => {
  it.each(streams)('%s, cut at every byte, and byte by byte', async (_, text, frames, failure = '') => {
    const all = bytes(text);
    for (let at = 0; at <= all.length; at++)
      expect(await read([all.subarray(0, at), all.subarray(at)])).toEqual({ frames, failure });
    const single = [...all].flatMap((byte) => [Uint8Array.of(byte), new Uint8Array()]);
    expect(await read(single)).toEqual({ frames, failure });
  });

  it.each([
    ['one line in many pieces', ['data: ', ...Array.from({ length: 30 }, () => 'xxxxxxxxxx')]],
    ['many lines', ['data: x\n', ...Array.from({ length: 30 }, () => 'data: xxxxx\n')]],
    ['many empty lines', ['data: x\n', ...Array(150).fill('data:\n')]],
    ['a comment', [':', ...Array.from({ length: 30 }, () => 'xxxxxxxxxx')]],
  ])('a frame over the cap is refused, and what came before it is there: %s', async (_, pieces) => {
    const all = ['data: a\n\n: ping\n\n', `data: b\n\n${pieces[0]}`, ...pieces.slice(1)].map(bytes);
    expect(await read(all, 100)).toEqual({
      frames: data('a', 'b'),
      failure: 'a frame of the stream is larger than 100 characters',
    });
  });

  it('frames and comments under the cap go on for ever', async () => {
    const numbers = Array.from({ length: 100 }, (_, n) => String(n));
    const all = numbers.map((n) => bytes(`: ping\n: pong\n\ndata: ${n}\n\n: ping\n`));
    expect(await read([...all, bytes('\n')], 100)).toEqual({ frames: data(...numbers), failure: '' });
  });

  it('what is not UTF-8 is replaced as a TextDecoder does', async () => {
    const odd = fc
      .uint8Array({ maxLength: 12 })
      .map((some) => some.filter((byte) => byte !== 10 && byte !== 13));
    await fc.assert(
      fc.asyncProperty(odd, fc.integer({ min: 0, max: 12 }), async (middle, at) => {
        const all = Buffer.concat([bytes('data: '), middle, bytes('\n\n')]);
        const expected = new TextDecoder('utf-8', { ignoreBOM: true })
          .decode(Buffer.from([0x61, ...middle]))
          .slice(1);
        const { frames } = await read([all.subarray(0, 6 + at), all.subarray(6 + at)]);
        const text = frames[0]?.data;
        // The space after the colon was the first one.
        expect(text ?? '').toBe(expected.trim() === '' ? '' : expected);
      }),
    );
  });

  it('any text in any pieces comes out as it went in', async () => {
    const payload = fc.string({ unit: 'grapheme' }).map((text) => text.replace(/[\r\n]/g, ' '));
    const lineEnd = fc.constantFrom('\n', '\r\n', '\r');
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.tuple(payload, lineEnd), { maxLength: 8 }),
        fc.infiniteStream(fc.integer({ min: 1, max: 20 })),
        async (frames, sizes) => {
          const all = bytes(frames.map(([text, end]) => `data: ${text}${end}${end}`).join(''));
          const pieces: Buffer[] = [];
          for (let at = 0; at < all.length; ) {
            const { value: size } = sizes.next();
            pieces.push(all.subarray(at, at + (size as number)));
            at += size as number;
          }
          const expected = frames.map(([text]) => Buffer.from(text, 'utf8').toString('utf8'));
          expect((await read(pieces)).frames.map((one) => one.data)).toEqual(
            expected.filter((one) => one.trim() !== ''),
          );
        },
      ),
    );
  });
});
