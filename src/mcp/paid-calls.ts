import { randomUUID } from 'node:crypto';
import {
  type ElicitRequestFormParams,
  type InputRequiredResult,
  inputRequired,
} from '@modelcontextprotocol/server';
import type { Context } from '../context.ts';
import { LeadpipeError } from '../errors.ts';
import { JsonView } from '../json/text.ts';
import type { Buyer } from '../operations/buyer.ts';
import { checkCovered, glanceAtBalance } from '../operations/credit-limits.ts';
import { readChainFrom } from '../operations/journal/chain.ts';
import { readOperation } from '../operations/journal/stored.ts';
import { kinds } from '../operations/kinds.ts';
import { exact, toSpending, type WorstCase } from '../operations/spending.ts';
import { countOf } from '../operations/wording.ts';
import { toTerminalText } from '../output/clean.ts';
import { wireNames } from '../requests/within-limits.ts';
import { toAgentValue } from './agent-json.ts';
import { type Bought, settle, type Unbought, type Wanted } from './buying.ts';
import type { Tell } from './progress.ts';
import { readSome, readStored } from './stored.ts';
import type { Arguments, McpOptions, PaidRow, Result } from './tool.ts';

/** The client that calls. */
export interface Caller {
  /** Aborts when the client gives up the call. */
  readonly signal: AbortSignal;
  /** Returns a function that reports progress; `total` is known for some calls. */
  readonly tellOf: (total: number | undefined) => Tell;
  readonly canAsk: boolean;
  /** Asks the person a question, if the client can be asked while it waits. Others are asked by the result of the call. */
  readonly elicit: ((question: ElicitRequestFormParams) => Promise<{ readonly action: string }>) | undefined;
  /** The person's answer to a question of an earlier call, which `mark` names. */
  readonly answer: { readonly mark: string; readonly action: unknown } | undefined;
}

/** What a call asks for. One run buys it, and calls for the same join this run. */
interface Errand {
  readonly name: string;
  readonly wanted: readonly Wanted[];
  /** Whether to buy it again, even if it was bought before. */
  readonly again: boolean;
  readonly isRows: boolean;
  /** In words, for the person. */
  readonly what: string;
}

type Outcome = Bought | LeadpipeError;
type Came = { readonly outcomes: readonly Outcome[]; readonly creditsLeft: number | undefined } | Question;
/** The client must ask the person this, and then call again. */
type Question = { readonly question: InputRequiredResult };

interface Run {
  readonly done: Promise<Came>;
  /** Of all calls that wait for it. */
  readonly tellers: Set<Tell>;
  readonly stop: AbortController;
}

interface PaidResult {
  readonly result: Result;
  readonly isError: boolean;
}

/** The oldest unanswered questions are forgotten. */
const mostOpen = 1000;
/** How many rows of a call are looked up at the same time. */
const mostAtOnce = 4;
/** Errors that would also concern the next row. */
const general = ['authentication', 'credits', 'configuration', 'local_io', 'interrupted', 'terminated'];

export function createPaidCalls(context: Context, { connect, spending, confirm, describe }: McpOptions) {
  const all = new Set<Run>();
  const joinable = new Map<string, Run>();
  /** What each question is about, by its mark. */
  const questions = new Map<string, string>();
  let isClosed = false;
  /** Read again if the settings could not be read when the session began. */
  let limit = spending;

  /** Runs a call of a paid tool. With `rows`, it is a call for each of them. Throws LeadpipeError where nothing arrived. */
  async function call(tool: PaidRow, args: Arguments, caller: Caller): Promise<PaidResult | Question> {
    const rows = args.rows as readonly string[] | undefined;
    const isRows = rows !== undefined;
    const each = rows?.map((text) => ({ ...args, [tool.row ?? '']: text })) ?? [args];
    /** Rows that ask for the same are bought only once. */
    const wanted = new Map<string, Wanted>();
    const names: string[] = [];
    for (const one of each) {
      try {
        const body = await tool.toBody(one, wireNames);
        const name = JSON.stringify(body);
        names.push(name);
        wanted.set(name, { kind: tool.kind, body, onlyNew: args.only_new === true });
      } catch (error) {
        throw isRows && error instanceof LeadpipeError
          ? error.with({}, `row ${names.length + 1}: ${error.words}`)
          : error;
      }
    }
    const about = tool.about(each[0] ?? args);
    const errand: Errand = {
      name: JSON.stringify([...wanted.values()]),
      wanted: [...wanted.values()],
      again: args.again === true,
      isRows,
      what: isRows ? `${wanted.size} look-ups, the first of them: ${about}` : about,
    };
    const total = isRows ? wanted.size : tool.records === 'leads' ? args.limit : undefined;
    const came = await follow(errand, caller, caller.tellOf(total));
    if ('question' in came) return came;
    const { outcomes, creditsLeft: credits_left } = came;
    const results: PaidResult[] = [];
    for (const [at, one] of each.entries()) {
      const outcome = outcomes[[...wanted.keys()].indexOf(names[at] ?? '')] as Outcome;
      if (!(outcome instanceof LeadpipeError))
        results.push(await toResult(tool, one, outcome, caller.signal));
      else if (isRows) results.push({ result: { error: describe(outcome) }, isError: true });
      else throw outcome;
    }
    const [first] = results;
    if (!isRows && first !== undefined) return { ...first, result: { ...first.result, credits_left } };
    const result = {
      rows: results.map((one) => one.result),
      failed: results.filter((one) => one.isError).length,
      complete: results.every((one) => one.result.complete === true),
      charged: chargedOf(outcomes),
      credits_left,
    };
    return { result, isError: false };
  }

  /** Joins a run for the same, if there is one. Otherwise looks for what is stored, asks the person, and buys. */
  async function follow(errand: Errand, caller: Caller, tell: Tell): Promise<Came> {
    const { mark = '', action } = caller.answer ?? {};
    // An answer is valid once, and only for what was asked.
    const isAnswered = questions.get(mark) === errand.name && questions.delete(mark);
    if (isAnswered && action !== 'accept') throw toDeclined();
    const find = () => (errand.again || isAnswered ? undefined : joinable.get(errand.name));
    let run = find();
    while (run?.stop.signal.aborted && !isClosed) {
      // That run is ending, and storing what arrived. After that it can be continued.
      await run.done.catch(() => undefined);
      run = find();
    }
    const { tellers, stop, done } = run ?? begin(errand, confirm && !isAnswered ? caller : undefined);
    tellers.add(tell);
    // When the last caller gives up, the run is stopped.
    const leave = (): void => {
      if (tellers.delete(tell) && tellers.size === 0) stop.abort('interrupted');
    };
    caller.signal.addEventListener('abort', leave, { once: true });
    if (caller.signal.aborted) leave();
    try {
      return await done;
    } finally {
      caller.signal.removeEventListener('abort', leave);
      tellers.delete(tell);
    }
  }

  function begin(errand: Errand, asker: Caller | undefined): Run {
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
      return await buy({ connection, context: own, spending: limit }, errand, tell, asker);
    }).finally(() => {
      all.delete(run);
      if (joinable.get(errand.name) === run) joinable.delete(errand.name);
    });
    const run: Run = { done, tellers, stop };
    all.add(run);
    if (!errand.again) joinable.set(errand.name, run);
    return run;
  }

  async function buy(buyer: Buyer, errand: Errand, tell: Tell, asker: Caller | undefined): Promise<Came> {
    // If a limit refuses many, this is found before the first is bought.
    const looksFirst = asker !== undefined || (errand.isRows && buyer.spending !== undefined);
    let settled = await settleAll(buyer, errand, !looksFirst, tell);
    const unbought = settled.filter((one) => 'worst' in one);
    if (unbought.length > 0) {
      const toCount = sumOf(unbought.filter(({ isCounted }) => !isCounted));
      if (buyer.spending !== undefined) await checkCovered(buyer, toCount, await glanceAtBalance(buyer));
      const question = asker && (await ask(asker, errand, sumOf(unbought)));
      if (question !== undefined) return { question };
      settled = await settleAll(buyer, errand, true, tell);
    }
    const outcomes = settled as Outcome[];
    const isBought = outcomes.some((one) => !(one instanceof LeadpipeError) && one.charged !== 'no');
    return { outcomes, creditsLeft: isBought ? await glanceAtBalance(buyer) : undefined };
  }

  /** Throws where the person does not agree, or can't be asked. Returns the question where the client must ask it by itself. */
  async function ask({ canAsk, elicit }: Caller, { what, name }: Errand, worst: WorstCase) {
    if (!canAsk) {
      const words =
        "this server asks the person before it buys, and this client can't ask; nothing was bought";
      throw refused(words, 'confirmation_unavailable');
    }
    const cost =
      worst.credits === null
        ? `It is not known what it costs: the setting ${worst.setting} is not set.`
        : `It costs at most ${countOf(worst.credits, 'credit')}.`;
    const params = {
      message: `Buy this? ${toTerminalText(what)}\n${cost}`,
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

  async function toResult(
    tool: PaidRow,
    args: Arguments,
    bought: Bought,
    signal: AbortSignal,
  ): Promise<PaidResult> {
    const { operationId, charged, facts, answer, error, hasBrought } = bought;
    const lines = answer === undefined ? [] : ((await tool.warningsOf?.(args, answer)) ?? []);
    const warnings = [...(bought.warnings ?? []), ...lines];
    const result = {
      ...(await toRecords(tool, args.show, bought, signal)),
      complete: error === undefined,
      charged,
      operation_id: operationId,
      ...facts,
      warnings: warnings.length === 0 ? undefined : warnings,
      error: error && describe(error),
    };
    return { result, isError: error !== undefined && !hasBrought };
  }

  async function toRecords(
    { records: name, kind }: PaidRow,
    show: number,
    { operationId = '', answer, unkept }: Bought,
    signal: AbortSignal,
  ): Promise<Result> {
    if (name === undefined) return { answer: answer && toAgentValue(answer) };
    const toList = (records: readonly string[], count: number): Result => ({
      [name]: records.map(toAgentValue),
      count,
      next: records.length < count ? records.length : undefined,
    });
    // If nothing is stored, what is not shown now is lost.
    if (unkept !== undefined) return toList(unkept, unkept.length);
    if (kind === 'extract' && answer !== undefined) {
      const items = await kinds.extract.recordsOf(answer, signal);
      // rule: extract.echo, extract.instruction-echo, extract.limit-echo
      const metadata = new JsonView(answer).member('metadata');
      return { ...toList(items.slice(0, show), items.length), metadata: metadata && toAgentValue(metadata) };
    }
    const { state } = context.directories;
    const first = await readOperation(state, operationId);
    const stored = readStored(state, first === undefined ? [] : await readChainFrom(state, first), signal);
    const { records = [], count = 0 } = (await readSome(stored, 0, show)) ?? {};
    return toList(records, count);
  }

  return {
    call,
    /** Stops what is running, as Ctrl-C does. Resolves when what arrived has been stored. */
    async close(): Promise<void> {
      isClosed = true;
      for (const { stop } of all) stop.abort(context.signal.aborted ? context.signal.reason : 'interrupted');
      await Promise.allSettled([...all].map(({ done }) => done));
    },
  };
}

/** Each row has its own error. After an error that concerns all rows, the others are not tried. */
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
    const details = { type, charged: 'no', retryable: false, facts } as const;
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

/** Pure: what all of them together cost. */
function chargedOf(outcomes: readonly Outcome[]) {
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

function toDeclined(): LeadpipeError {
  const words = 'the person did not agree to this purchase; nothing was bought';
  return refused(words, 'declined', 'Ask the person what to do instead.');
}

function refused(words: string, type: string, hint?: string): LeadpipeError {
  return new LeadpipeError('credits', words, { type, charged: 'no', hint });
}
