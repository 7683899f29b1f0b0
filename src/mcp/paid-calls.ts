import { randomUUID } from 'node:crypto';
import {
  type CallToolResult,
  type ElicitRequestFormParams,
  type InputRequiredResult,
  inputRequired,
} from '@modelcontextprotocol/server';
import type { Context } from '../context.ts';
import { LeadpipeError } from '../errors.ts';
import { type JsonText, JsonView } from '../json/text.ts';
import type { Buyer } from '../operations/buyer.ts';
import { createJournals } from '../operations/journal/journal-file.ts';
import { createReader } from '../operations/journal/operation-index.ts';
import { recordsOf } from '../operations/kinds/kinds.ts';
import { readOperation } from '../operations/known-operations.ts';
import { type Cost, missingPrice, sumOf } from '../operations/prices.ts';
import { readHistoryRecord } from '../operations/report/history.ts';
import { checkCovered, readBalanceSoon } from '../operations/reservation.ts';
import { toSpending } from '../operations/spending.ts';
import { readStored, sliceOf } from '../operations/stored-records.ts';
import { countOf } from '../operations/wording.ts';
import { toTerminalText } from '../output/clean.ts';
import { wireNames } from '../requests/within-limits.ts';
import { toAgentValue, toCallResult } from './agent-json.ts';
import { type PossibleCost, type Settled, settle, type Wanted } from './buying.ts';
import type { Report } from './progress.ts';
import type { Arguments, McpOptions, PaidRow, Result } from './tool.ts';

export interface Caller {
  /** Aborts when the client gives up the call. */
  readonly signal: AbortSignal;
  /** Returns a function that reports progress; `total` is known for some calls. */
  readonly toReport: (total: number | undefined) => Report;
  readonly canAsk: boolean;
  /** Asks the person during the call, if the client supports that. Otherwise the result of the call asks. */
  readonly elicit: ((question: ElicitRequestFormParams) => Promise<{ readonly action: string }>) | undefined;
  /** The person's answer to a question of an earlier call, which `key` names. */
  readonly answer: { readonly key: string; readonly action: unknown } | undefined;
}

/** The order of a call. One run buys it, and other calls with the same order join this run. */
interface ToolCall {
  readonly name: string;
  /** By body, so that duplicate rows are bought only once. */
  readonly wanted: ReadonlyMap<string, Wanted>;
  /** Whether to buy it again, even if it was bought before. */
  readonly again: boolean;
  readonly isRows: boolean;
  /** In words, for the person. */
  readonly what: string;
}

type CallOutcome = Settled | LeadpipeError;
type Outcomes<One = CallOutcome> = ReadonlyMap<string, One>;
/** The outcomes of a run, or the question that the client must ask the person before the next call. */
type CallResult =
  | { readonly outcomes: Outcomes; readonly creditsLeft: number | undefined }
  | { readonly question: InputRequiredResult };

interface ActiveCall {
  readonly call: ToolCall;
  readonly done: Promise<CallResult>;
  /** The reports of all waiting calls. */
  readonly listeners: Set<Report>;
  readonly stop: AbortController;
}

/** The oldest unanswered questions are forgotten. */
const maxOpen = 1000;
/** How many rows of a call are looked up at the same time. */
const maxAtOnce = 4;
/** Errors that would happen again for the next row. */
const general = [
  'authentication',
  'credits',
  'configuration',
  'local_io',
  'interrupted',
  'terminated',
  'hung_up',
];

export function createPaidCalls(context: Context, options: McpOptions) {
  const { connect, confirm, describe } = options;
  const runs = new Set<ActiveCall>();
  /** The call of each open question, by key. */
  const questions = new Map<string, string>();
  let isClosed = false;

  /** Runs a call of a paid tool; with `rows`, one purchase per row. Throws LeadpipeError if there is no result. */
  async function call(
    tool: PaidRow,
    args: Arguments,
    caller: Caller,
  ): Promise<CallToolResult | InputRequiredResult> {
    const rows: readonly string[] | undefined = args.rows;
    const isRows = rows !== undefined;
    const each = rows?.map((text) => ({ ...args, [tool.row ?? '']: text })) ?? [args];
    const bodies: string[] = [];
    const wanted = new Map<string, Wanted>();
    for (const one of each) {
      const body = await toBody(tool, one, isRows ? `row ${bodies.length + 1}: ` : '');
      bodies.push(JSON.stringify(body));
      wanted.set(JSON.stringify(body), { kind: tool.kind, body, onlyNew: args.only_new === true });
    }
    const about = tool.about(each[0] ?? args);
    const call: ToolCall = {
      name: JSON.stringify([...wanted.values()]),
      wanted,
      again: args.again === true,
      isRows,
      what: isRows ? `${wanted.size} lookups, the first of them: ${about}` : about,
    };
    const total = isRows ? wanted.size : tool.records === 'leads' ? args.limit : undefined;
    const result = await follow(call, caller, caller.toReport(total));
    if ('question' in result) return result.question;
    const { outcomes, creditsLeft: credits_left } = result;
    const results: Result[] = [];
    let failed = 0;
    for (const [at, one] of each.entries()) {
      const outcome = outcomes.get(bodies[at] ?? '') as CallOutcome;
      const isError = outcome instanceof LeadpipeError;
      if (isError && !isRows) throw outcome;
      const hasFailed = isError || (outcome.error !== undefined && outcome.isEmpty === true);
      const result = isError
        ? { error: describe(outcome) }
        : await toResult(tool, one, outcome, caller.signal);
      if (!isRows) return toCallResult({ ...result, credits_left }, hasFailed);
      results.push(result);
      if (hasFailed) failed++;
    }
    return toCallResult({
      rows: results,
      failed,
      complete: results.every(({ complete }) => complete === true),
      charged: chargedOf([...outcomes.values()]),
      credits_left,
    });
  }

  /** Joins a run of the same call, if there is one. Otherwise looks for a stored result, asks the person, and buys. */
  async function follow(call: ToolCall, caller: Caller, report: Report): Promise<CallResult> {
    const { key = '', action } = caller.answer ?? {};
    // An answer is valid once, and only for what was asked.
    const isAnswered = questions.get(key) === call.name && questions.delete(key);
    if (isAnswered && action !== 'accept') throw toDeclined();
    // A run that is being stopped still stores its leads. The new run waits for that, and resumes it.
    const isSame = (one: ActiveCall): boolean =>
      one.call.name === call.name && !one.call.again && !one.stop.signal.aborted;
    const run = call.again || isAnswered ? undefined : [...runs].find(isSame);
    const { listeners, stop, done } = run ?? begin(call, confirm && !isAnswered ? caller : undefined);
    listeners.add(report);
    // When the last caller gives up, the run is stopped.
    const leave = (): void => {
      if (listeners.delete(report) && listeners.size === 0) stop.abort('interrupted');
    };
    caller.signal.addEventListener('abort', leave, { once: true });
    if (caller.signal.aborted) leave();
    try {
      return await done;
    } finally {
      caller.signal.removeEventListener('abort', leave);
      listeners.delete(report);
    }
  }

  function begin(call: ToolCall, asker: Caller | undefined): ActiveCall {
    const { clock, directories, ids, pid, random, zone } = context;
    const stop = new AbortController();
    if (isClosed || context.signal.aborted) stop.abort('interrupted');
    const listeners = new Set<Report>();
    const report: Report = (message, leads) => {
      for (const one of listeners) one(message, leads);
    };
    const own = { clock, directories, ids, pid, random, signal: stop.signal, zone };
    const done = connect(async (connection) => {
      options.spending ??= toSpending(undefined, connection);
      return await buy({ connection, context: own, spending: options.spending }, call, report, asker);
    }).finally(() => runs.delete(run));
    const run: ActiveCall = { call, done, listeners, stop };
    runs.add(run);
    return run;
  }

  async function buy(
    buyer: Buyer,
    call: ToolCall,
    report: Report,
    asker: Caller | undefined,
  ): Promise<CallResult> {
    // The limit is checked for all rows before the first is bought.
    const looksFirst = asker !== undefined || (call.isRows && buyer.spending !== undefined);
    let settled = await settleAll(buyer, call, !looksFirst, report);
    const unbought = [...settled.values()].filter((one) => 'worst' in one);
    if (unbought.length > 0) {
      const toCount = sumOf(unbought.flatMap(({ isCounted, worst }) => (isCounted ? [] : [worst])));
      if (buyer.spending !== undefined) {
        const costs = { is: 'once', worst: toCount } as const;
        await checkCovered(buyer, costs, await readBalanceSoon(buyer), createReader(buyer.context));
      }
      const question = asker && (await ask(asker, call, sumOf(unbought.map(({ worst }) => worst))));
      if (question !== undefined) return { question };
      settled = await settleAll(buyer, call, true, report);
    }
    const outcomes = settled as Outcomes;
    const isBought =
      chargedOf([...outcomes.values()].filter((one) => !(one instanceof LeadpipeError))) !== 'no';
    return { outcomes, creditsLeft: isBought ? await readBalanceSoon(buyer) : undefined };
  }

  /** Throws if the person declines, or can't be asked. Returns the question if the client must ask it. */
  async function ask({ canAsk, elicit }: Caller, { what, name }: ToolCall, worst: Cost) {
    if (!canAsk) {
      const words =
        "this server asks the person before it buys, and this client can't ask; nothing was bought";
      throw refused(words, 'confirmation_unavailable');
    }
    const setting = missingPrice(worst);
    const cost =
      setting !== undefined
        ? `Its price is unknown: the setting ${setting} is not set.`
        : `It costs at most ${countOf(worst.credits, 'credit')}.`;
    const params = {
      message: `Buy this? ${toTerminalText(what)}\n${cost}`,
      requestedSchema: { type: 'object', properties: {} },
    } as const;
    if (elicit === undefined) {
      const key = randomUUID();
      const [oldest = ''] = questions.keys();
      if (questions.size >= maxOpen) questions.delete(oldest);
      questions.set(key, name);
      return inputRequired({ inputRequests: { buy: inputRequired.elicit(params) }, requestState: key });
    }
    const { action } = await elicit({ mode: 'form', ...params }).catch((error: Error) => {
      const words = `this client could not ask the person: ${error.message}; nothing was bought`;
      const hint = 'The same call asks again. If that fails too, ask the person what to do.';
      throw refused(words, 'confirmation_failed', hint);
    });
    if (action !== 'accept') throw toDeclined();
    return undefined;
  }

  /** The result for the client: the records, facts from the journal, and the cost. */
  async function toResult(
    tool: PaidRow,
    args: Arguments,
    bought: Settled,
    signal: AbortSignal,
  ): Promise<Result> {
    const { answer, charged, error, operationId, stored, warnings = [] } = bought;
    const { state } = context.directories;
    // Paid results are returned even if their journal can't be read.
    const operation = await readOperation(createJournals(state), operationId ?? '').catch(() => undefined);
    const known = operation && (await readHistoryRecord(operation));
    const all = operation === undefined ? [] : readStored(operation, signal);
    const lines = answer === undefined ? [] : ((await tool.warningsOf?.(args, answer)) ?? []);
    return {
      ...(await toRecords(tool, args.show, bought, all, signal)),
      complete: error === undefined,
      charged,
      operation_id: operationId,
      stored,
      request_id: known?.request_id ?? undefined,
      leads_search_id: known?.leads_search_id ?? undefined,
      stop_reason: known?.stop_reason ?? undefined,
      not_new: known?.excluded || undefined,
      idempotency_key: tool.kind === 'task create' ? known?.idempotency_key : undefined,
      warnings: warnings.length + lines.length === 0 ? undefined : [...warnings, ...lines],
      error: error && describe(error),
    };
  }

  return {
    call,
    /** Stops what is running, as Ctrl-C does. Resolves when what arrived has been stored. */
    async close(): Promise<void> {
      isClosed = true;
      for (const { stop } of runs) stop.abort(context.signal.aborted ? context.signal.reason : 'interrupted');
      await Promise.allSettled([...runs].map(({ done }) => done));
    },
  };
}

/** Throws UsageError, which names the row. */
async function toBody(tool: PaidRow, args: Arguments, row: string): Promise<Wanted['body']> {
  try {
    return await tool.toBody(args, wireNames);
  } catch (error) {
    throw error instanceof LeadpipeError ? error.with({}, `${row}${error.words}`) : error;
  }
}

/** The first records, or the one answer. */
async function toRecords(
  { records: name, kind }: PaidRow,
  show: number,
  { answer, unrecorded }: Settled,
  stored: AsyncIterable<readonly JsonText[]> | Iterable<readonly JsonText[]>,
  signal: AbortSignal,
): Promise<Result> {
  if (name === undefined) return { answer: answer && toAgentValue(answer) };
  const items = answer && (await recordsOf(kind as 'extract', answer, signal));
  // Records that are not stored would be lost, so all are returned.
  const [all, max] =
    unrecorded === undefined ? [items ? [items] : stored, show] : [[unrecorded], unrecorded.length];
  const { records, count } = await sliceOf(all, 0, max);
  const metadata = answer && new JsonView(answer).member('metadata');
  return {
    [name]: records.map(toAgentValue),
    count,
    next: records.length < count ? records.length : undefined,
    metadata: metadata && toAgentValue(metadata),
  };
}

/** Each row has its own error. After an error that concerns all rows, the others are not tried. */
async function settleAll(
  buyer: Buyer,
  { wanted, again, isRows }: ToolCall,
  mayBuy: boolean,
  report: Report,
): Promise<Outcomes<CallOutcome | PossibleCost>> {
  const outcomes = new Map<string, CallOutcome | PossibleCost>();
  const left = wanted.entries();
  let stop: LeadpipeError | undefined;
  const failed = (error: unknown): LeadpipeError => {
    if (!(error instanceof LeadpipeError)) throw error;
    const { type = '', facts, charged } = error.details;
    if (!general.includes(error.outcome) || charged === 'yes') return error;
    const details = { type, charged: 'no', retryable: false, facts } as const;
    stop ??= new LeadpipeError(error.outcome, `not sent: ${error.words}`, details);
    return error;
  };
  const reportRows = (): void => report(`${outcomes.size} of ${wanted.size} rows`, outcomes.size);
  const terms = { again, mayBuy, report: isRows ? reportRows : report };
  const work = async (): Promise<void> => {
    for (const [body, one] of left) {
      outcomes.set(body, stop ?? (await settle(buyer, one, terms).catch(failed)));
      if (isRows) reportRows();
    }
  };
  await Promise.all(Array.from({ length: maxAtOnce }, work));
  return outcomes;
}

/** Pure: `charged` for all outcomes together. */
function chargedOf(outcomes: readonly CallOutcome[]) {
  const costs = outcomes.map((one) => (one instanceof LeadpipeError ? one.details : one).charged);
  return (['yes', 'maybe'] as const).find((cost) => costs.includes(cost)) ?? 'no';
}

function toDeclined(): LeadpipeError {
  const words = 'the person did not agree to this purchase; nothing was bought';
  return refused(words, 'declined', 'Ask the person what to do instead.');
}

function refused(words: string, type: string, hint?: string): LeadpipeError {
  return new LeadpipeError('credits', words, { type, charged: 'no', hint });
}
