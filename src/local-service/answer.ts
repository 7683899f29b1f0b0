import { type ErrorType, errorRows } from '../contract/errors.ts';
import type { Exchange } from './service.ts';
import type { Switches } from './switches.ts';

/** An answer in the error envelope. Thrown wherever a rule is broken, written in one place. */
export class Refusal extends Error {
  override readonly name = 'Refusal';

  readonly status: number;
  readonly type: ErrorType | undefined;

  /** With the type that the document has for the status; what it has none for has none. */
  constructor(
    status: number,
    message: string,
    type: ErrorType | undefined = errorRows.find((row) => row.status === status)?.type,
  ) {
    super(message);
    this.status = status;
    this.type = type;
  }
}

/** Thrown in place of an answer: the scenario has a status for this request. */
export class Rehearsed extends Error {}

/** The error envelope; where the type stands in it is not documented, hence a switch. */
// rule: errors.envelope
export function toEnvelope({ type, message }: Refusal, { error_type_at: at }: Switches): object {
  if (at === 'none' || type === undefined) return { error: { message } };
  if (at === 'type') return { error: { message }, type };
  return { error: { message, [at === 'error.code' ? 'code' : 'type']: type } };
}

type Addressee = Pick<Exchange, 'outgoing' | 'fault'>;

/** Writes a whole answer, unless the scenario has something else in store for it. */
export function answer(
  { outgoing, fault }: Addressee,
  status: number,
  body: object | string,
  headers: Readonly<Record<string, string>> = {},
): void {
  // The connection stays open, and nothing comes, until the client gives up.
  if (fault?.fault === 'stall') return;
  if (fault?.fault === 'lost_response') {
    reset(outgoing);
    return;
  }
  const bytes = Buffer.from(typeof body === 'string' ? body : JSON.stringify(body));
  const all = { 'Content-Type': 'application/json', 'Content-Length': String(bytes.length), ...headers };
  for (const [name, value] of Object.entries(all)) outgoing.setHeader(name, value);
  if (status === 204 || status === 304) outgoing.removeHeader('Content-Length');
  outgoing.writeHead(status);
  if (fault?.fault === 'cut') outgoing.write(bytes.subarray(0, bytes.length >> 1), () => outgoing.destroy());
  else outgoing.end(bytes);
}

/** Answers with the status of a fault: a text as it is, anything else as JSON; without a body the envelope. */
export function answerFault(to: Addressee, switches: Switches): void {
  if (to.fault === undefined) return;
  const { status, headers, body } = to.fault;
  const { type = 'internal_error' } = new Refusal(status, '');
  const envelope = toEnvelope(new Refusal(status, 'a fault from the scenario file', type), switches);
  const kind = typeof body === 'string' ? { 'Content-Type': 'text/plain' } : {};
  answer(to, status, (body as object | string | undefined) ?? envelope, { ...kind, ...headers });
}

/** Ends a connection the way a crashing machine does. */
export function reset(outgoing: Exchange['outgoing']): void {
  outgoing.socket?.resetAndDestroy();
}
