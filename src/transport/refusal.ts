import { type ErrorType, errorRows } from '../contract/errors.ts';
import { type Call, known, nameOf } from './call.ts';
import { RequestError, ServiceError } from './errors.ts';
import type { Fault } from './policy.ts';

const maxMessageCharacters = 500;

/** What the error envelope says. Where its type stands is not documented, so the likely places are tried. */
interface Envelope {
  readonly message: string;
  readonly type: string | undefined;
}

interface Refused {
  readonly status: number;
  readonly location: string | undefined;
  readonly retryAfterMs: number | undefined;
  readonly body: string;
  readonly requestId: string | undefined;
}

export function toRefusal(
  call: Call,
  { status, location, retryAfterMs, body, requestId }: Refused,
): RequestError {
  const { endpoint } = call;
  const envelope = envelopeOf(body);
  const said = (envelope?.message ?? '').slice(0, maxMessageCharacters);
  const details = { status, retryAfterMs, ...known(call, requestId) };
  const technical = `${nameOf(call)}: ${status}`;
  if (status >= 300 && status < 400) {
    const target = location === undefined ? '' : `: ${location}`;
    const words = `the service redirects to another address${target}`;
    return new RequestError('redirect', endpoint, words, { ...details, technical });
  }
  // Only what asks for a task can miss one: elsewhere it is the address that is wrong.
  const isOfTask = endpoint.path.endsWith('/status') || endpoint.path.endsWith('/fetch');
  const fault = status === 404 && !isOfTask ? 'no_endpoint' : faultOf(status, envelope);
  const cause = causes[fault];
  if (cause === undefined) {
    const unknown = unknownCauses[fault] ?? 'the service answered in a way that leadpipe does not know';
    return new RequestError(fault, endpoint, said === '' ? unknown : `${unknown}: ${said}`, {
      ...details,
      technical,
    });
  }
  const words = cause + (fault === 'busy' ? toPatience(retryAfterMs) : '');
  const type = envelope?.type ?? typeOf(status);
  const isSaid = tellsMore.includes(fault) && said !== '';
  return new ServiceError(fault, endpoint, isSaid ? `${words}: ${said}` : words, {
    ...details,
    technical: `${technical} ${type}${isSaid || said === '' || said === words ? '' : `: ${said}`}`,
    type,
  });
}

/** How long the service asks to wait, where that is too long to be waited for here. */
function toPatience(retryAfterMs = 0): string {
  const seconds = Math.ceil(retryAfterMs / 1000);
  if (seconds < 1) return '';
  const [size, unit] = patience.find(([one]) => seconds >= 2 * one) ?? [1, 's'];
  return `; the service asks to wait ${Math.ceil(seconds / size)} ${unit}`;
}

/** Seconds. */
const patience: readonly (readonly [seconds: number, unit: string])[] = [
  [86_400, 'days'],
  [3600, 'hours'],
  [60, 'min'],
];

/** The service's own refusals, in plain words. */
const causes: Partial<Readonly<Record<Fault, string>>> = {
  unauthenticated: 'the service does not know this API key',
  no_credits: 'not enough credits',
  forbidden: 'this API key is not allowed to do this',
  missing: 'the service has no such task for this API key',
  no_endpoint: 'there is no such service at this address',
  already_exists: 'this request was already sent with this idempotency key',
  conflict: 'this idempotency key was used for another request',
  invalid: 'the service refused the request',
  busy: 'too many requests are running',
  internal_error: 'the service failed',
  not_enabled: 'the service does not offer this',
};

/** Of these only the service's own message says what is wrong; of the others it is a detail. */
const tellsMore: readonly Fault[] = ['invalid', 'internal_error', 'not_enabled'];

const unknownCauses: Partial<Readonly<Record<Fault, string>>> = {
  gateway: 'a server in front of the service answered instead',
};

/** Statuses that mean one thing, whatever comes with them. */
// rule: auth.unknown, auth.scopes, auth.revoked, task.owner, fetch.not-found
const faults: Readonly<Record<number, Fault>> = {
  401: 'unauthenticated',
  402: 'no_credits',
  403: 'forbidden',
  404: 'missing',
  422: 'invalid',
  429: 'busy',
  502: 'gateway',
  504: 'gateway',
};

function faultOf(status: number, envelope: Envelope | undefined): Fault {
  // rule: common.conflict
  if (status === 409) return envelope?.type === 'idempotency_error' ? 'conflict' : 'already_exists';
  if (status === 500) return envelope === undefined ? 'gateway' : 'internal_error';
  if (status === 503) return envelope === undefined ? 'gateway' : 'not_enabled';
  if (status < 300) return 'garbled';
  return faults[status] ?? (status >= 500 ? 'unexplained' : 'undocumented');
}

// rule: errors.envelope
function envelopeOf(body: string): Envelope | undefined {
  let value: unknown;
  try {
    value = JSON.parse(body);
  } catch {
    return undefined;
  }
  const outer = value as {
    error?: { message?: unknown; type?: unknown; code?: unknown };
    type?: unknown;
  } | null;
  const error = outer?.error;
  if (typeof error !== 'object' || error === null || typeof error.message !== 'string') return undefined;
  const type = [error.type, error.code, outer?.type].find((one) => typeof one === 'string');
  return { message: error.message, type: (type as string | undefined)?.slice(0, 100) };
}

function typeOf(status: number): ErrorType | 'unknown' {
  const rows = errorRows.filter((row) => row.status === status);
  return rows.length === 1 && rows[0] !== undefined ? rows[0].type : 'unknown';
}
