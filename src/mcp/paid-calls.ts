import type { InputRequiredResult } from '@modelcontextprotocol/server';
import type { Context } from '../context.ts';
import { type Charged, LeadpipeError } from '../errors.ts';
import { type JsonText, objectMembers, objectOf } from '../json/text.ts';
import { failureOf, kinds } from '../operations/kinds.ts';
import type { Spending } from '../operations/spending.ts';
import { toTerminalText } from '../output/clean.ts';
import type { Wanted } from './buying.ts';
import type { Asker, Confirm } from './confirmation.ts';
import type { Tell } from './progress.ts';
import type { Bought, Connect, PaidCall, Purchases, Unbought } from './purchases.ts';
import { findStored, readSome } from './stored.ts';
import { type Arguments, type Buys, type Members, toNext } from './tool.ts';
import { type Telling, toErrorFields } from './tool-errors.ts';

type Outcome = Bought | LeadpipeError;

export interface Came {
  readonly members: Members;
  readonly isError: boolean;
}

export interface Caller extends Pick<Asker, 'given' | 'canAsk' | 'elicit' | 'signal'> {
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
const general: readonly LeadpipeError['outcome'][] = [
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
  return async (tool: Buys, args: Arguments, caller: Caller): Promise<Came | InputRequiredResult> => {
    const { signal } = caller;
    const again = args.again === true;
    const rows = args.rows as readonly string[] | undefined;
    const each = rows?.map((text) => ({ ...args, [tool.row ?? '']: text })) ?? [args];
    /** Rows that ask for the same are bought once. */
    const wanted = new Map<string, Wanted>();
    const names: string[] = [];
    for (const [index, one] of each.entries()) {
      const body = await tool.toBody(one).catch((error: unknown) => {
        const isOfRow = rows !== undefined && error instanceof LeadpipeError;
        throw isOfRow ? error.with({}, `row ${index + 1}: ${error.words}`) : error;
      });
      const onlyNew = args.only_new === true;
      const name = JSON.stringify([tool.kind, onlyNew, body]);
      wanted.set(name, { name, kind: tool.kind, body, onlyNew });
      names.push(name);
    }
    const isLeads = tool.records === 'leads';
    const tell = caller.tellOf(
      rows === undefined ? (isLeads ? (args.limit as number) : undefined) : wanted.size,
    );
    const settle = async (mayBuy: boolean): Promise<readonly (Outcome | Unbought)[]> => {
      const calls = [...wanted.values()].map((one) => ({ wanted: one, again, mayBuy, signal, tell }));
      return rows === undefined ? await Promise.all(calls.map(purchases.settle)) : await settleRows(calls);
    };
    const buy = async () => (await settle(true)) as readonly Outcome[];
    const look = async () => {
      const found = await settle(false);
      const unbought = found.filter((one) => 'worst' in one);
      if (unbought.length === 0) return found as readonly Outcome[];
      return { worst: await purchases.check(unbought, signal) };
    };
    const toAsker = (): Asker => {
      const about = tool.about(each[0] ?? args);
      return {
        about: [...wanted.keys()].join(),
        isApart: again,
        what: toTerminalText(
          rows === undefined ? about : `${wanted.size} look-ups, the first of them: ${about}`,
        ),
        ...caller,
      };
    };
    // Many are refused before the first is bought.
    if (confirm === undefined && rows !== undefined && spending !== undefined) await look();
    const came = confirm === undefined ? await buy() : await confirm(toAsker(), look, buy);
    if ('inputRequests' in came) return came;
    const outcomes = came as readonly Outcome[];
    const results: Came[] = [];
    for (const [index, name] of names.entries()) {
      const outcome = outcomes[[...wanted.keys()].indexOf(name)] as Outcome;
      const result = toResult(tool, each[index] ?? args, outcome, signal);
      results.push(await (rows === undefined ? result : result.catch(toFailed)));
    }
    const costs = outcomes.map((one) => (one instanceof LeadpipeError ? one.details : one).charged);
    const charged = (['yes', 'maybe'] as const).find((cost) => costs.includes(cost)) ?? 'no';
    const credits = charged === 'no' ? undefined : await readCreditsLeft();
    const left: Members = credits === undefined ? [] : [['credits_left', credits]];
    const { members, isError } = rows === undefined ? (results[0] as Came) : toRows(results, charged);
    return { members: [...members, ...left], isError };
  };

  async function settleRows(calls: readonly PaidCall[]): Promise<readonly (Outcome | Unbought)[]> {
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
    const work = async (): Promise<void> => {
      for (let at = next++; at < calls.length; at = next++) {
        const call = calls[at] as PaidCall;
        const tell = (): void => call.tell(`${done} of ${calls.length} rows`, done);
        outcomes[at] = stop ?? (await purchases.settle({ ...call, tell }).catch(failed));
        done++;
        tell();
      }
    };
    await Promise.all(Array.from({ length: mostAtOnce }, work));
    return outcomes;
  }

  /** An error is the result of its row. */
  function toFailed(error: unknown): Came {
    if (!(error instanceof LeadpipeError)) throw error;
    return { members: [['error', JSON.stringify(toErrorFields(error, options))]], isError: true };
  }

  /** Throws what came in place of a result. */
  async function toResult(tool: Buys, args: Arguments, settled: Outcome, signal: AbortSignal): Promise<Came> {
    if (settled instanceof LeadpipeError) throw settled;
    const { kind } = tool;
    const { answer, error } = settled;
    const isAnswer = kind !== 'search' && kind !== 'task create';
    const failure = answer !== undefined && isAnswer ? failureOf(kind, answer) : undefined;
    if (failure !== undefined) throw toStoredFailure(failure, settled);
    const lines = answer === undefined ? [] : await (tool.warningsOf?.(args, answer) ?? []);
    const warnings = [...settled.warnings, ...lines];
    const from: Record<string, unknown> = {
      complete: settled.complete,
      charged: settled.charged,
      operation_id: settled.operationId,
      ...settled.facts,
      warnings: warnings.length === 0 ? undefined : warnings,
      error: error && toErrorFields(error, options),
    };
    // rule: extract.echo, extract.instruction-echo, extract.limit-echo
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

  async function toRecords(
    { records: name }: Buys,
    show: number,
    { answer, operationId = '', unkept }: Bought,
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

function toRows(results: readonly Came[], charged: Charged): Came {
  const isWhole = ({ members, isError }: Came): boolean =>
    !isError && members.some(([name, value]) => name === 'complete' && value === 'true');
  return {
    members: [
      ['rows', `[${results.map(({ members }) => objectOf(members)).join(',')}]`],
      ['failed', String(results.filter(({ isError }) => isError).length)],
      ['complete', String(results.every(isWhole))],
      ['charged', JSON.stringify(charged)],
    ],
    isError: false,
  };
}

function toList(name: string, records: readonly JsonText[], count: number): Members {
  return [[name, `[${records.join(',')}]`], ['count', String(count)], ...toNext(records.length, count)];
}

/** The service finished without a result, and said so to an earlier call too. */
function toStoredFailure(failure: string, { operationId, facts }: Bought): LeadpipeError {
  return new LeadpipeError('no_result', failure || 'finished without a result', {
    type: 'no_result',
    charged: 'no',
    retryable: false,
    hint: 'This is the stored answer of an earlier call, and cost nothing now. If the person wants to buy it again anyway, repeat the call with again: true.',
    ...(operationId === undefined ? {} : { operationId }),
    ...(facts.request_id === undefined ? {} : { requestId: facts.request_id as string }),
  });
}
