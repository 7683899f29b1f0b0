import type { Clock } from '../clock.ts';
import type { Stage, Watch } from '../operations/delivery.ts';
import type { SearchListener } from '../operations/search/buy.ts';
import { countOf } from '../operations/wording.ts';

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

export interface Teller {
  /** `leads` are here already; where it is not urgent, it is left out when something has just been said. */
  say(state: string, leads?: number, isUrgent?: boolean): void;
  waits(error: Error, ms: number): undefined;
  /** Runs `work`, and says from time to time that it goes on. */
  during<T>(state: string, work: () => Promise<T>): Promise<T>;
}

export function createTeller(clock: Clock, tell: Tell, before = 0): Teller {
  const begun = clock.monotonic();
  let said = Number.NEGATIVE_INFINITY;
  let last = '';
  let arrived = before;
  const teller: Teller = {
    say(state, leads = arrived, isUrgent = true) {
      last = state;
      arrived = leads;
      const now = clock.monotonic();
      if (!isUrgent && now - said < soonestMs) return;
      if (!isUrgent) said = now;
      tell(state, leads);
    },
    waits(error, ms) {
      tell(`trying again in ${Math.ceil(ms / 1000)} s: ${error.message}`, arrived);
      return undefined;
    },
    async during(state, work) {
      teller.say(state);
      let cancel = (): void => {};
      const tick = (): void => {
        cancel = clock.after(everyMs, () => {
          tell(`${last}, ${Math.round((clock.monotonic() - begun) / 1000)} s`, arrived);
          tick();
        });
      };
      tick();
      try {
        return await work();
      } finally {
        cancel();
      }
    },
  };
  return teller;
}

/** What a purchase is watched by. `before` leads are here already. */
export function createToolListener(
  teller: Teller,
  warn: (line: string) => void,
  before: number,
): SearchListener {
  let leads = 0;
  return {
    warn,
    ended() {},
    waits: teller.waits,
    during(stage, delivery, work) {
      const watch: Watch = {
        async write(records) {
          await delivery.write(records);
          leads += records.length;
          teller.say(`${countOf(leads)} so far`, before + leads, false);
        },
        progress: (task, readyCount) => teller.say(`task ${task}, ${readyCount} ready`, undefined, false),
        stumbled: ({ message }) => teller.say(`trying again: ${message}`),
      };
      return teller.during(doing[stage], () => work(watch));
    },
  };
}
