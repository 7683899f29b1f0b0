import { spawn } from 'node:child_process';
import { PassThrough, Writable } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { entityLayout } from '../../src/columns/entity-layout.ts';
import { createStreamSink } from '../../src/output/sink.ts';
import { createForm, formats, writePieces } from '../../src/output/writer.ts';
import { gatheringSink } from './gathering-sink.ts';

const never = new AbortController().signal;

/** Takes a chunk per turn of the event loop, and remembers how much ever waited. */
class SlowReader extends Writable {
  most = 0;
  bytes = 0;
  override _write(chunk: Buffer, _encoding: BufferEncoding, done: () => void): void {
    this.most = Math.max(this.most, this.writableLength);
    this.bytes += chunk.length;
    setImmediate(done);
  }
}

/** Aborts as soon as the event loop turns, which pieces that never end do not do by themselves. */
function abortedSoon(): AbortSignal {
  const controller = new AbortController();
  setImmediate(() => controller.abort('interrupted'));
  return controller.signal;
}

function* endless(piece: string): Generator<string, void> {
  for (;;) yield piece;
}

describe('a stream', () => {
  it.each(formats)('has back-pressure: many entities as %s', async (format) => {
    // A hundred batches; of tables, which take a hundred times as long to lay out, five.
    const many = format === 'table' || format === 'cards' ? 500 : 10_000;
    const reader = new SlowReader();
    const { write } = createStreamSink(reader, never);
    const form = await createForm(format, { layout: entityLayout(), shape: 'list', width: 120 });
    const entity = JSON.stringify({
      name: 'Solaris Ledger GmbH',
      links: { website: 'https://solaris.example' },
      description: 'Reconciles ledgers. '.repeat(20),
      score: { score: '0.93', reason: 'seed stage' },
    });
    const batch = Array.from({ length: 100 }, () => entity);
    for (let written = 0; written < many; written += batch.length) {
      await writePieces(write, form.lines(batch));
      expect(reader.writableLength).toBe(0);
    }
    await write(form.end?.() ?? '');
    expect(reader.most).toBeLessThan(2 * batch.length * entity.length);
    expect(reader.bytes).toBeGreaterThan(many * 50);
  });

  it('whose reader goes away rejects, then and afterwards', async () => {
    const child = spawn('head', ['-c', '10'], { stdio: ['pipe', 'ignore', 'ignore'] });
    const sink = createStreamSink(child.stdin, never);
    const writing = (async () => {
      for (;;) await sink.write('x'.repeat(100_000));
    })();
    await expect(writing).rejects.toMatchObject({ outcome: 'reader_closed' });
    await expect(sink.write('y')).rejects.toMatchObject({ outcome: 'reader_closed' });
  });

  it('that was closed before rejects', async () => {
    const stream = new PassThrough();
    stream.destroy();
    await expect(createStreamSink(stream, never).write('x')).rejects.toMatchObject({
      outcome: 'reader_closed',
    });
  });

  it('that is closed while a write waits rejects', async () => {
    const stream = new Writable({ write() {} });
    const writing = createStreamSink(stream, never).write('x');
    stream.destroy();
    await expect(writing).rejects.toMatchObject({ outcome: 'reader_closed' });
  });

  it.each([
    ['EIO', 'local_io', "can't write standard output: input/output error"],
    ['ENOSPC', 'local_io', "can't write standard output: no space left on the device"],
    ['EPIPE', 'reader_closed', 'the reader of the output has gone away'],
    ['ECONNRESET', 'reader_closed', 'the reader of the output has gone away'],
  ])('that fails with %s is %s', async (code, outcome, message) => {
    const stream = new Writable({
      write(_chunk, _encoding, done) {
        done(Object.assign(new Error(code), { code }));
      },
    });
    await expect(createStreamSink(stream, never).write('x')).rejects.toMatchObject({ outcome, message });
  });

  it('that fails between two writes rejects the second', async () => {
    const stream = new PassThrough();
    const sink = createStreamSink(stream, never);
    await sink.write('x');
    stream.destroy(Object.assign(new Error('EIO'), { code: 'EIO' }));
    await new Promise((resolve) => stream.once('close', resolve));
    await expect(sink.write('y')).rejects.toMatchObject({ outcome: 'local_io' });
  });

  it.each(['interrupted', 'terminated', 'reader_closed'])(
    'stops waiting when %s, and still takes the rest',
    async (reason) => {
      const taken: string[] = [];
      const stuck = new Writable({
        decodeStrings: false,
        write(chunk) {
          taken.push(String(chunk));
        },
      });
      const controller = new AbortController();
      const sink = createStreamSink(stuck, controller.signal);
      const writing = sink.write('rows');
      controller.abort(reason);
      await expect(writing).rejects.toMatchObject({ outcome: reason });
      await sink.write(']');
      expect(taken).toEqual(['rows']);
      expect(stuck.writableLength).toBe(5);
    },
  );

  it('leaves no listeners behind', async () => {
    const stream = new PassThrough().resume();
    const sink = createStreamSink(stream, never);
    const before = stream.listenerCount('close');
    for (let i = 0; i < 50; i++) await sink.write('x');
    expect(stream.listenerCount('close')).toBe(before);
    expect(stream.listenerCount('error')).toBe(1);
  });
});

describe('text that is written while it is made', () => {
  it('is one write when there is little of it, and none when there is nothing', async () => {
    const sink = gatheringSink();
    await writePieces(sink.write, ['a', '', 'b']);
    await writePieces(sink.write, ['', '']);
    expect(sink.writes).toEqual(['ab']);
  });

  it('is not made before its reader has read the earlier text', async () => {
    let made = 0;
    let ahead = 0;
    const reader = new SlowReader();
    function* pieces(): Generator<string, void> {
      for (let at = 0; at < 2000; at++) {
        ahead = Math.max(ahead, made - reader.bytes);
        made += 10_000;
        yield 'x'.repeat(10_000);
      }
    }
    await writePieces(createStreamSink(reader, never).write, pieces());
    expect(reader.bytes).toBe(20_000_000);
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
