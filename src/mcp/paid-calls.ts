import type { InputRequiredResult } from '@modelcontextprotocol/server';
import type { Context } from '../context.ts';
import { type Charged, LeadpipeError, type Outcome } from '../errors.ts';
import { type JsonText, objectMembers, objectOf } from '../json/text.ts';
import { failureOf, kinds } from '../operations/kinds.ts';
import type { Spending } from '../operations/spending.ts';
import { toTerminalText } from '../output/clean.ts';
import type { Arguments } from './arguments.ts';
import type { Asker, Confirm } from './confirmation.ts';
import { type Members, toNext } from './free-tools.ts';
import type { PaidTool } from './paid-tools.ts';
import type { Settled, Wanted } from './plan.ts';
import type { Tell } from './progress.ts';
import type { Connect, PaidCall, Purchases, Unbought } from './purchases.ts';
import { findStored, readSome } from './stored.ts';
import { type Telling, toErrorFields } from './tool-errors.ts';

/** What came of a call. */
export interface Came {
  readonly members: Members;
  readonly isError: boolean;
}

/** How a client asks. */
export interface Caller extends Pick<Asker, 'given' | 'canAsk' | 'elicit' | 'signal'> {
  /** Of `total` leads or rows, where that is known. */
  tellOf(total: number | undefined): Tell;
}

export interface PaidCallOptions extends Telling {
  readonly context: Context;
  readonly connect: Connect;
  readonly purchases: Purchases;
  readonly spending: Spending | undefined;
  /** Undefined where the person is not asked. */
  readonly confirm: Confirm | undefined;
}

/** Rows of a call that are looked up at the same time. */
const mostAtOnce = 4;
/** How long the credits that are left may take to be read. */
const patienceMs = 3000;
/** Errors that hold for the next row too. */
const general: readonly Outcome[] = [
  'authentication',
  'credits',
  'configuration',
  'local_io',
  'interrupted',
  'terminated',
];

export function createPaidCalls(options: PaidCallOptions) {
  const { context, connect, purchases, spending, confirm } = options;

  /** Runs a call of a paid tool; one with `rows` is a call for each of them. */
  return async (tool: PaidTool, args: Arguments, caller: Caller): Promise<Came | InputRequiredResult> => {
    const rows = args.rows as readonly string[] | undefined;
    const each = rows?.map((text) => ({ ...args, [tool.row ?? '']: text })) ?? [args];
    const wanted: Wanted[] = [];
    for (const one of each) {
      const body = await tool.toBody(one).catch((error: unknown) => {
        if (rows === undefined || !(error instanceof LeadpipeError)) throw error;
        throw error.with({}, `row ${wanted.length + 1}: ${error.words}`);
      });
      wanted.push({ kind: tool.kind, body, onlyNew: args.only_new === true });
    }
    const { signal } = caller;
    const again = args.again === true;
    const isMany = rows !== undefined;
    const tell = caller.tellOf(
      isMany ? rows.length : tool.records === 'leads' ? (args.limit as number) : undefined,
    );
    const settle = async (mayBuy: boolean): Promise<readonly (Settled | Unbought | LeadpipeError)[]> => {
      const calls = wanted.map((one): PaidCall => ({ wanted: one, again, mayBuy, signal, tell }));
      return isMany ? await settleRows(calls, tell) : await Promise.all(calls.map(purchases.settle));
    };
    const buy = async () => (await settle(true)) as readonly (Settled | LeadpipeError)[];
    const look = async () => {
      const found = await settle(false);
      const unbought = found.filter((one) => 'worst' in one);
      if (unbought.length === 0) return found as readonly (Settled | LeadpipeError)[];
      return { worst: await purchases.check(unbought, signal) };
    };
    let came: readonly (Settled | LeadpipeError)[] | InputRequiredResult;
    if (confirm === undefined) {
      // Many are refused before the first is bought.
      if (isMany && spending !== undefined) await look();
      came = await buy();
    } else {
      const [first = args] = each;
      const about = tool.about(first);
      const asker = {
        about: `${args.only_new}\n${tool.kind}\n${JSON.stringify(wanted.map(({ body }) => body))}`,
        isApart: again,
        what: toTerminalText(isMany ? `${rows.length} look-ups, the first of them: ${about}` : about),
        ...caller,
      };
      came = await confirm<readonly (Settled | LeadpipeError)[]>(asker, look, buy);
    }
    if (!Array.isArray(came)) return came as InputRequiredResult;
    const results: Came[] = [];
    for (const [index, outcome] of came.entries()) {
      results.push(await toResult(tool, each[index] ?? args, outcome, isMany, signal));
    }
    const charged = costOf(came);
    const credits = charged === 'no' ? undefined : await readCreditsLeft();
    const left: Members = credits === undefined ? [] : [['credits_left', credits]];
    const [{ members, isError }] = (isMany ? [toRows(results, came, charged)] : results) as [Came];
    return { members: [...members, ...left], isError };
  };

  async function settleRows(calls: readonly PaidCall[], tell: Tell) {
    const outcomes: (Settled | Unbought | LeadpipeError)[] = [];
    let next = 0;
    let done = 0;
    let stop: LeadpipeError | undefined;
    const tellRows = (): void => tell(`${done} of ${calls.length} rows`, done);
    const work = async (): Promise<void> => {
      for (let at = next++; at < calls.length; at = next++) {
        const call = { ...(calls[at] as PaidCall), tell: tellRows };
        outcomes[at] =
          stop ??
          (await purchases.settle(call).catch((error: unknown) => {
            if (!(error instanceof LeadpipeError)) throw error;
            const { type, facts, charged } = error.details;
            if (general.includes(error.outcome) && charged !== 'yes') {
              const details = {
                charged: 'no',
                retryable: false,
                ...(type && { type }),
                ...(facts && { facts }),
              } as const;
              stop ??= new LeadpipeError(error.outcome, `not sent: ${error.words}`, details);
            }
            return error;
          }));
        done++;
        tellRows();
      }
    };
    await Promise.all(Array.from({ length: mostAtOnce }, work));
    return outcomes;
  }

  /** As the tool gives it; of a row, an error is its result. */
  async function toResult(
    tool: PaidTool,
    args: Arguments,
    outcome: Settled | LeadpipeError,
    isRow: boolean,
    signal: AbortSignal,
  ): Promise<Came> {
    try {
      if (outcome instanceof LeadpipeError) throw outcome;
      return await toMembers(tool, args, outcome, signal);
    } catch (error) {
      if (!isRow || !(error instanceof LeadpipeError)) throw error;
      return { members: [['error', JSON.stringify(toErrorFields(error, options))]], isError: true };
    }
  }

  async function toMembers(
    tool: PaidTool,
    args: Arguments,
    settled: Settled,
    signal: AbortSignal,
  ): Promise<Came> {
    const { answer, error, kind } = { ...settled, kind: tool.kind };
    const isAnswer = kind !== 'search' && kind !== 'task create';
    const failure = answer !== undefined && isAnswer ? failureOf(kind, answer) : undefined;
    if (failure !== undefined) throw toStoredFailure(failure, settled);
    const lines = answer === undefined ? [] : await (tool.warningsOf?.(args, answer) ?? []);
    const warnings = [...settled.warnings, ...lines];
    const from: Record<string, unknown> = {
      complete: settled.complete,
      charged: settled.charged,
      operation_id: settled.operationId,
      request_id: settled.requestId,
      leads_search_id: settled.leadsSearchId,
      idempotency_key: kind === 'task create' ? settled.idempotencyKey : undefined,
      stop_reason: settled.stopReason,
      not_new: settled.excluded || undefined,
      stored: settled.stored || undefined,
      warnings: warnings.length === 0 ? undefined : warnings,
      error: error && toErrorFields(error, options),
    };
    const metadata = tool.records === 'items' ? objectMembers(answer ?? '').get('metadata') : undefined;
    const members: Members = [
      ...(await toRecords(tool, args.show as number, settled, signal)),
      ...(metadata === undefined ? [] : [['metadata', metadata] as const]),
      ...Object.entries(from).flatMap(([name, value]) =>
        value === undefined ? [] : [[name, JSON.stringify(value)] as const],
      ),
    ];
    return { members, isError: error !== undefined && !settled.hasBrought };
  }

  /** What came: the first of the records, or the one answer. */
  async function toRecords(
    { records: name }: PaidTool,
    show: number,
    { answer, operationId = '', unkept }: Settled,
    signal: AbortSignal,
  ): Promise<Members> {
    if (name === undefined) return answer === undefined ? [] : [['answer', answer]];
    // Where nothing was kept, what is not shown now can't be read later.
    if (unkept !== undefined) return toList(name, unkept, unkept.length);
    if (answer !== undefined) {
      const items = await kinds.extract.recordsOf(answer, signal);
      return toList(name, items.slice(0, show), items.length);
    }
    const stored = await findStored(context.directories.state, operationId);
    const { records = [], count = 0 } = (stored && (await readSome(stored, 0, show, signal))) ?? {};
    return toList(name, records, count);
  }

  /** As the service writes it; undefined where it can't be had soon. */
  async function readCreditsLeft(): Promise<JsonText | undefined> {
    const patience = new AbortController();
    const cancel = context.clock.after(patienceMs, () => patience.abort());
    try {
      const { text } = await connect(({ client }) => client.balance(patience.signal));
      return objectMembers(text).get('available_credits');
    } catch {
      return undefined;
    } finally {
      cancel();
    }
  }
}

function costOf(outcomes: readonly (Settled | LeadpipeError)[]): Charged {
  const costs = outcomes.map((one) => (one instanceof LeadpipeError ? one.details.charged : one.charged));
  return (['yes', 'maybe'] as const).find((cost) => costs.includes(cost)) ?? 'no';
}

/** Many results as one. */
function toRows(
  results: readonly Came[],
  outcomes: readonly (Settled | LeadpipeError)[],
  charged: Charged,
): Came {
  const failed = results.filter(({ isError }) => isError).length;
  const isComplete = failed === 0 && outcomes.every((one) => 'complete' in one && one.complete);
  return {
    members: [
      ['rows', `[${results.map(({ members }) => objectOf(members)).join(',')}]`],
      ['failed', String(failed)],
      ['complete', String(isComplete)],
      ['charged', JSON.stringify(charged)],
    ],
    isError: false,
  };
}

function toList(name: string, records: readonly JsonText[], count: number): Members {
  return [[name, `[${records.join(',')}]`], ['count', String(count)], ...toNext(records.length, count)];
}

/** The service finished without a result, and said so to an earlier call too. */
function toStoredFailure(failure: string, { operationId, requestId }: Settled): LeadpipeError {
  return new LeadpipeError('no_result', failure || 'finished without a result', {
    type: 'no_result',
    charged: 'no',
    retryable: false,
    hint: 'This is the stored answer of an earlier call, and cost nothing now. If the person wants to buy it again anyway, repeat the call with again: true.',
    ...(operationId === undefined ? {} : { operationId }),
    ...(requestId === undefined ? {} : { requestId }),
  });
}
