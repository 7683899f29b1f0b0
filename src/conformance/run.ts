import { LeadpipeError } from '../errors.ts';
import type { Problems } from './checks.ts';
import {
  documentedType,
  isPaid,
  noCredits,
  type Row,
  type RowResult,
  sectionOf,
  type Verdict,
} from './row.ts';
import { authenticationRows, balanceRows, errorRows } from './sections/accounts.ts';
import { postRows } from './sections/common.ts';
import { createTaskRows } from './sections/create-task.ts';
import { eventRows } from './sections/events.ts';
import { extractRows } from './sections/extract.ts';
import { contactRows, deepSearchRows, enrichRows } from './sections/lookups.ts';
import { searchRows } from './sections/searches.ts';
import { settlementRows } from './sections/settlement.ts';
import { fetchRows, runningRows, statusRows } from './sections/tasks.ts';
import { type Answer, type Request, RowError, type ServiceOptions, TestedService } from './service.ts';
import { envelope, flawsOf } from './shapes.ts';

/** All rows, in the order in which they run. The balance comes first, while nothing of this run is under way. */
export const rows: readonly Row[] = [
  balanceRows,
  settlementRows,
  runningRows,
  authenticationRows,
  postRows,
  searchRows('search'),
  eventRows,
  createTaskRows,
  statusRows,
  fetchRows,
  contactRows,
  deepSearchRows,
  enrichRows,
  extractRows,
  errorRows,
].flat();

export interface ConformanceOptions extends ServiceOptions {
  /** Only free rows. */
  readonly free: boolean;
  /** The limit, and the most that a request costs; without it, as much as the rows need. */
  readonly budget?: { readonly credits: number; readonly costOf: (request: Request) => number } | undefined;
  /** Removes the keys from what the service sent. */
  mask(text: string): string;
}

interface Judgement {
  readonly result: Verdict;
  readonly got: string;
  readonly answer?: Answer | undefined;
}

const maxGot = 400;

/**
 * Runs rows one after the other against a service, and yields what became of each; those that got 503 come last, since
 * an answer to a later row can prove that the 503 was wrong. Throws LeadpipeError when the service can't be reached or
 * refuses the main key, for then no row says anything, and when the run is stopped.
 */
export async function* runRows(rows: readonly Row[], options: ConformanceOptions): AsyncGenerator<RowResult> {
  const { mask, keys, free, budget } = options;
  const service = new TestedService(options);
  const costOf = (request: Request): number => budget?.costOf(request) ?? 0;
  /** Requests of earlier rows. */
  const sent = new Set<Request>();
  let spent = 0;

  async function judge({ keys: needed, pays, run }: Row): Promise<Judgement> {
    const missing = needed.find((name) => keys[name] === undefined);
    if (missing !== undefined) return { result: 'left_out', got: `needs the API key "${missing}"` };
    const paid = pays.filter((request) => !sent.has(request));
    if (free && paid.length > 0) return { result: 'left_out', got: 'costs credits' };
    const worst = paid.reduce((sum, request) => sum + costOf(request), 0);
    if (budget !== undefined && spent + worst > budget.credits) return { result: 'skipped', got: noCredits };
    for (const request of paid) sent.add(request);
    spent += worst;
    try {
      const problems = await run(service);
      return toJudgement(service.last as Answer, problems);
    } catch (error) {
      if (!(error instanceof RowError)) throw error;
      const { answer, message } = error;
      // A request that should have been refused may be charged.
      if (answer?.status === 200) spent += costOf(answer.request);
      return (answer && excused(answer)) ?? { result: 'failed', got: message, answer };
    }
  }

  function toResult(row: Row, { result, got, answer }: Judgement): RowResult {
    const { id, rule, expected } = row;
    const requestId = answer?.headers.get('x-request-id') ?? null;
    return {
      row: id,
      section: sectionOf(row),
      rule,
      result,
      expected,
      got: mask(got).slice(0, maxGot),
      request_id: requestId === null ? null : mask(requestId),
    };
  }

  await greet(service);
  const unavailable: [Row, Judgement, Answer][] = [];
  for (const row of rows) {
    const judgement = await judge(row);
    service.throwIfStopped();
    if (judgement.result === 'skipped' && judgement.answer?.status === 503)
      unavailable.push([row, judgement, judgement.answer]);
    else yield toResult(row, judgement);
  }
  const contrary = '503, although the same was answered otherwise in this run';
  for (const [row, judgement, answer] of unavailable)
    yield toResult(
      row,
      service.isEnabled(answer.request) ? { result: 'failed', got: contrary, answer } : judgement,
    );
}

/** Asks once before all rows: if the service did not answer, or refused the key, hundreds of rows would fail. */
async function greet(service: TestedService): Promise<void> {
  const { status } = await service.send({ endpoint: 'balance' }).catch((error) => {
    if (!(error instanceof RowError)) throw error;
    throw new LeadpipeError('temporary', `the service can't be reached: ${error.message}`, {
      charged: 'no',
      cause: error,
    });
  });
  if (status !== 401 && status !== 403) return;
  throw new LeadpipeError('authentication', `the service refuses the main API key: ${status}`, {
    hint: 'Set LEADPIPE_API_KEY to an active key with access to everything.',
    status,
    charged: 'no',
  });
}

/** A request that is not enabled here, or can't be paid, says nothing about the rule. */
function excused(answer: Answer): Judgement | undefined {
  const { status, request } = answer;
  // Without the error envelope, the answer may come from a proxy.
  if (flawsOf(envelope, answer.json).length > 0) return undefined;
  const type = documentedType(answer);
  if (status === 503 && (type ?? 'service_unavailable') === 'service_unavailable')
    return { result: 'skipped', got: '503: not enabled here', answer };
  if (status === 402 && isPaid(request) && (type ?? 'insufficient_credits') === 'insufficient_credits')
    return { result: 'skipped', got: noCredits, answer };
  return undefined;
}

/** The status, the type of an error, and the first problems. */
function toJudgement(answer: Answer, problems: Problems): Judgement {
  const type = answer.status < 400 ? undefined : documentedType(answer);
  const summary = type === undefined ? String(answer.status) : `${answer.status} ${type}`;
  if (problems.length === 0) return { result: 'passed', got: summary, answer };
  const more = problems.length > 3 ? `; and ${problems.length - 3} more` : '';
  return { result: 'failed', got: `${summary}: ${problems.slice(0, 3).join('; ')}${more}`, answer };
}
