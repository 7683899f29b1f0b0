import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createFrameReader, type Frame } from '../../src/transport/frames.ts';

function read(pieces: readonly Uint8Array[]): { frames: Frame[]; torn: boolean } {
  const reader = createFrameReader(1 << 20);
  const frames = pieces.flatMap((piece) => reader.feed(piece));
  return { frames, torn: reader.endsInFrame() };
}

const bytes = (text: string): Buffer => Buffer.from(text, 'utf8');
const data = (...texts: string[]): Frame[] => texts.map((text) => ({ event: undefined, data: text }));

const streams: readonly [name: string, text: string, frames: Frame[], torn?: boolean][] = [
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
  ['an unfinished last frame', 'data: a\n\ndata: b', data('a'), true],
  ['a last frame without its blank line', 'data: a\n\ndata: b\n', data('a'), true],
  ['the same with CR', 'data: a\r\rdata: b\r', data('a'), true],
  ['the same with CRLF', 'data: a\r\n\r\ndata: b\r\n', data('a'), true],
  ['nothing', '', []],
];

describe('frames', () => {
  it.each(streams)('%s, cut at every byte', (_, text, frames, torn = false) => {
    const all = bytes(text);
    for (let at = 0; at <= all.length; at++) {
      expect(read([all.subarray(0, at), all.subarray(at)])).toEqual({ frames, torn });
    }
  });

  it.each(streams)('%s, byte by byte', (_, text, frames, torn = false) => {
    expect(read([...bytes(text)].map((byte) => Uint8Array.of(byte)))).toEqual({ frames, torn });
  });

  it('what is not UTF-8 is replaced, not fatal', () => {
    const text = Buffer.concat([bytes('data: a'), Uint8Array.of(0xff), bytes('b\n\n')]);
    expect(read([text]).frames).toEqual(data('a\ufffdb'));
  });

  it.each([
    ['one line in many pieces', ['data: ', ...Array.from({ length: 30 }, () => 'xxxxxxxxxx')]],
    ['many lines', ['data: x\n', ...Array.from({ length: 30 }, () => 'data: xxxxx\n')]],
    ['many empty lines', ['data: x\n', ...Array(150).fill('data:\n')]],
    ['a comment', [':', ...Array.from({ length: 30 }, () => 'xxxxxxxxxx')]],
  ])('a frame over the cap is refused, and what came before it is there: %s', (_, pieces) => {
    const reader = createFrameReader(100);
    const frames = ['data: a\n\n: ping\n\n', `data: b\n\n${pieces[0]}`, ...pieces.slice(1)].flatMap((piece) =>
      reader.feed(bytes(piece)),
    );
    expect(frames).toEqual(data('a', 'b'));
    expect(reader.isOverCap()).toBe(true);
  });

  it('frames and comments under the cap go on for ever', () => {
    const reader = createFrameReader(100);
    for (let n = 0; n < 100; n++) {
      expect(reader.feed(bytes(`: ping\n: pong\n\ndata: ${n}\n\n: ping\n`))).toEqual(data(String(n)));
      expect(reader.isOverCap()).toBe(false);
    }
  });

  it('what is not UTF-8 is replaced as a TextDecoder does', () => {
    const odd = fc
      .uint8Array({ maxLength: 12 })
      .map((some) => some.filter((byte) => byte !== 10 && byte !== 13));
    fc.assert(
      fc.property(odd, fc.integer({ min: 0, max: 12 }), (middle, at) => {
        const all = Buffer.concat([bytes('data: '), middle, bytes('\n\n')]);
        const expected = new TextDecoder('utf-8', { ignoreBOM: true })
          .decode(Buffer.from([0x61, ...middle]))
          .slice(1);
        const text = read([all.subarray(0, 6 + at), all.subarray(6 + at)]).frames[0]?.data;
        // The space after the colon was the first one.
        expect(text ?? '').toBe(expected.trim() === '' ? '' : expected);
      }),
    );
  });

  it('any text in any pieces comes out as it went in', () => {
    const payload = fc.string({ unit: 'grapheme' }).map((text) => text.replace(/[\r\n]/g, ' '));
    const lineEnd = fc.constantFrom('\n', '\r\n', '\r');
    fc.assert(
      fc.property(
        fc.array(fc.tuple(payload, lineEnd), { maxLength: 8 }),
        fc.infiniteStream(fc.integer({ min: 1, max: 20 })),
        (frames, sizes) => {
          const all = bytes(frames.map(([text, end]) => `data: ${text}${end}${end}`).join(''));
          const pieces: Buffer[] = [];
          for (let at = 0; at < all.length; ) {
            const { value: size } = sizes.next();
            pieces.push(all.subarray(at, at + (size as number)));
            at += size as number;
          }
          const expected = frames.map(([text]) => Buffer.from(text, 'utf8').toString('utf8'));
          expect(read(pieces).frames.map((one) => one.data)).toEqual(
            expected.filter((one) => one.trim() !== ''),
          );
        },
      ),
    );
  });
});
