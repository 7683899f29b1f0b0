import type { Context } from '../../context.ts';
import type { Records } from '../../json/text.ts';
import type { Delivery } from '../../operations/delivery.ts';
import { createNotes } from '../messages/notes.ts';
import { openStatusLine, waitedFor } from '../messages/status-line.ts';
import type { ConnectionOptions } from '../options/options.ts';

/** What is counted, and how many were asked for at most. */
export interface Counted {
  readonly unit: 'lead' | 'row';
  readonly most?: number | undefined;
}

/** Runs `work` under a line that counts what it delivers. */
export async function withSpinner<T>(
  context: Context,
  options: ConnectionOptions,
  output: Pick<Delivery, 'write'>,
  label: string,
  counted: Counted,
  work: (deliver: (records: Records) => Promise<void>, relabel: (label: string) => void) => Promise<T>,
): Promise<T> {
  const seconds = secondsSince(context);
  let records = 0;
  let shown = label;
  const line = openStatusLine(context, options);
  const stop = line.show(() => toCounted(counted, records, shown, seconds()));
  const deliver = async (some: Records): Promise<void> => {
    await output.write(some);
    records += some.length;
    line.update();
  };
  const relabel = (given: string): void => {
    shown = given;
    line.update();
  };
  try {
    return await work(deliver, relabel);
  } finally {
    stop();
  }
}

/** Pure: `5 of 30 leads · task running, 10 ready · 12 s`. */
export function toCounted({ unit, most }: Counted, count: number, label: string, seconds: number): string {
  const of = most === undefined || most < count ? '' : ` of ${most}`;
  return [
    ...(count === 0 ? [] : [`${count}${of} ${unit}${count === 1 && of === '' ? '' : 's'}`]),
    label,
    ...(seconds < 2 ? [] : [waitedFor(seconds)]),
  ].join(' · ');
}

/** Runs `work` under a line that shows what it is told; where stderr is no terminal, a line every half minute. */
export async function withProgress<T>(
  context: Context,
  options: ConnectionOptions,
  first: string,
  work: (show: (label: (seconds: number) => string) => void) => Promise<T>,
): Promise<T> {
  const { clock, stderr } = context;
  const { say } = createNotes(context, options);
  const start = clock.monotonic();
  let shown = (_: number): string => first;
  const label = (): string => shown((clock.monotonic() - start) / 1000);
  const line = openStatusLine(context, options);
  const stop = line.show(label);
  let cancel = (): void => {};
  const tick = (): void => {
    if (!stderr.isTerminal) say(label());
    cancel = clock.after(longMs, tick);
  };
  cancel = clock.after(longMs, tick);
  try {
    return await work((told) => {
      shown = told;
      line.update();
    });
  } finally {
    cancel();
    stop();
  }
}

/** Between two lines of a long run, where stderr is a file. */
const longMs = 30_000;

/** Runs `work` under a line that says how long it has waited: some answers take a quarter of an hour. */
export async function withWaiting<T>(
  context: Context,
  options: ConnectionOptions,
  label: string,
  work: () => Promise<T>,
): Promise<T> {
  const seconds = secondsSince(context);
  const stop = openStatusLine(context, options).show(() => toCounted({ unit: 'lead' }, 0, label, seconds()));
  try {
    return await work();
  } finally {
    stop();
  }
}

function secondsSince({ clock }: Context): () => number {
  const start = clock.monotonic();
  return () => Math.floor((clock.monotonic() - start) / 1000);
}
