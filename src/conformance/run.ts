import { endpoints } from '../contract/endpoints.ts';
import { type ErrorType, errorRows as errors } from '../contract/errors.ts';
import { LeadpipeError } from '../errors.ts';
import {
  type Expectation,
  keysOf,
  noCredits,
  paidRequestsOf,
  type Row,
  type RowResult,
  sectionOf,
  type Verdict,
} from './row.ts';
import { authenticationRows, balanceRows, errorRows, foreignRows } from './sections/accounts.ts';
import { contactRows, deepSearchRows, enrichRows } from './sections/answers.ts';
import { postRows } from './sections/common.ts';
import { eventRows } from './sections/events.ts';
import { extractRows } from './sections/extract.ts';
import { fetchRows } from './sections/fetch.ts';
import { searchRows } from './sections/searches.ts';
import { settlementRows } from './sections/settlement.ts';
import { createTaskRows, runningRows, statusRows } from './sections/tasks.ts';
import {
  type Action,
  type Answer,
  NoAnswer,
  NotJudged,
  type Request,
  type ServiceOptions,
  TestedService,
} from './service.ts';
import { envelope, flawsOf, memberOf, quoted } from './shapes.ts';

/** Every row, in the order in which they run: the balance first, while nothing of this run is under way. */
export const rows: readonly Row[] = [
  balanceRows,
  settlementRows,
  runningRows,
  foreignRows,
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
  /** Only rows that cost nothing. */
  readonly free: boolean;
  /** What may be spent, with what a request costs at most; absent = as much as the rows need. */
  readonly budget?: { readonly credits: number; readonly costOf: (request: Request) => number } | undefined;
  /** Takes the keys out of what the service sent. */
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
  let taken: ReadonlySet<Action> = new Set();
  let spent = 0;

  async function judge(row: Row): Promise<Judgement> {
    const missing = keysOf(row).find((name) => keys[name] === undefined);
    if (missing !== undefined) return { result: 'left_out', got: `needs the API key "${missing}"` };
    const takenNow = new Set(taken);
    const paid = paidRequestsOf([row], takenNow);
    if (free && paid.length > 0) return { result: 'left_out', got: 'costs credits' };
    const worst = paid.reduce((sum, request) => sum + costOf(request), 0);
    if (budget !== undefined && spent + worst > budget.credits) return { result: 'skipped', got: noCredits };
    taken = takenNow;
    spent += worst;
    const answers: Answer[] = [];
    try {
      for (const [at, step] of row.steps.entries())
        for (const answer of await service.take(step, ...answers)) {
          answers.push(answer);
          const excuse = excused(answer, row.expect);
          if (excuse !== undefined) return excuse;
          const wanted = answer.request.answered ?? [200];
          if (at < row.steps.length - 1 && !wanted.includes(answer.status))
            return failed(answer, [
              `request ${answers.length}: ${answer.status} instead of ${wanted.join(' or ')}`,
            ]);
        }
      const answer = answers.at(-1) as Answer;
      // What should have been refused may be charged.
      if (answer.status === 200 && !row.expect.status.includes(200)) spent += costOf(answer.request);
      const problems = problemsOf(row.expect, answers);
      return problems.length > 0
        ? failed(answer, problems)
        : { result: 'passed', got: toSummary(answer), answer };
    } catch (error) {
      if (error instanceof NoAnswer) return { result: 'failed', got: error.message };
      if (!(error instanceof NotJudged)) throw error;
      const { answer, message } = error;
      const excuse = answer && excused(answer, row.expect);
      return excuse ?? { result: 'failed', got: `could not be tried: ${message}`, answer };
    }
  }

  function toResult(row: Row, { result, got, answer }: Judgement): RowResult {
    const requestId = answer?.headers.get('x-request-id') ?? null;
    const { status, types = [], check } = row.expect;
    const expected = [status, types].filter(({ length }) => length > 0).map((some) => some.join(' or '));
    return {
      row: row.id,
      section: sectionOf(row),
      rule: row.rule,
      result,
      expected: expected.join(' ') + (check === undefined ? '' : ', and what the rule says'),
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
    yield toResult(row, service.isEnabled(answer.request) ? failed(answer, [contrary]) : judgement);
}

/** Asks once before all rows: without a service that answers and takes the key, hundreds of rows would fail. */
async function greet(service: TestedService): Promise<void> {
  const { status } = await service.send({ endpoint: 'balance' }).catch((error) => {
    if (!(error instanceof NoAnswer)) throw error;
    throw new LeadpipeError('temporary', `the service can't be reached: ${error.message}`, {
      charged: 'no',
      retryable: true,
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

/** What is not enabled here, or can't be paid, says nothing about the rule. */
function excused(answer: Answer, expect: Expectation): Judgement | undefined {
  const { status, request } = answer;
  if ([...expect.status, ...(request.answered ?? [])].includes(status)) return undefined;
  // An answer without the error envelope may come from a proxy, not from the service.
  if (flawsOf(envelope, answer.json).length > 0) return undefined;
  const type = documentedType(answer);
  if (status === 503 && (type ?? 'service_unavailable') === 'service_unavailable')
    return { result: 'skipped', got: '503: not enabled here', answer };
  const isPaid = endpoints[request.endpoint].method === 'POST' && (request.apiKey ?? 'main') === 'main';
  if (status === 402 && isPaid && (type ?? 'insufficient_credits') === 'insufficient_credits')
    return { result: 'skipped', got: noCredits, answer };
  return undefined;
}

function failed(answer: Answer, problems: readonly string[]): Judgement {
  const more = problems.length > 3 ? `; and ${problems.length - 3} more` : '';
  const head = problems[0]?.startsWith(String(answer.status)) ? '' : `${toSummary(answer)}: `;
  return { result: 'failed', got: `${head}${problems.slice(0, 3).join('; ')}${more}`, answer };
}

/** What the answers break. */
function problemsOf(
  { status, types = [], check }: Expectation,
  answers: readonly Answer[],
): readonly string[] {
  const answer = answers.at(-1) as Answer;
  if (!status.includes(answer.status)) return [`${answer.status} instead of ${status.join(' or ')}`];
  const problems = check?.(...answers) ?? [];
  if (answer.status < 400) return problems;
  return [...flawsOf(envelope, answer.json), ...wrongType(types, answer), ...problems];
}

/**
 * The type's place in the envelope is not documented: any member where types usually stand will do, and an
 * envelope without one breaks nothing. But a documented type that belongs to another error does, and so does
 * something undocumented in the one place that is named for it.
 */
function wrongType(types: readonly ErrorType[], answer: Answer): readonly string[] {
  const found = candidates(answer);
  if (types.length === 0 || found.some((type) => types.some((one) => one === type))) return [];
  const claimed = documentedType(answer) ?? memberOf(answer.json, 'error.type');
  if (typeof claimed !== 'string') return [];
  return [`the error type is ${quoted(claimed)} instead of ${types.join(' or ')}`];
}

function candidates({ json }: Answer): unknown[] {
  const members = ['type', 'code', 'error_type', 'name', 'status'];
  return ['error.', ''].flatMap((place) => members.map((member) => memberOf(json, place + member)));
}

function documentedType(answer: Answer): ErrorType | undefined {
  return candidates(answer).flatMap((one) => errors.filter(({ type }) => type === one))[0]?.type;
}

/** The status and, of an error, the type that was found. */
function toSummary(answer: Answer): string {
  const type = answer.status < 400 ? undefined : documentedType(answer);
  return type === undefined ? String(answer.status) : `${answer.status} ${type}`;
}
