import type { Purchase } from '../helpers/ledger.ts';
import type { Result } from '../helpers/run.ts';

/** A run of a command that has ended, and what the service knows about its key. */
export interface Ended extends Result {
  /** What `-o` holds; undefined when the file is not in place. */
  readonly file: string | undefined;
  readonly purchase: Purchase | undefined;
  /** Everything that the service has found for it, in order. */
  readonly found: readonly string[];
}

/** A job of a user, with one idempotency key for all attempts. */
export interface Wish {
  readonly name: string;
  /** The command of a run, counted from 0; all runs ask for the same. */
  args(run: number): readonly string[];
  /** Whether it costs credits, at most `price`. */
  readonly price: number;
  /** Whether the same command goes on where it was left, so that it must come to its end. */
  readonly replays: boolean;
  /** Exit codes that a network can bring about. */
  readonly exits: readonly number[];
  /** Throws if the output is not what the run says. */
  check(ended: Ended): void;
}

/** Draws something to do. `file` is for those that write one. */
export function toWish(dice: () => number, file: string): Wish {
  const limit = 1 + Math.floor(dice() * 40);
  const kind = dice();
  if (kind < 0.35) return search(limit);
  if (kind < 0.6) return taskRun(limit, file);
  if (kind < 0.75) return contact;
  if (kind < 0.85) return extract;
  if (kind < 0.92) return research;
  return balance;
}

const search = (limit: number): Wish => ({
  name: 'search',
  args: () => ['search', 'company', 'fintech', '--limit', `${limit}`],
  price: limit,
  replays: false,
  exits: [0, 3, 8, 75],
  check({ code, stdout, found }) {
    const leads = linesOf(stdout);
    if (code === 0) expectSame(leads, found, 'the leads of a complete search');
    // Whatever came came once, in order; a recovered search has all of it.
    else expectSame(leads, found.slice(0, leads.length), 'the leads of a cut search');
    if (code === 3 && leads.length === 0) throw new Error('partial, without a lead');
    if (code === 8 && leads.length > 0) throw new Error('unknown, with leads');
    if (code === 75 && leads.length > 0) throw new Error('nothing charged, with leads');
  },
});

const taskRun = (limit: number, file: string): Wish => ({
  name: 'task run',
  // A file of its own: what an earlier run has left behind it would not be overwritten.
  args: (run) => [
    ...['task', 'run', 'company', 'fintech', '--limit', `${limit}`, '--num', '7'],
    ...['-o', `${file}.${run}.jsonl`, '--poll-interval', '0.02', '--wait-timeout', '200'],
  ],
  price: limit,
  replays: true,
  exits: [0, 8, 75],
  check({ code, file: written, found }) {
    if (code === 0) expectSame(linesOf(written ?? ''), found, 'the leads of a task');
    else if (written !== undefined) throw new Error('a file in place of a task that was left');
  },
});

/** Commands with one answer, which comes at once or not at all. */
function single(
  name: string,
  args: readonly string[],
  price: number,
  isRight: (ended: Ended) => boolean,
): Wish {
  return {
    ...{ name, args: () => args, price, replays: false },
    exits: price > 0 ? [0, 8, 75] : [0, 75],
    check(ended) {
      if (ended.code === 0 ? !isRight(ended) : ended.stdout !== '') throw new Error('not the answer');
    },
  };
}

const contact = single(
  'contact',
  ['contact', 'email', 'Lena Weber'],
  5,
  ({ stdout }) => JSON.parse(stdout).result.content === 'lena@nordlicht.example',
);
const list = ['extract', 'web2list', 'https://example.com/list', '--instruction', 'fintech'];
const extract = single(
  'extract',
  list,
  100,
  ({ stdout, purchase }) => linesOf(stdout).length === purchase?.settled,
);
const research = single(
  'research',
  ['research', 'What is Nordlicht Pay?'],
  20,
  ({ stdout }) => JSON.parse(stdout).success === true,
);
const balance = single('balance', ['balance'], 0, ({ stdout }) =>
  Number.isInteger(JSON.parse(stdout).available_credits),
);

function linesOf(text: string): string[] {
  return text.split('\n').slice(0, -1);
}

function expectSame(actual: readonly string[], expected: readonly string[], what: string): void {
  if (actual.join('\n') === expected.join('\n')) return;
  const at = expected.findIndex((line, index) => line !== actual[index]);
  throw new Error(
    `${what}: ${actual.length} written, ${expected.length} found; from ${at}: ${actual[at]} instead of ${expected[at]}`,
  );
}
