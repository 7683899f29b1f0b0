import { PassThrough } from 'node:stream';
import { describe, expect, it } from 'vitest';
import type { Clock } from '../../src/context.ts';
import { createProgress } from '../../src/output/progress.ts';

/** As much of a terminal as a spinner looks at. */
class Terminal extends PassThrough {
  readonly columns: number;
  readonly isTTY = true;
  written = '';
  constructor(columns = 40) {
    super();
    this.columns = columns;
    this.on('data', (chunk) => {
      this.written += chunk;
    });
  }
}

/** Time that passes when it is told to. */
function createClock(): Clock & { pass(): void } {
  const waiting = new Set<() => void>();
  return {
    now: () => new Date(0),
    monotonic: () => 0,
    after(_ms, callback) {
      waiting.add(callback);
      return () => waiting.delete(callback);
    },
    pass() {
      const due = [...waiting];
      waiting.clear();
      for (const callback of due) callback();
    },
  };
}

const onTerminal = (stream: Terminal) => ({ stream, isTerminal: true, columns: stream.columns });

describe('progress', () => {
  it.each([
    ['stderr is no terminal', false, false],
    ['it is to be quiet', true, true],
  ])('is silent when %s', async (_name, isTerminal, quiet) => {
    const stream = new Terminal();
    const progress = await createProgress({ stream, isTerminal, columns: undefined }, createClock(), {
      quiet,
    });
    progress.update('text');
    progress.pause();
    progress.stop();
    expect(stream.written).toBe('');
  });

  it('shows one clean line that fits, and takes it away', async () => {
    const stream = new Terminal();
    const progress = await createProgress(onTerminal(stream), createClock());
    progress.update(`12 leads\n\u001b[2J${'漢'.repeat(50)}`);
    expect(stream.written).toContain('12 leads [2J漢');
    expect(stream.written).toContain('…');
    expect(stream.written).not.toContain('\u001b[2J');
    expect(stream.written).not.toContain('\n');
    stream.written = '';
    progress.pause();
    expect(stream.written).toBe('\r\u001b[K');
    progress.update('13 leads');
    expect(stream.written).toContain('13 leads');
    progress.stop();
    expect(stream.written.endsWith('\r\u001b[K')).toBe(true);
    stream.written = '';
    progress.update('late');
    expect(stream.written).toBe('');
  });

  it.each([
    ['in colour', { color: true }, ['\u001b[36m⠋\u001b[39m text', '\u001b[36m⠙\u001b[39m text']],
    ['in plain characters', { plain: true }, ['- text', '\\ text', '| text', '/ text', '- text']],
  ])('turns while time passes, %s', async (_, options, frames) => {
    const stream = new Terminal();
    const clock = createClock();
    const progress = await createProgress(onTerminal(stream), clock, options);
    progress.update('text');
    for (const _ of frames.slice(1)) clock.pass();
    expect(stream.written).toBe(frames.map((frame) => `\r${frame}\u001b[K`).join(''));
    progress.stop();
    stream.written = '';
    clock.pass();
    expect(stream.written).toBe('');
  });

  it('works on a terminal that says it has no columns', async () => {
    const stream = new Terminal(0);
    const progress = await createProgress(onTerminal(stream), createClock());
    progress.update('12 leads');
    progress.stop();
    expect(stream.written).toMatch(/^\r\S+ 12 leads\u001b\[K\r\u001b\[K$/);
  });

  it('hides no cursor, hooks no signal and no stream', async () => {
    const stream = new Terminal();
    const { write } = stream;
    const listeners = () =>
      ['SIGINT', 'SIGTERM', 'SIGHUP', 'exit'].map((event) => process.listenerCount(event));
    const [before, emit, reallyExit] = [listeners(), process.emit, Reflect.get(process, 'reallyExit')];
    const progress = await createProgress(onTerminal(stream), createClock(), { color: true });
    progress.update('text');
    expect(listeners()).toEqual(before);
    expect(process.emit).toBe(emit);
    expect(Reflect.get(process, 'reallyExit')).toBe(reallyExit);
    expect(stream.write).toBe(write);
    expect(stream.written).not.toContain('\u001b[?25l');
    progress.stop();
  });
});
