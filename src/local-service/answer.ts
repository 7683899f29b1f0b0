import { type ErrorType, errorRows } from '../contract/errors.ts';
import type { Fault } from './scenario.ts';
import type { Exchange } from './service.ts';
import type { Switches } from './switches.ts';

/** An answer in the error envelope. Thrown wherever a rule is broken, written in one place. */
export class Refusal extends Error {
  override readonly name = 'Refusal';

  readonly status: number;
  readonly type: ErrorType | undefined;

  /** With the type that the document has for the status; what it has none for has none. */
  constructor(status: number, message: string, type = typeOf(status)) {
    super(message);
    this.status = status;
    this.type = type;
  }
}

/** Thrown in place of an answer: the scenario has a status for this request. */
export class Rehearsed extends Error {}

export function invalid(message: string): Refusal {
  return new Refusal(422, message);
}

function typeOf(status: number): ErrorType | undefined {
  return errorRows.find((row) => row.status === status)?.type;
}

/** The error envelope; where the type stands in it is not documented, hence a switch. */
// rule: errors.envelope
export function toEnvelope(
  type: ErrorType | undefined,
  message: string,
  at: Switches['error_type_at'],
): object {
  if (at === 'none' || type === undefined) return { error: { message } };
  if (at === 'type') return { error: { message }, type };
  return { error: { message, [at === 'error.code' ? 'code' : 'type']: type } };
}

export const noStore = { 'Cache-Control': 'no-store' } as const;

type Addressee = Pick<Exchange, 'outgoing'> & { readonly fault?: Fault | undefined };

/** Writes a whole JSON answer. `body` is serialized, unless it is JSON text already. */
export function answer(
  to: Addressee,
  status: number,
  body: object | string,
  headers: Readonly<Record<string, string>> = {},
): void {
  const bytes = Buffer.from(typeof body === 'string' ? body : JSON.stringify(body));
  write(to, status, bytes, { 'Content-Type': 'application/json', ...headers });
}

export function answerFault(to: Addressee, fault: Fault, typeAt: Switches['error_type_at']): void {
  const { status, headers, body } = fault;
  const envelope = toEnvelope(typeOf(status) ?? 'internal_error', 'a fault from the scenario file', typeAt);
  if (typeof body !== 'string') answer(to, status, (body as object) ?? envelope, headers);
  else write(to, status, Buffer.from(body), { 'Content-Type': 'text/plain', ...headers });
}

function write(
  { outgoing, fault }: Addressee,
  status: number,
  bytes: Buffer,
  headers: Readonly<Record<string, string>>,
): void {
  // The connection stays open, and nothing comes, until the client gives up.
  if (fault?.fault === 'stall') return;
  if (fault?.fault === 'lost_response') {
    reset(outgoing);
    return;
  }
  outgoing.setHeader('Content-Length', bytes.length);
  for (const [name, value] of Object.entries(headers)) outgoing.setHeader(name, value);
  if (status === 204 || status === 304) outgoing.removeHeader('Content-Length');
  outgoing.writeHead(status);
  if (fault?.fault === 'cut') outgoing.write(bytes.subarray(0, bytes.length >> 1), () => outgoing.destroy());
  else outgoing.end(bytes);
}

/** Ends a connection the way a crashing machine does. */
export function reset(outgoing: Exchange['outgoing']): void {
  outgoing.socket?.resetAndDestroy();
}
