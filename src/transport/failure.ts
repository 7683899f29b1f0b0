import type { Clock } from '../context.ts';
import type { Endpoint } from '../contract/endpoints.ts';
import { type ErrorType, errorRows } from '../contract/error-types.ts';
import { type Facts, isOfMemory, StoppedError, toAdvice } from '../errors.ts';
import type { Call } from './call.ts';
import { ConnectFailure, messageOf, notTls, unreadableHeads } from './connect-failure.ts';
import { type Fault, verdictOf } from './policy.ts';
import { RequestError, ServiceError } from './request-error.ts';
import { toRetryAfter } from './retry.ts';
import { SilenceError } from './time-limits.ts';

const maxMessageCharacters = 500;

/** Faults that are not documented errors of the service. */
const foreign: readonly Fault[] = ['redirect', 'gateway', 'gateway_refused', 'garbled', 'undocumented'];
/** Faults whose message needs the received text. For the others, that text is only a technical detail. */
const messageIsShown: readonly Fault[] = [
  ...foreign,
  'forbidden',
  'invalid',
  'internal_error',
  'not_enabled',
];

/** Details of a request, for its errors. */
function known({ endpoint, idempotencyKey }: Call, requestId: string | undefined) {
  return { idempotencyKey, requestId, technical: `${endpoint.method} ${endpoint.path}` };
}

/** The error for a 2xx with an unexpected body; `body` is that body, if it could be read. */
export function garbled(
  call: Call,
  what: string,
  requestId: string | undefined,
  more: { readonly cause?: unknown; readonly body?: string; readonly answer?: string },
): RequestError {
  const details = { ...known(call, requestId), ...more };
  return new RequestError('garbled', call.endpoint, `the service sent ${what}`, details);
}

/**
 * The error of a failed request, by the policy table. `head` is undefined until the answer has begun. `sent` says whether any of the
 * request may have left this machine.
 */
export function toFailure(
  error: unknown,
  call: Call,
  head?: { readonly requestId: string | undefined },
  sent = true,
): RequestError | StoppedError {
  const { endpoint, signal } = call;
  const details = known(call, head?.requestId);
  if (signal.aborted) {
    const isFree = endpoint.method === 'GET' || !sent;
    return new StoppedError(signal, {
      ...details,
      technical: undefined,
      charged: isFree ? 'no' : 'maybe',
      ...(isFree ? {} : toAdvice({ is: 'in_doubt' })),
    });
  }
  const cause: NodeJS.ErrnoException & { data?: unknown } =
    error instanceof Error ? error : new Error(String(error));
  // Removes received bytes that are not HTTP: they are not masked, and a program may print the whole error.
  if ('data' in cause) cause.data = undefined;
  const fault = head === undefined ? faultOf(cause, sent) : 'lost';
  const what = messageOf(cause);
  const { words } = verdictOf(fault, endpoint);
  const isComplete = fault === 'no_memory';
  const message = cause instanceof SilenceError ? what : isComplete ? words : `${words}: ${what}`;
  return new RequestError(fault, endpoint, message, {
    ...details,
    ...toAdvice(
      cause instanceof ConnectFailure && cause.hint !== undefined
        ? cause.hint
        : certificateHint(cause.code ?? ''),
    ),
    cause,
  });
}

function faultOf(cause: NodeJS.ErrnoException, sent: boolean): Fault {
  const { code = '', name, message } = cause;
  const isUnconnected = cause instanceof ConnectFailure;
  if (isOfMemory(cause)) return 'no_memory';
  if (isUnconnected && cause.refusal !== undefined) return cause.refusal;
  if (/^(?:CERT_|DEPTH_ZERO|SELF_SIGNED|UNABLE_TO_|ERR_TLS_|HOSTNAME_MISMATCH|INVALID_CA)/.test(code))
    return 'certificate';
  if (unreadableHeads.has(message)) return 'unreadable';
  // Invalid HTTP is not another protocol: that server may have done the work.
  const isOtherProtocol = name === 'HTTPParserError' && message.includes('Expected HTTP/');
  if (isOtherProtocol || notTls.test(code)) return 'not_http';
  return sent && !isUnconnected ? 'lost' : 'unsent';
}

/** The hint for a certificate error, by Node's error code; undefined to use the hint of the policy table. */
function certificateHint(code: string): string | Facts | undefined {
  if (code === 'CERT_HAS_EXPIRED' || code === 'CERT_NOT_YET_VALID')
    return 'If the clock of this machine is right, ask the administrator of the service to renew its certificate.';
  if (code === 'ERR_TLS_CERT_ALTNAME_INVALID')
    return 'Check the address: the certificate of that server is for other host names.';
  const isUnknown = /SELF_SIGNED_CERT|^UNABLE_TO_(?:GET_ISSUER|VERIFY_LEAF)/.test(code);
  return isUnknown ? { is: 'private_authority' } : undefined;
}

/** The head of an answer, without the API key. */
interface Head {
  readonly status: number;
  readonly requestId: string | undefined;
  header(name: string, maxCharacters?: number): string | undefined;
}

/** An answer whose status is not 200. */
export function toRefusal(call: Call, head: Head, body: string, clock: Clock): RequestError {
  const { status, requestId } = head;
  const { endpoint } = call;
  const envelope = envelopeOf(body);
  const fault = faultOfStatus(status, endpoint, envelope);
  const isForeign = foreign.includes(fault);
  const type = isForeign ? fault : (envelope?.type ?? typeOf(status));
  const message = fault === 'redirect' ? head.header('location', maxMessageCharacters) : envelope?.message;
  const stated = (message ?? '').slice(0, maxMessageCharacters);
  const retryAfterMs = toRetryAfter(head.header('retry-after'), clock);
  const cause = verdictOf(fault, endpoint).words + (fault === 'busy' ? toPatience(retryAfterMs) : '');
  const details = known(call, requestId);
  const isNoPage = fault === 'gateway' && status === 404;
  let [words, technical] = [
    isNoPage ? cause + wrongAddress : cause,
    `${details.technical}: ${status}${isForeign ? '' : ` ${type}`}`,
  ];
  if (stated !== '' && messageIsShown.includes(fault)) words = `${cause}: ${stated}`;
  else if (stated !== '' && stated !== cause) technical += `: ${stated}`;
  const ErrorClass = isForeign ? RequestError : ServiceError;
  // The outcome is the same as for this status from the service itself.
  const own = fault === 'gateway_refused' ? faults[status] : undefined;
  const outcome = own && verdictOf(own, endpoint).outcome;
  return new ErrorClass(fault, endpoint, words, {
    ...details,
    technical,
    status,
    retryAfterMs,
    type,
    outcome,
  });
}

/** A proxy that briefly can't reach the service looks the same as a wrong address. */
const wrongAddress =
  '; if it always does, check the address: it is the part before /v1, such as https://host';

/** The wait that the service asks for, in words for a message; empty below a second. */
function toPatience(retryAfterMs = 0): string {
  const seconds = Math.ceil(retryAfterMs / 1000);
  if (seconds < 1) return '';
  const [size, unit] = patience.find(([one]) => seconds >= 2 * one) ?? [1, 's'];
  return `; the service asks to wait ${Math.ceil(seconds / size)} ${unit}`;
}

/** Units of time, the longest first. */
const patience: readonly (readonly [seconds: number, unit: string])[] = [
  [86_400, 'days'],
  [3600, 'hours'],
  [60, 'min'],
];

/** The fault for each status of the service itself. */
const faults: Readonly<Record<number, Fault>> = {
  401: 'unauthenticated',
  402: 'no_credits',
  403: 'forbidden',
  404: 'missing',
  409: 'already_exists',
  422: 'invalid',
  429: 'busy',
  500: 'internal_error',
  503: 'not_enabled',
};

function faultOfStatus(status: number, { path }: Endpoint, envelope: ReturnType<typeof envelopeOf>): Fault {
  if (status < 300) return 'garbled';
  if (status < 400) return 'redirect';
  // A proxy also answers 404 when it can't reach the service. Taking that for a missing task would buy the task a second time.
  if (envelope === undefined && (status === 404 || status >= 500)) return 'gateway';
  // A refusal of the service has an envelope. 409 and 429 mean the same without one.
  if (envelope === undefined && status !== 409 && status !== 429) return 'gateway_refused';
  const fault = faults[(status >= 500 ? statusOf(envelope?.type) : undefined) ?? status];
  if (fault === 'missing') {
    if (envelope?.type !== 'not_found') return 'undocumented';
    // 404 means "no such task" only for task endpoints; otherwise the base URL is wrong.
    if (!/\/(?:status|fetch)$/.test(path)) return 'no_endpoint';
  }
  if (fault === 'already_exists' && envelope?.type === 'idempotency_error') return 'conflict';
  return fault ?? (status >= 500 ? 'gateway' : 'undocumented');
}

/** The place of the type is not documented, so the likely ones are tried. */
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

/** A proxy may replace the status of a refusal with a 5xx; its type shows the original status. */
function statusOf(type: string | undefined): number | undefined {
  return errorRows.find((row) => row.type === type)?.status;
}

function typeOf(status: number): ErrorType | 'unknown' {
  const rows = errorRows.filter((row) => row.status === status);
  return rows.length === 1 && rows[0] !== undefined ? rows[0].type : 'unknown';
}
