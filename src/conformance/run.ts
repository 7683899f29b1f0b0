import { LeadpipeError } from '../errors.ts';
import { documentedType, problemsOf, toSummary, toText } from './expectations.ts';
import { envelope } from './resources.ts';
import { type Answer, type KeyName, NotJudged, type Row, sectionOf, type TestedService } from './row.ts';
import { createTestedService, take } from './tested-service.ts';
import { createWire, NoAnswer, throwIfStopped, type WireOptions } from './wire.ts';

export type Verdict = 'passed' | 'failed' | 'skipped';

export interface RowResult {
  readonly row: string;
  readonly section: string;
  readonly rule: string;
  readonly result: Verdict;
  readonly expected: string;
  readonly got: string;
  readonly request_id: string | null;
}

export interface ConformanceOptions extends WireOptions {
  /** Only rows that cost nothing. */
  readonly free: boolean;
  /** Milliseconds between two looks at a task or the balance. */
  readonly pollMs: number;
  /** Takes the keys out of what the service sent. */
  mask(text: string): string;
}

const taskMs = 20 * 60_000;
const maxGot = 400;

/**
 * Runs rows one after the other against a service, and yields what became of each. Throws LeadpipeError when the
 * service can't be reached or refuses the main key, for then no row says anything, and when the run is stopped.
 */
export async function* runRows(rows: readonly Row[], options: ConformanceOptions): AsyncGenerator<RowResult> {
  const { clock, signal, pollMs, free, keys, mask } = options;
  const send = createWire(options);
  const service = createTestedService({ send, clock, signal, pollMs, taskMs });
  await greet(service);
  for (const row of rows) {
    const { result, got, requestId } = await judge(service, row, keys, free);
    throwIfStopped(signal);
    yield {
      row: row.id,
      section: sectionOf(row),
      rule: row.rule,
      result,
      expected: toText(row.expect),
      got: mask(got).slice(0, maxGot),
      request_id: requestId === null ? null : mask(requestId),
    };
  }
}

/** Asks once before all rows: without a service that answers and takes the key, hundreds of rows would fail. */
async function greet(service: TestedService): Promise<void> {
  try {
    const { status } = await service.send({ endpoint: 'balance' });
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
}

async function judge(
  service: TestedService,
  row: Row,
  keys: Readonly<Partial<Record<KeyName, string>>>,
  free: boolean,
): Promise<Judgement> {
  const missing = row.needs?.find((name) => keys[name] === undefined);
  if (missing !== undefined) return skipped(`needs the API key "${missing}"`);
  if (free && row.costs) return skipped('costs credits');
  const earlier: Answer[] = [];
  try {
    for (const step of row.before ?? []) {
      const answer = await take(service, step, earlier);
      earlier.push(answer);
      const away = unavailable(answer, row);
      if (away !== undefined) return away;
      const wanted = row.beforeStatus ?? [200];
      if (!wanted.includes(answer.status)) {
        return failed(answer, [
          `request ${earlier.length} of ${(row.before?.length ?? 0) + 1}: ${answer.status} instead of ${wanted.join(' or ')}`,
        ]);
      }
    }
    const answer = await take(service, row.request, earlier);
    const away = unavailable(answer, row);
    if (away !== undefined) return away;
    const problems = problemsOf(row.expect, answer, earlier);
    if (problems.length > 0) return failed(answer, problems);
    return { result: 'passed', got: toSummary(answer), requestId: requestIdOf(answer) };
  } catch (error) {
    if (error instanceof NotJudged) return skipped(error.message);
    if (error instanceof NoAnswer) return { result: 'failed', got: error.message, requestId: null };
    throw error;
  }
}

/** What is not enabled here, or has no room now, says nothing about the rule. */
function unavailable(answer: Answer, { expect }: Row): Judgement | undefined {
  if (expect.status.includes(answer.status)) return undefined;
  // An answer without the error envelope may come from a proxy, not from the service.
  if (envelope(answer.json, '$').length > 0) return undefined;
  const type = documentedType(answer);
  if (answer.status === 503 && (type === undefined || type === 'service_unavailable')) {
    return skipped('503: not enabled here', answer);
  }
  if (answer.status === 429 && (type === undefined || type === 'concurrency_limit')) {
    return skipped('429: the concurrency limit is reached', answer);
  }
  return undefined;
}

function skipped(got: string, answer?: Answer): Judgement {
  return { result: 'skipped', got, requestId: answer === undefined ? null : requestIdOf(answer) };
}

function failed(answer: Answer, problems: readonly string[]): Judgement {
  const more = problems.length > 3 ? `; and ${problems.length - 3} more` : '';
  const [first = ''] = problems;
  const head = first.startsWith(String(answer.status)) ? '' : `${toSummary(answer)}: `;
  return {
    result: 'failed',
    got: `${head}${problems.slice(0, 3).join('; ')}${more}`,
    requestId: requestIdOf(answer),
  };
}

function requestIdOf({ headers }: Answer): string | null {
  return headers.get('x-request-id');
}
