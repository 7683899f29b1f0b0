import type { Clock, OutputStream } from '../context.ts';
import { toTerminalText } from './clean.ts';
import type { Styles } from './color.ts';

/** One line on stderr that says how far a run is. */
export interface Progress {
  /** Shows a text; the first one is loaded and drawn after a while. */
  update(text: string): void;
  /** Takes the line away while something else is written to the terminal; `update` brings it back. */
  pause(): void;
}

/** Most runs are over sooner, and need no spinner. */
const loadMs = 200;

/** Where a terminal says that it has no columns. */
const usualWidth = 80;

/** A spinner on a terminal. It hides no cursor, and while it is away it hooks nothing. */
export function createProgress(
  stderr: OutputStream,
  clock: Clock,
  { styles, plain }: { readonly styles: Styles; readonly plain: boolean },
): Progress {
  let text: string | undefined;
  let cancel: (() => void) | undefined;
  let loading: ReturnType<typeof load> | undefined;
  let spinner: Awaited<ReturnType<typeof load>> | undefined;

  /** `plain` has only ASCII: not every console has the characters of the usual frames. */
  async function load() {
    const [{ default: ora, spinners }, { cutTo }] = await Promise.all([
      import('ora'),
      import('./text-width.ts'),
    ]);
    const { frames, interval } = plain ? spinners.line : spinners.dots;
    const shown = ora({
      // Its own colours ask the environment again.
      spinner: { frames: frames.map((frame) => styles.cyan(frame)), interval },
      color: false,
      stream: toTerminal(stderr),
      isEnabled: true,
      hideCursor: false,
      discardStdin: false,
    });
    // Always one line: a second one could not be taken away again.
    stderr.stream.on('resize', () => shown.isSpinning && text !== undefined && spinner?.draw(text));
    return {
      draw(line: string): void {
        shown.text = cutTo(line, (stderr.columns || usualWidth) - 4);
        if (!shown.isSpinning) shown.start();
      },
      stop(): void {
        if (shown.isSpinning) shown.stop();
      },
    };
  }

  async function begin(): Promise<void> {
    // Also where it was taken away, and shown again, meanwhile.
    loading ??= load();
    spinner = await loading;
    if (text !== undefined) spinner.draw(text);
  }

  return {
    update(given) {
      text = toTerminalText(given);
      spinner?.draw(text);
      cancel ??= clock.after(loadMs, () => void begin());
    },
    pause() {
      text = undefined;
      if (spinner !== undefined) return spinner.stop();
      // It would keep a run alive that has ended.
      cancel?.();
      cancel = undefined;
    },
  };
}

/** As much of a terminal as a spinner needs: its own, since it patches what it is given. */
function toTerminal(stderr: OutputStream): NodeJS.WriteStream {
  const { stream } = stderr;
  const terminal = {
    isTTY: true,
    // A frame is cut already. Where the terminal has been made narrower, several lines would be taken away in its place.
    columns: Number.POSITIVE_INFINITY,
    write: (text: string) => stream.write(text),
    cursorTo: () => stream.write('\r'),
    clearLine: () => stream.write('\u001b[K'),
    once: stream.once.bind(stream),
    removeListener: stream.removeListener.bind(stream),
  };
  return terminal as unknown as NodeJS.WriteStream;
}
