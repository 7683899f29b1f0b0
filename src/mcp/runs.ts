import { randomUUID } from 'node:crypto';
import {
  type ElicitRequestFormParams,
  type InputRequiredResult,
  inputRequired,
} from '@modelcontextprotocol/server';
import type { Context } from '../context.ts';
import { LeadpipeError } from '../errors.ts';
import type { Buyer } from '../operations/buyer.ts';
import { checkCovered, glanceAtBalance } from '../operations/credit-limits.ts';
import { exact, toSpending, type WorstCase } from '../operations/spending.ts';
import { countOf } from '../operations/wording.ts';
import { toTerminalText } from '../output/clean.ts';
import { type Bought, settle, type Unbought, type Wanted } from './buying.ts';
import type { Tell } from './progress.ts';
import type { McpOptions } from './tool.ts';

/** What a call asks for: all of it is bought by one run, which whoever asks for the same meanwhile joins. */
export interface Errand {
  readonly wanted: readonly Wanted[];
  /** Whether it is bought once more, whatever came before. */
  readonly again: boolean;
  readonly isRows: boolean;
  /** In words for the person. */
  readonly what: string;
}

export interface Caller {
  /** Aborted when it gives the call up. */
  readonly signal: AbortSignal;
  readonly tell: Tell;
  readonly canAsk: boolean;
  /** Puts a question to the person, where the client is asked while it waits; others are by the result of the call. */
  readonly elicit: ((question: ElicitRequestFormParams) => Promise<{ readonly action: string }>) | undefined;
  /** What the client says the person answered, by the mark of the question, where it was asked by an earlier call. */
  readonly answer: { readonly mark: string; readonly action: unknown } | undefined;
}

export type Outcome = Bought | LeadpipeError;

type Came =
  | { readonly outcomes: readonly Outcome[]; readonly creditsLeft: number | undefined }
  /** What the client has to ask the person before it calls again. */
  | { readonly question: InputRequiredResult };

interface Run {
  readonly done: Promise<Came>;
  readonly tellers: Set<Tell>;
  readonly stop: AbortController;
  waiting: number;
}

/** Questions that nobody answers are forgotten, the oldest first. */
const mostOpen = 1000;
/** Rows of a call that are looked up at the same time. */
const mostAtOnce = 4;
/** Errors that hold for the next row too. */
const general: readonly LeadpipeError['outcome'][] = [
  'authentication',
  'credits',
  'configuration',
  'local_io',
  'interrupted',
  'terminated',
];

export function createRuns(context: Context, { connect, spending, confirm }: McpOptions) {
  const all = new Set<Run>();
  const joinable = new Map<string, Run>();
  /** What was asked about, by the mark of the question. */
  const questions = new Map<string, string>();
  let isClosed = false;
  /** The limit of settings that could not be read when the session began. */
  let limit = spending;

  function begin(errand: Errand, name: string, asker: Caller | undefined): Run {
    const { clock, directories, ids, pid, random, zone } = context;
    const stop = new AbortController();
    if (isClosed) stop.abort('interrupted');
    const tellers = new Set<Tell>();
    const tell: Tell = (message, leads) => {
      for (const one of tellers) one(message, leads);
    };
    const own = { clock, directories, ids, pid, random, signal: stop.signal, zone };
    const done = connect(async (connection) => {
      limit ??= toSpending(undefined, connection);
      return await buy({ connection, context: own, spending: limit }, errand, name, tell, asker);
    }).finally(() => {
      all.delete(run);
      if (joinable.get(name) === run) joinable.delete(name);
    });
    const run: Run = { done, tellers, stop, waiting: 0 };
    all.add(run);
    if (!errand.again) joinable.set(name, run);
    return run;
  }

  async function buy(
    buyer: Buyer,
    errand: Errand,
    name: string,
    tell: Tell,
    asker: Caller | undefined,
  ): Promise<Came> {
    let outcomes: readonly Outcome[] | undefined;
    // Many are refused before the first is bought.
    if (asker !== undefined || (errand.isRows && buyer.spending !== undefined)) {
      const found = await settleAll(buyer, errand, false, tell);
      const unbought = found.filter((one) => 'worst' in one);
      if (unbought.length === 0) outcomes = found as Outcome[];
      else {
        const toCount = sumOf(unbought.filter(({ isCounted }) => !isCounted));
        if (buyer.spending !== undefined) await checkCovered(buyer, toCount, await glanceAtBalance(buyer));
        const question = asker && (await ask(asker, errand, name, sumOf(unbought)));
        if (question !== undefined) return { question };
      }
    }
    outcomes ??= (await settleAll(buyer, errand, true, tell)) as Outcome[];
    const isBought = outcomes.some((one) => !(one instanceof LeadpipeError) && one.charged !== 'no');
    return { outcomes, creditsLeft: isBought ? await glanceAtBalance(buyer) : undefined };
  }

  /** Throws where the person does not agree, or can't be asked; gives the question where the client has to put it by itself. */
  async function ask({ canAsk, elicit }: Caller, { what }: Errand, name: string, worst: WorstCase) {
    if (!canAsk) {
      const words =
        "this server asks the person before it buys, and this client can't ask; nothing was bought";
      throw refused(words, 'confirmation_unavailable');
    }
    const params = {
      message: `Buy this? ${toTerminalText(what)}\n${toCost(worst)}`,
      requestedSchema: { type: 'object', properties: {} },
    } as const;
    if (elicit === undefined) {
      const mark = randomUUID();
      const [oldest = ''] = questions.keys();
      if (questions.size >= mostOpen) questions.delete(oldest);
      questions.set(mark, name);
      return inputRequired({ inputRequests: { buy: inputRequired.elicit(params) }, requestState: mark });
    }
    const { action } = await elicit({ mode: 'form', ...params }).catch((error: Error) => {
      const words = `this client could not ask the person: ${error.message}; nothing was bought`;
      const hint = 'The same call asks again. If that fails too, ask the person what to do.';
      throw refused(words, 'confirmation_failed', hint);
    });
    if (action !== 'accept') throw toDeclined();
    return undefined;
  }

  return {
    /**
     * Joins the same errand where one is under way; else looks what is there, asks the person, and buys. Throws LeadpipeError where
     * nothing came.
     */
    async follow(errand: Errand, caller: Caller): Promise<Came> {
      const name = JSON.stringify(errand.wanted);
      const { mark = '', action } = caller.answer ?? {};
      // An answer counts once, and for what was asked.
      const isAnswered = questions.get(mark) === name && questions.delete(mark);
      if (isAnswered && action !== 'accept') throw toDeclined();
      const find = () => (errand.again || isAnswered ? undefined : joinable.get(name));
      let run = find();
      while (run?.stop.signal.aborted && !isClosed) {
        // It is putting away what arrived, and is gone on with then.
        await run.done.catch(() => undefined);
        run = find();
      }
      run ??= begin(errand, name, confirm && !isAnswered ? caller : undefined);
      return await joined(run, caller);
    },
    /** Stops what is under way, as Ctrl-C does; resolves when what arrived is put away. */
    async close(): Promise<void> {
      isClosed = true;
      for (const { stop } of all) stop.abort(context.signal.aborted ? context.signal.reason : 'interrupted');
      await Promise.allSettled([...all].map(({ done }) => done));
    },
  };
}

/** Waits with the others; the last one to give it up stops it. */
async function joined(run: Run, { signal, tell }: Caller): Promise<Came> {
  run.waiting++;
  run.tellers.add(tell);
  const leave = (): void => {
    if (--run.waiting === 0) run.stop.abort('interrupted');
  };
  signal.addEventListener('abort', leave, { once: true });
  if (signal.aborted) leave();
  try {
    return await run.done;
  } finally {
    signal.removeEventListener('abort', leave);
    run.tellers.delete(tell);
  }
}

/** An error is the outcome of its own row; one that holds for all is not tried for each. */
async function settleAll(
  buyer: Buyer,
  { wanted, again, isRows }: Errand,
  mayBuy: boolean,
  tell: Tell,
): Promise<(Outcome | Unbought)[]> {
  const outcomes: (Outcome | Unbought)[] = [];
  let next = 0;
  let done = 0;
  let stop: LeadpipeError | undefined;
  const failed = (error: unknown): LeadpipeError => {
    if (!(error instanceof LeadpipeError)) throw error;
    const { type = '', facts, charged } = error.details;
    if (!general.includes(error.outcome) || charged === 'yes') return error;
    const details = { type, charged: 'no', retryable: false, ...(facts && { facts }) } as const;
    stop ??= new LeadpipeError(error.outcome, `not sent: ${error.words}`, details);
    return error;
  };
  const tellRows = (): void => tell(`${done} of ${wanted.length} rows`, done);
  const how = { again, mayBuy, tell: isRows ? tellRows : tell };
  const work = async (): Promise<void> => {
    for (let at = next++; at < wanted.length; at = next++) {
      outcomes[at] = stop ?? (await settle(buyer, wanted[at] as Wanted, how).catch(failed));
      done++;
      if (isRows) tellRows();
    }
  };
  await Promise.all(Array.from({ length: mostAtOnce }, work));
  return outcomes;
}

/** Pure: what all of them together have cost. */
export function chargedOf(outcomes: readonly Outcome[]) {
  const costs = outcomes.map((one) => (one instanceof LeadpipeError ? one.details : one).charged);
  return (['yes', 'maybe'] as const).find((cost) => costs.includes(cost)) ?? 'no';
}

function sumOf(unbought: readonly Unbought[]): WorstCase {
  let credits = 0;
  for (const { worst } of unbought) {
    if (worst.credits === null) return worst;
    credits = exact(credits + worst.credits);
  }
  return { credits };
}

function toCost(worst: WorstCase): string {
  if (worst.credits !== null) return `It costs at most ${countOf(worst.credits, 'credit')}.`;
  return `It is not known what it costs: the setting ${worst.setting} is not set.`;
}

function toDeclined(): LeadpipeError {
  const words = 'the person did not agree to this purchase; nothing was bought';
  return refused(words, 'declined', 'Ask the person what to do instead.');
}

function refused(words: string, type: string, hint?: string): LeadpipeError {
  return new LeadpipeError('credits', words, {
    type,
    charged: 'no',
    retryable: false,
    ...(hint && { hint }),
  });
}
