import { type ErrorType, errorRows } from '../../src/contract/error-types.ts';
import type { Problems } from './checks.ts';
import { type Expectation, type Row, sampleOf, toExpected } from './row.ts';
import { type Answer, MissingKey, RowError, type ServiceOptions, TestedService } from './service.ts';
import { envelope, flawsOf, memberOf, quoted } from './shapes.ts';

/** Sends the requests of rows to a service, and compares the answers with what the rows expect. */

/** `skipped`: the service does not offer this, or there is no key for it. */
type Verdict = 'passed' | 'failed' | 'skipped';

export interface RowResult {
  readonly row: string;
  readonly rule: string;
  readonly result: Verdict;
  readonly got: string;
  readonly requestId: string | null;
}

const maxGot = 400;

/**
 * Runs rows one after the other, and yields the result of each. Rows that got 503 come last, since an answer to a later
 * row can prove that the 503 was wrong. Throws when the service can't be reached or refuses the main key: then no row
 * says anything.
 */
export async function* runRows(rows: readonly Row[], options: ServiceOptions): AsyncGenerator<RowResult> {
  const service = new TestedService(options);
  const { status } = await service.send({ endpoint: 'balance' });
  if (status === 401 || status === 403) throw new Error(`the service refuses the main API key: ${status}`);
  const unavailable: [Row, Answer][] = [];
  for (const row of rows) {
    const result = await judge(row, service);
    if ('status' in result) unavailable.push([row, result]);
    else yield result;
  }
  for (const [row, answer] of unavailable) {
    yield service.isEnabled(answer.request)
      ? toResult(row, 'failed', '503, although the same was answered otherwise in this run', answer)
      : toResult(row, 'skipped', '503: not enabled here', answer);
  }
}

/** Returns the answer where it says that this is not enabled. */
async function judge(row: Row, service: TestedService): Promise<RowResult | Answer> {
  const { does } = row;
  service.last = undefined;
  try {
    const problems: string[] = [];
    if (typeof does === 'function') problems.push(...(await does(service)));
    else {
      for (const [request, expect] of does) {
        service.last = await sampleOf(request).take(service);
        problems.push(...problemsOf(service.last, expect));
      }
    }
    const answer = service.last;
    const summary = [answer?.status, answer && documentedType(answer)].filter(Boolean).join(' ');
    if (problems.length === 0) return toResult(row, 'passed', summary, answer);
    const more = problems.length > 3 ? `; and ${problems.length - 3} more` : '';
    return toResult(row, 'failed', `${summary}: ${problems.slice(0, 3).join('; ')}${more}`, answer);
  } catch (error) {
    if (error instanceof MissingKey) return toResult(row, 'skipped', error.message);
    if (!(error instanceof RowError)) throw error;
    const { answer, message } = error;
    return answer !== undefined && isNotEnabled(answer) ? answer : toResult(row, 'failed', message, answer);
  }
}

function toResult({ id, rule }: Row, result: Verdict, got: string, answer?: Answer): RowResult {
  const requestId = answer?.headers.get('x-request-id') ?? null;
  return { row: id, rule, result, got: got.slice(0, maxGot), requestId };
}

/** What is wrong with an answer. Throws RowError when it has another status. */
export function problemsOf(answer: Answer, expectation: Expectation): Problems {
  const { status, check } = toExpected(expectation);
  if (!status.includes(answer.status))
    throw new RowError(`${answer.status} instead of ${status.join(' or ')}`, answer);
  const problems = check?.(answer) ?? [];
  if (answer.status < 400) return problems;
  const types = errorRows.filter((one) => status.includes(one.status)).map(({ type }) => type);
  return [...flawsOf(envelope, answer.json), ...wrongType(types, answer), ...problems];
}

/**
 * The place of the type in the envelope is not documented: any member where types usually are will do, and an envelope
 * without a type breaks nothing. But a documented type that belongs to another error does, and so does an unknown type
 * in the one place that is named for it.
 */
function wrongType(types: readonly ErrorType[], answer: Answer): Problems {
  if (candidates(answer).some((type) => types.some((one) => one === type))) return [];
  const claimed = documentedType(answer) ?? memberOf(answer.json, 'error.type');
  if (typeof claimed !== 'string') return [];
  return [`the error type is ${quoted(claimed)} instead of ${types.join(' or ')}`];
}

function candidates({ json }: Answer): unknown[] {
  const members = ['type', 'code', 'error_type', 'name', 'status'];
  return ['error.', ''].flatMap((place) => members.map((member) => memberOf(json, place + member)));
}

function documentedType(answer: Answer): ErrorType | undefined {
  if (answer.status < 400) return undefined;
  return candidates(answer).flatMap((one) => errorRows.filter(({ type }) => type === one))[0]?.type;
}

/** Without the error envelope, a 503 may come from a proxy. */
function isNotEnabled(answer: Answer): boolean {
  if (answer.status !== 503 || flawsOf(envelope, answer.json).length > 0) return false;
  return (documentedType(answer) ?? 'service_unavailable') === 'service_unavailable';
}
