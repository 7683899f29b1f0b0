import type { Fault } from './policy.ts';

/** A connection that was never made: nothing of the request left this machine. */
export class ConnectFailure extends Error {
  readonly code: string | undefined;
  /** Its row of the policy table, if the code does not tell it: a proxy refused, or the local service is not running. */
  readonly refusal: Fault | undefined;
  /** What to do, where more is known than the policy table says. */
  readonly hint: string | undefined;

  constructor(cause: Error, more: Partial<Pick<ConnectFailure, 'message' | 'refusal' | 'hint'>> = {}) {
    super(more.message ?? messageOf(cause), { cause });
    this.name = 'ConnectFailure';
    this.code = (cause as NodeJS.ErrnoException).code;
    this.refusal = more.refusal;
    this.hint = more.hint;
  }
}

/** A failure to connect to this machine itself. Waiting seldom helps there: the service was not started, or it speaks http. */
export function toLoopbackFailure(cause: NodeJS.ErrnoException, { href }: URL): ConnectFailure {
  const { code = '' } = cause;
  if (code === 'ECONNREFUSED') return new ConnectFailure(cause, { refusal: 'not_running' });
  const address = href.replace(/^https/, 'http').replace(/\/$/, '');
  const hint = notTls.test(code) ? `Write the address with http: ${address}` : undefined;
  return new ConnectFailure(cause, { hint });
}

interface Failure extends NodeJS.ErrnoException {
  readonly address?: string;
  readonly port?: number;
  readonly hostname?: string;
}

/** The cause in plain words, if there are any. An AggregateError of several addresses has no message of its own. */
export function messageOf(cause: Error): string {
  if (cause instanceof ConnectFailure) return cause.message;
  if (cause instanceof AggregateError && cause.message === '') return cause.errors.map(messageOf).join(', ');
  const { code, address, port, hostname, message } = cause as Failure;
  if (unreadableHeads.has(message)) return unreadableHeads.get(message) as string;
  if (code === 'ENOTFOUND' && hostname !== undefined) return `there is no host ${hostname}`;
  if (code === 'EAI_AGAIN' && hostname !== undefined)
    return `the address of ${hostname} could not be looked up (DNS did not answer)`;
  if (code === 'ECONNREFUSED' && address !== undefined)
    return `nothing answers at ${address.includes(':') ? `[${address}]` : address}:${port} (ECONNREFUSED)`;
  // undici's message has the addresses and the time.
  if (code === 'UND_ERR_CONNECT_TIMEOUT')
    return message.replace('Connect Timeout Error', 'nothing answers in time');
  if (code === 'ECONNRESET') return `the other end closed the connection (${message})`;
  if (code === 'ERR_SSL_WRONG_VERSION_NUMBER' || code === 'ERR_SSL_PACKET_LENGTH_TOO_LONG')
    return `it answers without TLS, so it probably speaks http, not https (${code})`;
  return message;
}

/** Our words for undici's messages about invalid response heads. The limit of 64 kB is set in agent.ts. */
export const unreadableHeads: ReadonlyMap<string, string> = new Map([
  ['Headers Overflow Error', 'its headers are larger than 64 kB'],
  ['bad response', 'it begins with an unexpected "100 Continue"'],
]);

/** Error codes of a server that does not use TLS, or only unsupported versions of it. */
export const notTls = /^(?:EPROTO$|ERR_SSL_)/;
