import { PassThrough } from 'node:stream';
import { describe, expect, it } from 'vitest';
import type { Clock } from '../../src/context.ts';
import { stylesOf } from '../../src/output/color.ts';
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
function createClock(): Clock & { pass(): number } {
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
      return due.length;
    },
  };
}

const begin = '\u001b[?2026h\r\u001b[K';
const end = '\u001b[?2026l';

async function started(terminal: Terminal, { color = false, plain = false } = {}) {
  const clock = createClock();
  const stderr = { stream: terminal, isTerminal: true, columns: terminal.columns };
  const progress = createProgress(stderr, clock, { styles: stylesOf(color), plain });
  return { clock, progress };
}

const seen = (terminal: Terminal, text: string) =>
  expect.poll(() => terminal.written, { timeout: 5000 }).toContain(text);

describe('progress', () => {
  it('is loaded after a while, and not for what is over sooner', async () => {
    const terminal = new Terminal();
    const { clock, progress } = await started(terminal);
    progress.update('text');
    progress.pause();
    expect(clock.pass()).toBe(0);
    progress.update('12 leads');
    expect(terminal.written).toBe('');
    expect(clock.pass()).toBe(1);
    await seen(terminal, '12 leads');
    progress.pause();
  });

  it('shows one clean line that fits, and takes it away', async () => {
    const terminal = new Terminal();
    const { clock, progress } = await started(terminal);
    progress.update(`12 leads\n\u001b[2J${'漢'.repeat(50)}`);
    clock.pass();
    await seen(terminal, '12 leads [2J漢');
    expect(terminal.written).toContain('…');
    expect(terminal.written).not.toContain('\u001b[2J');
    expect(terminal.written).not.toContain('\n');
    terminal.written = '';
    progress.pause();
    await seen(terminal, '\r\u001b[K');
    terminal.written = '';
    await new Promise((resolve) => setTimeout(resolve, 200));
    expect(terminal.written).toBe('');
    progress.update('13 leads');
    await seen(terminal, '13 leads');
    progress.pause();
  });

  it.each([
    ['in colour', { color: true }, ['\u001b[36m⠋\u001b[39m text', '\u001b[36m⠙\u001b[39m text']],
    ['in plain characters', { plain: true }, ['- text', '\\ text', '| text', '/ text', '- text']],
  ])('turns while time passes, %s', async (_, options, frames) => {
    const terminal = new Terminal();
    const { clock, progress } = await started(terminal, options);
    progress.update('text');
    clock.pass();
    for (const frame of frames) await seen(terminal, `${begin}${frame}${end}`);
    progress.pause();
  });

  it('works on a terminal that says it has no columns', async () => {
    const terminal = new Terminal(0);
    const { clock, progress } = await started(terminal);
    progress.update('12 leads');
    clock.pass();
    await seen(terminal, ' 12 leads');
    progress.pause();
    await expect.poll(() => terminal.written.endsWith('\r\u001b[K')).toBe(true);
  });

  it('hides no cursor, and hooks no signal, no stream of the process and no stream of its own', async () => {
    const terminal = new Terminal();
    const { write } = terminal;
    const listeners = () =>
      ['SIGINT', 'SIGTERM', 'SIGHUP', 'exit'].map((event) => process.listenerCount(event));
    const [before, emit, reallyExit] = [listeners(), process.emit, Reflect.get(process, 'reallyExit')];
    const { clock, progress } = await started(terminal, { color: true });
    progress.update('text');
    clock.pass();
    await seen(terminal, 'text');
    expect(listeners()).toEqual(before);
    expect(process.emit).toBe(emit);
    expect(Reflect.get(process, 'reallyExit')).toBe(reallyExit);
    expect(terminal.write).toBe(write);
    progress.pause();
    expect(terminal.written).not.toContain('\u001b[?25');
  });
});
