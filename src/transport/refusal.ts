import { type ErrorType, errorRows } from '../contract/errors.ts';
import { RequestError, ServiceError } from './errors.ts';
import type { Fault } from './policy.ts';
import type { Call } from './request.ts';

const maxMessageCharacters = 500;

/** What the error envelope says. Where its type stands is not documented, so the likely places are tried. */
interface Envelope {
  readonly message: string;
  readonly type: string | undefined;
}

/** Which fault an answer other than 200 is. */
export function toRefusal(
  call: Call,
  status: number,
  {
    location,
    retryAfterMs,
  }: { readonly location: string | undefined; readonly retryAfterMs: number | undefined },
  body: string,
  requestId: string | undefined,
): RequestError {
  const { endpoint } = call;
  const name = `${endpoint.method} ${endpoint.path}`;
  const envelope = envelopeOf(body);
  const details = {
    status,
    retryAfterMs,
    ...(requestId === undefined ? {} : { requestId }),
    ...(call.idempotencyKey === undefined ? {} : { idempotencyKey: call.idempotencyKey }),
  };
  if (status >= 300 && status < 400) {
    const target = location === undefined ? '' : ` to ${location}`;
    return new RequestError('redirect', endpoint, `${name} was redirected (${status})${target}`, details);
  }
  const fault = faultOf(status, envelope);
  const said = (envelope?.message ?? '').slice(0, maxMessageCharacters);
  if (fault === 'gateway' || fault === 'undocumented' || fault === 'unexplained' || fault === 'garbled') {
    const message = `${name} was answered with status ${status}, which is not the service's${said === '' ? '' : `: ${said}`}`;
    return new RequestError(fault, endpoint, message, details);
  }
  const type = envelope?.type ?? typeOf(status);
  const what = said === '' ? (errorRows.find((row) => row.status === status)?.condition ?? 'refused') : said;
  return new ServiceError(fault, endpoint, `${name} was refused (${status} ${type}): ${what}`, {
    ...details,
    type,
  });
}

function faultOf(status: number, envelope: Envelope | undefined): Fault {
  switch (status) {
    case 401:
      return 'unauthenticated';
    case 402:
      return 'no_credits';
    case 403:
      return 'forbidden';
    case 404:
      return 'missing';
    case 409:
      return envelope?.type === 'idempotency_error' ? 'conflict' : 'already_exists';
    case 422:
      return 'invalid';
    case 429:
      return 'busy';
    case 500:
      return envelope === undefined ? 'gateway' : 'internal_error';
    case 503:
      return envelope === undefined ? 'gateway' : 'not_enabled';
    case 502:
    case 504:
      return 'gateway';
    default:
      if (status >= 500) return 'unexplained';
      return status < 300 ? 'garbled' : 'undocumented';
  }
}

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
