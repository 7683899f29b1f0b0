import type { RequestError } from '../../transport/errors.ts';
import type { Fault } from '../../transport/policy.ts';

const reasons: Partial<Readonly<Record<Fault, string>>> = {
  unsent: 'no connection to the service',
  lost: 'the connection broke',
  gateway: "the service can't be reached",
  garbled: 'the answer could not be read',
  internal_error: 'the service failed',
  busy: 'too many requests',
  already_exists: 'the service is still working on it',
};

/** Pure: why a request is sent again, in a few words. */
export function toWaitReason({ fault, details, words }: RequestError): string {
  const status = details.status === undefined ? '' : ` (${details.status})`;
  return `${reasons[fault] ?? words}${status}`;
}
