import ora, { spinners } from 'ora';
import type { OutputStream } from '../context.ts';
import { toTerminalText } from './clean.ts';
import type { Styles } from './color.ts';
import { cutTo } from './text-width.ts';

/** For a terminal that reports no columns. */
const defaultWidth = 80;

/**
 * A spinner with a text, on one line of a terminal. It does not hide the cursor, and has no hooks while it is hidden. `plain` uses only ASCII,
 * for consoles without the characters of the usual frames.
 */
export function createSpinner(
  stderr: OutputStream,
  {
    styles,
    plain,
    signs = (text) => text,
  }: { readonly styles: Styles; readonly plain: boolean; readonly signs?: (text: string) => string },
) {
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
  let text = '';
  const draw = (): void => {
    // Always one line: a second line could not be removed.
    spinner.text = signs(cutTo(text, (stderr.columns || defaultWidth) - 4));
  };
  stderr.stream.on('resize', draw);
  return {
    show(given: string): void {
      text = toTerminalText(given);
      draw();
      if (!spinner.isSpinning) spinner.start();
    },
    clear(): void {
      if (spinner.isSpinning) spinner.stop();
    },
  };
}

/** The part of a terminal that the spinner needs, as an object of its own, because the package patches what it gets. */
function toTerminal({ stream, isInBackground }: OutputStream): NodeJS.WriteStream {
  // In the background, the line belongs to the shell.
  const write = (text: string): boolean => isInBackground?.() === true || stream.write(text);
  const terminal = {
    isTTY: true,
    // Frames are cut already. In a terminal that was made narrower, the package would remove several lines.
    columns: Number.POSITIVE_INFINITY,
    write,
    cursorTo: () => write('\r'),
    clearLine: () => write('\u001b[K'),
    once: stream.once.bind(stream),
    removeListener: stream.removeListener.bind(stream),
  };
  return terminal as unknown as NodeJS.WriteStream;
}
