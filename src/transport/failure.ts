import { type ErrorType, errorRows } from '../contract/errors.ts';
import { type Facts, StoppedError, toAdvice } from '../errors.ts';
import type { Call } from './call.ts';
import { ConnectFailure, messageOf, notTls, ProxyRefusal } from './connect-failure.ts';
import { RequestError, ServiceError } from './errors.ts';
import { SilenceError } from './exchange.ts';
import type { Fault } from './policy.ts';

const maxMessageCharacters = 500;

const unknownAnswer = 'the service answered in a way that leadpipe does not know';

/** In plain words; what the machine says about it follows. */
const words: Readonly<Record<Fault, string>> = {
  unsent: 'no connection to the service',
  proxy_credentials: 'no connection to the service',
  proxy_refused: 'no connection to the service',
  certificate: 'this machine does not accept the certificate of the service',
  not_http: 'the server at this address is not the service',
  redirect: 'the service redirects to another address',
  lost: 'the connection to the service broke',
  gateway: 'a server in front of the service answered instead',
  garbled: unknownAnswer,
  unexplained: unknownAnswer,
  undocumented: unknownAnswer,
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

/** Not the service's own refusals. */
const foreign: readonly Fault[] = ['gateway', 'garbled', 'unexplained', 'undocumented'];
/** Of these only the service's own message says what is wrong; of its other refusals it is a detail. */
const tellsMore: readonly Fault[] = [...foreign, 'invalid', 'internal_error', 'not_enabled'];

/** What is known of a request, for its errors. */
function known({ endpoint, idempotencyKey }: Call, requestId: string | undefined) {
  return { idempotencyKey, requestId, technical: `${endpoint.method} ${endpoint.path}` };
}

/** A 2xx whose body is not what the interface promises; `body` is that body, where it could be read. */
export function garbled(
  call: Call,
  what: string,
  requestId: string | undefined,
  more: { readonly cause?: unknown; readonly body?: string },
): RequestError {
  const details = { ...known(call, requestId), ...more };
  return new RequestError('garbled', call.endpoint, `the service sent ${what}`, details);
}

/**
 * What went wrong on the way, as the policy table sees it; `head` is missing until the answer has begun. `sent` says
 * whether any of the request may have left this machine.
 */
export function toFailure(
  error: unknown,
  call: Call,
  head?: { readonly requestId: string | undefined },
  sent = true,
): Error {
  const details = known(call, head?.requestId);
  if (call.signal.aborted) {
    const { technical: _, ...rest } = details;
    const isFree = call.endpoint.method === 'GET' || !sent;
    return new StoppedError(call.signal, {
      ...rest,
      ...(isFree ? { charged: 'no' } : { charged: 'maybe', facts: { is: 'in_doubt' } }),
    });
  }
  // Bytes that came and are no HTTP: they are not masked, and a program may print all that its error holds.
  if (error instanceof Error && 'data' in error) error.data = undefined;
  const fault = head === undefined ? faultOf(error, sent) : 'lost';
  const what = error instanceof Error ? messageOf(error) : String(error);
  return new RequestError(
    fault,
    call.endpoint,
    error instanceof SilenceError ? what : `${words[fault]}: ${what}`,
    { ...details, ...toAdvice(certificateHints[(error as NodeJS.ErrnoException)?.code ?? '']), cause: error },
  );
}

function faultOf(cause: unknown, sent: boolean): Fault {
  if (cause instanceof ProxyRefusal) return cause.fault;
  const {
    code = '',
    name,
    message,
  } = (cause instanceof Error ? cause : new Error()) as NodeJS.ErrnoException;
  if (/^(?:CERT_|DEPTH_ZERO|SELF_SIGNED|UNABLE_TO_|ERR_TLS_|HOSTNAME_MISMATCH|INVALID_CA)/.test(code))
    return 'certificate';
  // HTTP that can't be read is no other protocol: whoever speaks it may have done the work.
  const isOtherProtocol = name === 'HTTPParserError' && message.includes('Expected HTTP/');
  if (isOtherProtocol || notTls.test(code)) return 'not_http';
  return sent && !(cause instanceof ConnectFailure) ? 'lost' : 'unsent';
}

const clockOrRenewal =
  'If the clock of this machine is right, whoever runs the service has to renew its certificate.';
const privateAuthority: Facts = { is: 'private_authority' };

/** What to do about a certificate, by the code that Node gives its refusal; other codes have the hint of the policy. */
const certificateHints: Readonly<Record<string, string | Facts>> = {
  CERT_HAS_EXPIRED: clockOrRenewal,
  CERT_NOT_YET_VALID: clockOrRenewal,
  ERR_TLS_CERT_ALTNAME_INVALID: 'Check the address: the certificate there is for other names.',
  DEPTH_ZERO_SELF_SIGNED_CERT: privateAuthority,
  SELF_SIGNED_CERT_IN_CHAIN: privateAuthority,
  UNABLE_TO_GET_ISSUER_CERT: privateAuthority,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: privateAuthority,
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: privateAuthority,
};

interface Refused {
  readonly status: number;
  readonly location: string | undefined;
  readonly retryAfterMs: number | undefined;
  readonly body: string;
  readonly requestId: string | undefined;
}

/** An answer whose status is not 200. */
export function toRefusal(call: Call, refused: Refused): RequestError {
  const { endpoint } = call;
  const { status, location, retryAfterMs, body, requestId } = refused;
  const envelope = envelopeOf(body);
  const fault = faultOfStatus(status, call, envelope);
  const isForeign = foreign.includes(fault) || fault === 'redirect';
  const said =
    fault === 'redirect' ? (location ?? '') : (envelope?.message ?? '').slice(0, maxMessageCharacters);
  const cause = words[fault] + (fault === 'busy' ? toPatience(retryAfterMs) : '');
  const isSaid = said !== '' && (isForeign || tellsMore.includes(fault));
  const type = isForeign ? undefined : (envelope?.type ?? typeOf(status));
  const detail =
    type === undefined ? '' : ` ${type}${isSaid || said === '' || said === cause ? '' : `: ${said}`}`;
  const details = known(call, requestId);
  return new (isForeign ? RequestError : ServiceError)(
    fault,
    endpoint,
    isSaid ? `${cause}: ${said}` : cause,
    {
      ...details,
      technical: `${details.technical}: ${status}${detail}`,
      status,
      retryAfterMs,
      ...(type === undefined ? {} : { type }),
    },
  );
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

function faultOfStatus(status: number, { endpoint }: Call, envelope: ReturnType<typeof envelopeOf>): Fault {
  // Only what asks for a task can miss one: elsewhere it is the address that is wrong.
  if (status === 404 && !/\/(?:status|fetch)$/.test(endpoint.path)) return 'no_endpoint';
  // rule: common.conflict
  if (status === 409) return envelope?.type === 'idempotency_error' ? 'conflict' : 'already_exists';
  if (status === 500) return envelope === undefined ? 'gateway' : 'internal_error';
  if (status === 503) return envelope === undefined ? 'gateway' : 'not_enabled';
  if (status < 300) return 'garbled';
  if (status < 400) return 'redirect';
  return faults[status] ?? (status >= 500 ? 'unexplained' : 'undocumented');
}

/** Where the type stands is not documented, so the likely places are tried. */
// rule: errors.envelope
function envelopeOf(body: string) {
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
