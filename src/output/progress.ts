import type { Clock, OutputStream } from '../context.ts';
import { toTerminalText } from './clean.ts';
import type { Styles } from './color.ts';

/** One line on stderr with the progress of a run. */
export interface Progress {
  /** Shows a text. The first one appears after a while. */
  update(text: string): void;
  /** Removes the line while something else is written to the terminal; `update` shows it again. */
  pause(): void;
}

/** Most runs end sooner, and need no spinner. */
const loadMs = 200;

/** For a terminal that reports no columns. */
const usualWidth = 80;

/** A spinner on a terminal. It does not hide the cursor, and it hooks into nothing while it is not shown. */
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
      // The package's own colours would read the environment again.
      spinner: { frames: frames.map((frame) => styles.cyan(frame)), interval },
      color: false,
      stream: toTerminal(stderr),
      isEnabled: true,
      hideCursor: false,
      discardStdin: false,
    });
    draw = () => {
      if (text === undefined) return;
      // Always one line: a second line could not be removed.
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
        // Even if it was removed and shown again meanwhile.
        loading ??= load();
        void loading.then(() => draw());
      });
    },
    pause() {
      text = undefined;
      if (stop !== undefined) return stop();
      // A timer would keep the process alive after the run has ended.
      cancel?.();
      cancel = undefined;
    },
  };
}

/** The part of a terminal that the spinner needs, as an object of its own, because the package patches what it gets. */
function toTerminal(stderr: OutputStream): NodeJS.WriteStream {
  const { stream } = stderr;
  const terminal = {
    isTTY: true,
    // Frames are cut already. In a terminal that was made narrower, the package would remove several lines.
    columns: Number.POSITIVE_INFINITY,
    write: (text: string) => stream.write(text),
    cursorTo: () => stream.write('\r'),
    clearLine: () => stream.write('\u001b[K'),
    once: stream.once.bind(stream),
    removeListener: stream.removeListener.bind(stream),
  };
  return terminal as unknown as NodeJS.WriteStream;
}
