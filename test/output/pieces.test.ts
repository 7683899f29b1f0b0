import { Writable } from 'node:stream';
import { describe, expect, it } from 'vitest';

import { createStreamSink } from '../../src/output/sink.ts';
import { writePieces } from '../../src/output/writer.ts';
import { gatheringSink } from './gathering-sink.ts';

/** Aborts as soon as the event loop turns, which pieces that never end do not do by themselves. */
function abortedSoon(): AbortSignal {
  const controller = new AbortController();
  setImmediate(() => controller.abort('interrupted'));
  return controller.signal;
}

function* endless(piece: string): Generator<string, void> {
  for (;;) yield piece;
}

describe('text that is written while it is made', () => {
  it('is one write when there is little of it, and none when there is nothing', async () => {
    const sink = gatheringSink();
    await writePieces(sink.write, ['a', '', 'b']);
    await writePieces(sink.write, ['', '']);
    expect(sink.writes).toEqual(['ab']);
  });

  it('is made no further than its reader has taken it', async () => {
    let made = 0;
    let taken = 0;
    let ahead = 0;
    const reader = new Writable({
      write(chunk: Buffer, _encoding, done) {
        taken += chunk.length;
        setImmediate(done);
      },
    });
    function* pieces(): Generator<string, void> {
      for (let at = 0; at < 2000; at++) {
        ahead = Math.max(ahead, made - taken);
        made += 10_000;
        yield 'x'.repeat(10_000);
      }
    }
    await writePieces(createStreamSink(reader, new AbortController().signal).write, pieces());
    expect(taken).toBe(20_000_000);
    expect(ahead).toBeLessThan(1_100_000);
  });

  it.each([
    ['that is empty', ''],
    ['that fills writes', 'x'.repeat(10_000)],
  ])('ends with its signal: endless text %s', async (_name, piece) => {
    await expect(writePieces(gatheringSink().write, endless(piece), abortedSoon())).rejects.toMatchObject({
      outcome: 'interrupted',
    });
  });

  it('is written to its end when that is near, so that what arrived is a valid file', async () => {
    const controller = new AbortController();
    controller.abort('interrupted');
    const sink = gatheringSink();
    await writePieces(sink.write, ['\n]', '\n'], controller.signal);
    expect(sink.text).toBe('\n]\n');
  });
});
