import { PassThrough } from 'node:stream';
import { describe, expect, it } from 'vitest';
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

const onTerminal = (stream: Terminal) => ({ stream, isTerminal: true, columns: stream.columns });

describe('progress', () => {
  it.each([
    ['stderr is no terminal', false, false],
    ['it is to be quiet', true, true],
  ])('is silent when %s', async (_name, isTerminal, quiet) => {
    const stream = new Terminal();
    const progress = await createProgress({ stream, isTerminal, columns: undefined }, { quiet });
    progress.update('text');
    progress.pause();
    progress.stop();
    expect(stream.written).toBe('');
  });

  it('shows one clean line that fits, and takes it away', async () => {
    const stream = new Terminal();
    const progress = await createProgress(onTerminal(stream));
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

  it('works on a terminal that says it has no columns', async () => {
    const stream = new Terminal(0);
    const progress = await createProgress(onTerminal(stream));
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
    const progress = await createProgress(onTerminal(stream), { color: true });
    progress.update('text');
    expect(listeners()).toEqual(before);
    expect(process.emit).toBe(emit);
    expect(Reflect.get(process, 'reallyExit')).toBe(reallyExit);
    expect(stream.write).toBe(write);
    expect(stream.written).not.toContain('\u001b[?25l');
    progress.stop();
  });
});
