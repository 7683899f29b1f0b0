import type { RequestError } from '../../transport/errors.ts';
import type { Fault } from '../../transport/policy.ts';

const reasons: Partial<Readonly<Record<Fault, string>>> = {
  lost: 'the connection broke',
  gateway: "the service can't be reached",
  garbled: 'the answer could not be read',
  internal_error: 'the service failed',
  busy: 'too many requests',
  already_exists: 'the service is still working on it',
};

/** Pure: why a request is sent again, in a few words. */
export function toWaitReason({ fault, details, words }: RequestError): string {
  // A name that is mistyped can be seen now, and not only when all attempts have failed.
  if (fault === 'unsent') return words.replace(/^no connection to the service: /, '');
  const status = details.status === undefined ? '' : ` (${details.status})`;
  return `${reasons[fault] ?? words}${status}`;
}
