import type { Endpoint } from '../contract/endpoints.ts';
import { type ErrorDetails, LeadpipeError, toAdvice } from '../errors.ts';
import { type Fault, verdictOf } from './policy.ts';

interface RequestErrorDetails extends ErrorDetails {
  readonly retryAfterMs?: number | undefined;
  readonly body?: string | undefined;
}

/** A request that did not bring what it was sent for. `fault` names the row of the policy table it fell under. */
export class RequestError extends LeadpipeError {
  readonly fault: Fault;
  /** Milliseconds after which the service asked to be asked again. */
  readonly retryAfterMs: number | undefined;
  /** What came instead of the answer, as text, where it was read. */
  readonly body: string | undefined;

  constructor(fault: Fault, endpoint: Endpoint, message: string, details: RequestErrorDetails = {}) {
    const { retryAfterMs, body, ...rest } = details;
    const { outcome, charged, hint } = verdictOf(fault, endpoint);
    super(outcome, message, {
      type: fault,
      ...(rest.hint === undefined && rest.facts === undefined ? toAdvice(hint) : {}),
      charged,
      retryable: outcome === 'temporary',
      ...rest,
    });
    this.fault = fault;
    this.retryAfterMs = retryAfterMs;
    this.body = body;
  }
}

/** The service's own refusal: a documented status with the error envelope. */
export class ServiceError extends RequestError {}
