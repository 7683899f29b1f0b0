import type { Fault } from './policy.ts';

/** A connection that was never made: nothing of the request left this machine. */
export class ConnectFailure extends Error {
  readonly code: string | undefined;

  constructor(cause: Error, message = messageOf(cause)) {
    super(message, { cause });
    this.name = 'ConnectFailure';
    this.code = (cause as NodeJS.ErrnoException).code;
  }
}

/** In plain words, where there are some. Connection errors of several addresses at once have no message of their own. */
export function messageOf(cause: Error): string {
  if (cause instanceof ConnectFailure) return cause.message;
  if (cause instanceof AggregateError && cause.message === '') return cause.errors.map(messageOf).join(', ');
  const { code = '', address, port, hostname } = cause as Failure;
  switch (code) {
    case 'ENOTFOUND':
      return hostname === undefined ? cause.message : `there is no host ${hostname}`;
    case 'EAI_AGAIN':
      return hostname === undefined
        ? cause.message
        : `the address of ${hostname} could not be looked up (DNS did not answer)`;
    case 'ECONNREFUSED':
      return address === undefined
        ? cause.message
        : `nothing answers at ${address.includes(':') ? `[${address}]` : address}:${port} (ECONNREFUSED)`;
    case 'ECONNRESET':
      return `the other end closed the connection (${cause.message})`;
    default:
      return cause.message;
  }
}

interface Failure extends NodeJS.ErrnoException {
  readonly address?: string;
  readonly port?: number;
  readonly hostname?: string;
}

/** A proxy that answers and does not let us through: nothing of the request left this machine. */
export class ProxyRefusal extends ConnectFailure {
  readonly fault: Fault;

  constructor(fault: Fault, message: string, cause?: Error) {
    super(cause ?? new Error(message), message);
    this.name = 'ProxyRefusal';
    this.fault = fault;
  }
}

/** Error codes of a connection whose other end does not use TLS, or no version of it that we support. */
export const notTls = /^(?:EPROTO$|ERR_SSL_)/;
