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
  let draw = (): void => {};
  let stop: (() => void) | undefined;

  /** `plain` has only ASCII: not every console has the characters of the usual frames. */
  async function load(): Promise<void> {
    const [{ default: ora, spinners }, { cutTo }] = await Promise.all([
      import('ora'),
      import('./text-width.ts'),
    ]);
    const { frames, interval } = plain ? spinners.line : spinners.dots;
    const spinner = ora({
      // Its own colours ask the environment again.
      spinner: { frames: frames.map((frame) => styles.cyan(frame)), interval },
      color: false,
      stream: toTerminal(stderr),
      isEnabled: true,
      hideCursor: false,
      discardStdin: false,
    });
    draw = () => {
      if (text === undefined) return;
      // Always one line: a second one could not be taken away again.
      spinner.text = cutTo(text, (stderr.columns || usualWidth) - 4);
      if (!spinner.isSpinning) spinner.start();
    };
    stop = () => void (spinner.isSpinning && spinner.stop());
    stderr.stream.on('resize', draw);
  }

  return {
    update(given) {
      text = toTerminalText(given);
      draw();
      cancel ??= clock.after(loadMs, () => {
        // Also where it was taken away, and shown again, meanwhile.
        loading ??= load();
        void loading.then(() => draw());
      });
    },
    pause() {
      text = undefined;
      if (stop !== undefined) return stop();
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
