import type { InputRequiredResult } from '@modelcontextprotocol/server';
import type { Context } from '../context.ts';
import { LeadpipeError } from '../errors.ts';
import { JsonView } from '../json/text.ts';
import { readChainFrom } from '../operations/journal/chain.ts';
import { readOperation } from '../operations/journal/stored.ts';
import { kinds } from '../operations/kinds.ts';
import { wireNames } from '../requests/within-limits.ts';
import { toAgentValue } from './agent-json.ts';
import type { Bought, Wanted } from './buying.ts';
import type { Tell } from './progress.ts';
import { type Caller, chargedOf, createRuns } from './runs.ts';
import { readSome, readStored } from './stored.ts';
import type { Arguments, McpOptions, PaidRow, Result } from './tool.ts';

interface PaidResult {
  readonly result: Result;
  readonly isError: boolean;
}

export function createPaidCalls(context: Context, options: McpOptions) {
  const { follow, close } = createRuns(context, options);

  /** Runs a call of a paid tool; one with `rows` is a call for each of them. Throws LeadpipeError. */
  async function call(
    tool: PaidRow,
    args: Arguments,
    caller: Omit<Caller, 'tell'>,
    tellOf: (total: number | undefined) => Tell,
  ): Promise<PaidResult | { readonly question: InputRequiredResult }> {
    const { kind, records, row = '' } = tool;
    const rows = args.rows as readonly string[] | undefined;
    const isRows = rows !== undefined;
    const each = rows?.map((text) => ({ ...args, [row]: text })) ?? [args];
    /** Rows that ask for the same are bought once. */
    const wanted = new Map<string, Wanted>();
    const names: string[] = [];
    for (const one of each) {
      try {
        const body = await tool.toBody(one, wireNames);
        names.push(JSON.stringify(body));
        wanted.set(names.at(-1) ?? '', { kind, body, onlyNew: args.only_new === true });
      } catch (error) {
        throw isRows && error instanceof LeadpipeError
          ? error.with({}, `row ${names.length + 1}: ${error.words}`)
          : error;
      }
    }
    const about = tool.about(each[0] ?? args);
    const what = isRows ? `${wanted.size} look-ups, the first of them: ${about}` : about;
    const errand = { wanted: [...wanted.values()], again: args.again === true, isRows, what };
    const tell = tellOf(isRows ? wanted.size : records === 'leads' ? args.limit : undefined);
    const came = await follow(errand, { ...caller, tell });
    if ('question' in came) return came;
    const { outcomes, creditsLeft: credits_left } = came;
    const outcomeOf = new Map([...wanted.keys()].map((name, at) => [name, outcomes[at]]));
    const results: PaidResult[] = [];
    for (const [at, one] of each.entries()) {
      const outcome = outcomeOf.get(names[at] ?? '') as Bought | LeadpipeError;
      if (outcome instanceof LeadpipeError && !isRows) throw outcome;
      results.push(await toResult(tool, one, outcome, caller.signal));
    }
    const [first] = results;
    if (!isRows && first !== undefined)
      return { result: { ...first.result, credits_left }, isError: first.isError };
    const all = {
      rows: results.map((one) => one.result),
      failed: results.filter((one) => one.isError).length,
      complete: results.every((one) => one.result.complete === true),
      charged: chargedOf(outcomes),
      credits_left,
    };
    return { result: all, isError: false };
  }

  async function toResult(
    tool: PaidRow,
    args: Arguments,
    bought: Bought | LeadpipeError,
    signal: AbortSignal,
  ): Promise<PaidResult> {
    if (bought instanceof LeadpipeError)
      return { result: { error: options.describe(bought) }, isError: true };
    const { operationId, charged, facts, answer, error, hasBrought, warnings = [] } = bought;
    const lines = answer === undefined ? [] : ((await tool.warningsOf?.(args, answer)) ?? []);
    const all = [...warnings, ...lines];
    const result = {
      ...(await toRecords(tool, args.show, bought, signal)),
      complete: error === undefined,
      charged,
      operation_id: operationId,
      ...facts,
      warnings: all.length === 0 ? undefined : all,
      error: error && options.describe(error),
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
    // Where nothing was kept, what is not shown now can't be read later.
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

  return { call, close };
}
