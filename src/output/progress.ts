import type { OutputStream } from '../context.ts';
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
}

const frameMs = 80;
const eraseToEnd = '\u001b[K';
const silent: Progress = { update() {}, pause() {}, stop() {} };

/**
 * A spinner where stderr is a terminal, else nothing at all. ora only makes the frames, and they are written here:
 * its own `start` would hook the process's streams, hide the cursor through signal hooks and keep the process alive,
 * and its `clear` never ends on a terminal that says it has 0 columns, as pseudo-terminals do.
 */
export async function createProgress(stderr: OutputStream, options: ProgressOptions = {}): Promise<Progress> {
  if (!stderr.isTerminal || options.quiet) return silent;
  const [{ default: ora }, { cutTo }] = await Promise.all([import('ora'), import('./text-width.ts')]);
  const { stream } = stderr;
  const spinner = ora({
    stream,
    isEnabled: true,
    hideCursor: false,
    discardStdin: false,
    color: options.color ? 'cyan' : false,
  });
  let timer: NodeJS.Timeout | undefined;
  let stopped = false;
  let line = '';

  function draw(): void {
    // Always one line, also when the terminal has been made narrower: a second one could not be taken away again.
    spinner.text = cutTo(line, (stderr.columns || 80) - 4);
    // A terminal that is held (Ctrl-S) or slow misses frames instead of gathering them.
    if (!stream.writableNeedDrain) stream.write(`\r${spinner.frame()}${eraseToEnd}`);
  }

  function pause(): void {
    if (timer === undefined) return;
    clearInterval(timer);
    timer = undefined;
    stream.write(`\r${eraseToEnd}`);
  }

  return {
    update(text) {
      if (stopped) return;
      line = toTerminalText(text);
      if (timer !== undefined) return;
      draw();
      timer = setInterval(draw, frameMs).unref();
    },
    pause,
    stop() {
      stopped = true;
      pause();
    },
  };
}
