import { type EndpointName, endpoints } from '../contract/endpoints.ts';
import { contactTypes, entityTypes } from '../contract/types.ts';
import { LeadpipeError } from '../errors.ts';
import { isObject } from '../json/object.ts';
import { documentedType, problemsOf, toSummary, toText } from './expectations.ts';
import {
  type Answer,
  type KeyName,
  NotJudged,
  noCredits,
  type Request,
  type Row,
  type RowResult,
  sectionOf,
  type Verdict,
} from './row.ts';
import { envelope } from './shapes.ts';
import { keysOf, paidRequestsOf } from './spending.ts';
import { createTestedService, take } from './tested-service.ts';
import { createWire, NoAnswer, throwIfStopped, type WireOptions } from './wire.ts';

export interface ConformanceOptions extends WireOptions {
  /** Only rows that cost nothing. */
  readonly free: boolean;
  /** Milliseconds between two polls of a task or the balance. */
  readonly pollMs: number;
  /** What may be spent, with what a request costs at most; absent = as much as the rows need. */
  readonly budget?: { readonly credits: number; readonly costOf: (request: Request) => number } | undefined;
  /** Takes the keys out of what the service sent. */
  mask(text: string): string;
}

const taskMs = 20 * 60_000;
const maxGot = 400;

/**
 * Runs rows one after the other against a service, and yields what became of each; those that got 503 come last, since
 * an answer to a later row can prove that the 503 was wrong. Throws LeadpipeError when the service can't be reached or
 * refuses the main key, for then no row says anything, and when the run is stopped.
 */
export async function* runRows(rows: readonly Row[], options: ConformanceOptions): AsyncGenerator<RowResult> {
  const { clock, signal, pollMs, mask } = options;
  const judge = createJudge(options);
  await greet(judge.send);
  const service = createTestedService({ send: judge.send, clock, signal, pollMs, taskMs });
  const unavailable: [Row, Judgement, Answer][] = [];
  const toResult = (row: Row, { result, got, requestId }: Judgement): RowResult => ({
    row: row.id,
    section: sectionOf(row),
    rule: row.rule,
    result,
    expected: toText(row.expect),
    got: mask(got).slice(0, maxGot),
    request_id: requestId === null ? null : mask(requestId),
  });
  for (const row of rows) {
    const judgement = await judge.judge(service, row);
    throwIfStopped(signal);
    if (judgement.away === undefined) yield toResult(row, judgement);
    else unavailable.push([row, judgement, judgement.away]);
  }
  for (const [row, judgement, answer] of unavailable) {
    const contrary = judge.isEnabled(answer.request);
    yield toResult(
      row,
      contrary ? failed(answer, ['503, although the same was answered otherwise in this run']) : judgement,
    );
  }
}

/** Asks once before all rows: without a service that answers and takes the key, hundreds of rows would fail. */
async function greet(send: (request: Request) => Promise<Answer>): Promise<void> {
  try {
    const { status } = await send({ endpoint: 'balance' });
    if (status === 401 || status === 403) {
      throw new LeadpipeError('authentication', `the service refuses the main API key: ${status}`, {
        hint: 'Set LEADPIPE_API_KEY to an active key with access to everything.',
        status,
        charged: 'no',
      });
    }
  } catch (error) {
    if (!(error instanceof NoAnswer)) throw error;
    throw new LeadpipeError('temporary', `the service can't be reached: ${error.message}`, {
      charged: 'no',
      retryable: true,
      cause: error,
    });
  }
}

interface Judgement {
  readonly result: Verdict;
  readonly got: string;
  readonly requestId: string | null;
  /** The 503 for which the row is skipped. */
  readonly away?: Answer;
}

function createJudge(options: ConformanceOptions) {
  const { keys, free, budget } = options;
  const wire = createWire(options);
  /** What answered other than with 503: operations, and with them the types that are enabled one by one. */
  const enabled = new Set<string>();
  const taken = new Set<string>();
  let spent = 0;

  async function send(request: Request): Promise<Answer> {
    const answer = await wire(request);
    // A replay or a conflict comes from an earlier request that was admitted.
    if ([200, 402, 409].includes(answer.status)) for (const name of namesOf(request)) enabled.add(name);
    return answer;
  }

  async function judge(service: ReturnType<typeof createTestedService>, row: Row): Promise<Judgement> {
    const missing = keysOf(row).find((name: KeyName) => keys[name] === undefined);
    if (missing !== undefined) return toJudgement('left_out', `needs the API key "${missing}"`);
    const paid = free ? paidRequestsOf([row]) : paidRequestsOf([row], taken);
    if (free && paid.length > 0) return toJudgement('left_out', 'costs credits');
    const worst = budget === undefined ? 0 : paid.reduce((sum, request) => sum + budget.costOf(request), 0);
    if (budget !== undefined && spent + worst > budget.credits) return toJudgement('skipped', noCredits);
    spent += worst;
    const earlier: Answer[] = [];
    try {
      for (const step of row.before ?? []) {
        for (const answer of await take(service, step, earlier)) {
          earlier.push(answer);
          const away = excused(answer, row);
          if (away !== undefined) return away;
          const wanted = answer.request.answered ?? [200];
          if (!wanted.includes(answer.status)) {
            const what = `request ${earlier.length}: ${answer.status} instead of ${wanted.join(' or ')}`;
            return failed(answer, [what]);
          }
        }
      }
      const answers = await take(service, row.request, earlier);
      const answer = answers.at(-1) as Answer;
      for (const one of answers) {
        const away = excused(one, row);
        if (away !== undefined) return away;
      }
      // What should have been refused may be charged.
      if (answer.status === 200 && !row.expect.status.includes(200))
        spent += budget?.costOf(answer.request) ?? 0;
      const problems = problemsOf(row.expect, answer, [...earlier, ...answers.slice(0, -1)]);
      if (problems.length > 0) return failed(answer, problems);
      return toJudgement('passed', toSummary(answer), answer);
    } catch (error) {
      if (error instanceof NotJudged) {
        const away = error.answer === undefined ? undefined : excused(error.answer, row);
        return away ?? toJudgement('failed', `could not be tried: ${error.message}`, error.answer);
      }
      if (error instanceof NoAnswer) return toJudgement('failed', error.message);
      throw error;
    }
  }

  return { send, judge, isEnabled: (request: Request) => enabled.has(namesOf(request).at(-1) as string) };
}

/** The operation, and the type in it that is enabled by itself. */
function namesOf({ endpoint, body }: Request): string[] {
  const { entity_type, contact_type } = (isObject(body) ? body : {}) as Record<string, unknown>;
  const type = [...entityTypes, ...contactTypes].find((one) => one === (entity_type ?? contact_type));
  return type === undefined ? [endpoint] : [endpoint, `${endpoint} ${type}`];
}

/** What is not enabled here, or can't be paid, says nothing about the rule. */
function excused(answer: Answer, { expect }: Row): Judgement | undefined {
  const { status, request } = answer;
  if (expect.status.includes(status) || (request.answered ?? []).includes(status)) return undefined;
  // An answer without the error envelope may come from a proxy, not from the service.
  if (envelope(answer.json, '$').length > 0) return undefined;
  const type = documentedType(answer);
  if (status === 503 && (type === undefined || type === 'service_unavailable'))
    return { ...toJudgement('skipped', '503: not enabled here', answer), away: answer };
  const isPaid = endpoints[request.endpoint satisfies EndpointName].method === 'POST';
  const isMain = (request.apiKey ?? 'main') === 'main';
  if (status === 402 && isPaid && isMain && (type === undefined || type === 'insufficient_credits'))
    return toJudgement('skipped', noCredits, answer);
  return undefined;
}

function toJudgement(result: Verdict, got: string, answer?: Answer): Judgement {
  return { result, got, requestId: answer?.headers.get('x-request-id') ?? null };
}

function failed(answer: Answer, problems: readonly string[]): Judgement {
  const more = problems.length > 3 ? `; and ${problems.length - 3} more` : '';
  const [first = ''] = problems;
  const head = first.startsWith(String(answer.status)) ? '' : `${toSummary(answer)}: `;
  return toJudgement('failed', `${head}${problems.slice(0, 3).join('; ')}${more}`, answer);
}
