import type { Clock } from '../clock.ts';
import { countOf, type Stage, type Watch } from '../operations/delivery.ts';
import type { SearchListener } from '../operations/search/buy.ts';

/** Tells how a call goes, and how many leads have come. */
export type Tell = (message: string, leads?: number) => void;

/** Clients give up on a call of which they hear nothing for a minute; most of them wait on when they hear something. */
const everyMs = 5000;
/** A stream can bring a hundred batches in a second. */
const soonestMs = 250;

const doing: Readonly<Record<Stage, string>> = {
  asking: 'at work',
  searching: 'searching',
  creating: 'creating the task',
  waiting: 'waiting',
  fetching: 'fetching',
};

/** What a purchase is watched by. `before` leads are here already. */
export function createToolListener(
  clock: Clock,
  tell: Tell,
  warn: (line: string) => void,
  before = 0,
): SearchListener {
  const begun = clock.monotonic();
  let told = Number.NEGATIVE_INFINITY;
  let state = '';
  let arrived = before;
  const tellSoon = (): void => {
    const now = clock.monotonic();
    if (now - told < soonestMs) return;
    told = now;
    tell(state, arrived);
  };
  const watchOf = (write: Watch['write']): Watch => {
    let leads = 0;
    return {
      async write(records) {
        await write(records);
        leads += records.length;
        arrived += records.length;
        state = `${countOf(leads)} so far`;
        tellSoon();
      },
      progress(task, readyCount) {
        state = `task ${task}, ${readyCount} ready`;
        tellSoon();
      },
      stumbled: ({ message }) => tell(`trying again: ${message}`, arrived),
    };
  };
  return {
    warn,
    ended() {},
    waits(error, ms) {
      tell(`trying again in ${Math.ceil(ms / 1000)} s: ${error.message}`, arrived);
      return undefined;
    },
    async during(stage, delivery, work) {
      state = doing[stage];
      tell(state, arrived);
      let cancel = (): void => {};
      const tick = (): void => {
        cancel = clock.after(everyMs, () => {
          tell(`${state}, ${Math.round((clock.monotonic() - begun) / 1000)} s`, arrived);
          tick();
        });
      };
      tick();
      try {
        return await work(watchOf((records) => delivery.write(records)));
      } finally {
        cancel();
      }
    },
  };
}
