import type { Context } from '../../context.ts';
import type { JsonText } from '../../json/text.ts';
import type { Delivery } from '../../operations/delivery.ts';
import { createProgress, type Progress } from '../../output/progress.ts';
import { createNotes } from '../messages/notes.ts';
import type { ConnectionOptions } from '../options/options.ts';
import { colorOf } from './color.ts';

/** Runs `work` under a spinner that counts what it delivers. */
export async function withSpinner<T>(
  context: Context,
  options: ConnectionOptions,
  output: Delivery,
  label: string,
  work: (
    deliver: (records: readonly JsonText[]) => Promise<void>,
    relabel: (label: string) => void,
  ) => Promise<T>,
): Promise<T> {
  let records = 0;
  let shown = label;
  const spinner = openSpinner(context, options, () =>
    records === 0 ? shown : `${shown}: ${records} so far`,
  );
  const deliver = async (some: readonly JsonText[]): Promise<void> => {
    if (output.file === undefined && context.stdout.isTerminal) spinner.pause();
    await output.write(some);
    records += some.length;
    spinner.update();
  };
  const relabel = (given: string): void => {
    shown = given;
    spinner.update();
  };
  try {
    return await work(deliver, relabel);
  } finally {
    await spinner.stop();
  }
}

/** Runs `work` under a spinner that shows what it is told; where stderr is no terminal, a line every half minute. */
export async function withProgress<T>(
  context: Context,
  options: ConnectionOptions,
  work: (show: (label: (seconds: number) => string) => void, pause: () => void) => Promise<T>,
): Promise<T> {
  const { clock, stderr } = context;
  const { say } = createNotes(context, options);
  const start = clock.monotonic();
  let shown = (seconds: number): string => `reading: ${waitedFor(Math.floor(seconds))}`;
  const label = (): string => shown((clock.monotonic() - start) / 1000);
  const spinner = openSpinner(context, options, label);
  let cancel = (): void => {};
  const tick = (): void => {
    if (!stderr.isTerminal) say(label());
    cancel = clock.after(longMs, tick);
  };
  cancel = clock.after(longMs, tick);
  try {
    return await work((told) => {
      shown = told;
      spinner.update();
    }, spinner.pause);
  } finally {
    cancel();
    await spinner.stop();
  }
}

/** Between two lines of a long run, where stderr is a file. */
const longMs = 30_000;

/** Runs `work` under a spinner that says how long it has waited: some answers take a quarter of an hour. */
export async function withWaiting<T>(
  context: Context,
  options: ConnectionOptions,
  label: string,
  work: () => Promise<T>,
): Promise<T> {
  const { clock } = context;
  const start = clock.monotonic();
  const spinner = openSpinner(context, options, () => {
    const seconds = Math.floor((clock.monotonic() - start) / 1000);
    return seconds < 2 ? label : `${label}: ${waitedFor(seconds)}`;
  });
  let cancel = (): void => {};
  const tick = (): void => {
    spinner.update();
    cancel = clock.after(1000, tick);
  };
  tick();
  try {
    return await work();
  } finally {
    cancel();
    await spinner.stop();
  }
}

export function waitedFor(seconds: number): string {
  const minutes = Math.floor(seconds / 60);
  return minutes === 0 ? `${seconds} s` : `${minutes} min ${seconds % 60} s`;
}

/** The spinner's code is loaded beside the request, not before it. */
function openSpinner(context: Context, options: ConnectionOptions, text: () => string) {
  let progress: Progress | undefined;
  let ended = false;
  const { clock, env, stderr } = context;
  const loading = createProgress(stderr, clock, {
    // A dumb terminal can't take back what it shows.
    quiet: options.quiet === true || options.jsonErrors === true || env.TERM === 'dumb',
    // The consoles of Linux and of the older Windows.
    plain: env.TERM === 'linux' || (env.OS === 'Windows_NT' && !env.WT_SESSION && !env.TERM_PROGRAM),
    color: colorOf(context, stderr, options.color),
  }).then((loaded) => {
    progress = loaded;
    if (!ended) loaded.update(text());
  });
  return {
    pause: (): void => progress?.pause(),
    update: (): void => progress?.update(text()),
    async stop(): Promise<void> {
      ended = true;
      await loading;
      progress?.stop();
    },
  };
}
