import type { Clock, OutputStream } from '../context.ts';
import { toTerminalText } from './clean.ts';

/** One line on stderr that says how far a run is. */
export interface Progress {
  update(text: string): void;
  /** Takes the line away while something else is written to the terminal; `update` brings it back. */
  pause(): void;
  /** Takes it away for good. */
  stop(): void;
}

export interface ProgressOptions {
  readonly quiet?: boolean;
  readonly color?: boolean;
  /** Only ASCII: not every console has the characters of the usual frames. */
  readonly plain?: boolean;
}

const frameMs = 80;
const frames = { usual: [...'⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏'], plain: [...'-\\|/'] } as const;
const eraseToEnd = '\u001b[K';
const silent: Progress = { update() {}, pause() {}, stop() {} };

/** A spinner where stderr is a terminal, else nothing at all. It hooks no stream and no signal, and hides no cursor. */
export async function createProgress(
  stderr: OutputStream,
  clock: Clock,
  options: ProgressOptions = {},
): Promise<Progress> {
  if (!stderr.isTerminal || options.quiet) return silent;
  const { cutTo } = await import('./text-width.ts');
  const { stream } = stderr;
  const [begin, end] = options.color ? ['\u001b[36m', '\u001b[39m'] : ['', ''];
  const shown = options.plain ? frames.plain : frames.usual;
  let count = 0;
  let cancel: (() => void) | undefined;
  let stopped = false;
  let line = '';

  function draw(): void {
    // Always one line, also when the terminal has been made narrower: a second one could not be taken away again.
    const text = cutTo(line, (stderr.columns || 80) - 4);
    const frame = shown[count++ % shown.length];
    // A terminal that is held (Ctrl-S) or slow misses frames instead of gathering them.
    if (!stream.writableNeedDrain) stream.write(`\r${begin}${frame}${end} ${text}${eraseToEnd}`);
    cancel = clock.after(frameMs, draw);
  }

  function pause(): void {
    if (cancel === undefined) return;
    cancel();
    cancel = undefined;
    stream.write(`\r${eraseToEnd}`);
  }

  return {
    update(text) {
      if (stopped) return;
      line = toTerminalText(text);
      if (cancel === undefined) draw();
    },
    pause,
    stop() {
      stopped = true;
      pause();
    },
  };
}
