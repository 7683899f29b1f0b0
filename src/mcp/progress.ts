import { type Clock, every } from '../clock.ts';
import { type OperationEvent, type Running, runToEnd } from '../operations/events.ts';
import { countOf } from '../operations/wording.ts';

/** Reports the progress of a call, and how many leads have arrived. */
export type Report = (message: string, leads?: number) => void;

/** Interval of progress messages. Clients time out after a minute of silence; most wait longer if they get progress. */
const intervalMs = 5000;
/** Between two reports: a stream can send a hundred batches per second. */
const minIntervalMs = 250;

/** Watches one call. `before`: leads that had arrived already. */
export function createProgress(clock: Clock, report: Report, before = 0) {
  const begun = clock.monotonic();
  let state = '';
  let leads = before;
  let reportedAt = Number.NEGATIVE_INFINITY;

  /** Runs `work`, and reports from time to time that it is still running. */
  async function telling<T>(what: string, work: () => Promise<T>): Promise<T> {
    state = what;
    report(state, leads);
    const stop = every(intervalMs, () =>
      report(`${state}, ${Math.round((clock.monotonic() - begun) / 1000)} s`, leads),
    );
    try {
      return await work();
    } finally {
      stop();
    }
  }

  const waits = (error: Error, ms: number): undefined =>
    void report(`trying again in ${Math.ceil(ms / 1000)} s: ${error.message}`, leads);

  /** Runs an operation, and reports its progress. */
  const follow = <T>(
    what: string,
    operation: Running<T>,
    show: (event: OperationEvent) => void,
  ): Promise<T> =>
    telling(what, () =>
      runToEnd(operation, (event) => {
        show(event);
        if (event.is !== 'delivered') return;
        leads += event.records;
        state = `${countOf(leads - before)} so far`;
        if (clock.monotonic() - reportedAt < minIntervalMs) return;
        reportedAt = clock.monotonic();
        report(state, leads);
      }),
    );

  return { telling, waits, follow };
}
