import { PassThrough } from 'node:stream';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { toSigns } from '../../src/output/ascii.ts';
import { stylesOf } from '../../src/output/color.ts';
import { createSpinner } from '../../src/output/spinner.ts';
import { until } from '../helpers/run.ts';

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

const begin = '\u001b[?2026h\r\u001b[K';
const end = '\u001b[?2026l';

function started(terminal: Terminal, { color = false, plain = false } = {}) {
  const stderr = { stream: terminal, isTerminal: true, columns: terminal.columns };
  return createSpinner(stderr, { styles: stylesOf(color), plain });
}

const seen = (terminal: Terminal, text: string): Promise<void> =>
  until(() => terminal.written.includes(text));

// The package takes its timer and its time from the globals.
beforeEach(() => void vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval', 'Date'] }));
afterEach(() => void vi.useRealTimers());

describe('the spinner', () => {
  it('has ASCII alone where it gets other signs', async () => {
    const terminal = new Terminal();
    const stderr = { stream: terminal, isTerminal: true, columns: terminal.columns };
    const signs = toSigns({ env: { LANG: 'C' } }, stderr);
    createSpinner(stderr, { styles: stylesOf(false), plain: true, signs }).show(`a · ${'b'.repeat(60)}`);
    await seen(terminal, 'a - b');
    expect(terminal.written).toMatch(/b~/);
    expect(terminal.written).not.toMatch(/[^\x00-\x7f]/);
  });

  it('shows one clean line that fits, and takes it away', async () => {
    const terminal = new Terminal();
    const spinner = started(terminal);
    spinner.show(`12 leads\n\u001b[2J${'漢'.repeat(50)}`);
    await seen(terminal, '12 leads [2J漢');
    expect(terminal.written).toContain('…');
    expect(terminal.written).not.toContain('\u001b[2J');
    expect(terminal.written).not.toContain('\n');
    terminal.written = '';
    spinner.clear();
    await seen(terminal, '\r\u001b[K');
    terminal.written = '';
    expect(vi.getTimerCount()).toBe(0);
    spinner.show('13 leads');
    await seen(terminal, '13 leads');
    spinner.clear();
  });

  it.each([
    ['in colour', { color: true }, ['\u001b[36m⠋\u001b[39m text', '\u001b[36m⠙\u001b[39m text']],
    ['in plain characters', { plain: true }, ['- text', '\\ text', '| text', '/ text', '- text']],
  ])('turns while time passes, %s', async (_, options, frames) => {
    const terminal = new Terminal();
    const spinner = started(terminal, options);
    spinner.show('text');
    for (const [at, frame] of frames.entries()) {
      // The first one finds nothing to remove.
      await seen(terminal, `${at === 0 ? '' : begin}${frame}${end}`);
      terminal.written = '';
      vi.advanceTimersToNextTimer();
    }
    spinner.clear();
  });

  it('works on a terminal that says it has no columns', async () => {
    const terminal = new Terminal(0);
    const spinner = started(terminal);
    spinner.show('12 leads');
    await seen(terminal, ' 12 leads');
    spinner.clear();
    await until(() => terminal.written.endsWith('\r\u001b[K'));
  });

  it('hides no cursor, and hooks no signal, no stream of the process and no stream of its own', async () => {
    const terminal = new Terminal();
    const { write } = terminal;
    const listeners = () =>
      ['SIGINT', 'SIGTERM', 'SIGHUP', 'exit'].map((event) => process.listenerCount(event));
    const [before, emit, reallyExit] = [listeners(), process.emit, Reflect.get(process, 'reallyExit')];
    const spinner = started(terminal, { color: true });
    spinner.show('text');
    await seen(terminal, 'text');
    expect(listeners()).toEqual(before);
    expect(process.emit).toBe(emit);
    expect(Reflect.get(process, 'reallyExit')).toBe(reallyExit);
    expect(terminal.write).toBe(write);
    spinner.clear();
    expect(terminal.written).not.toContain('\u001b[?25');
  });
});
