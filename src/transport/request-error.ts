import type { Endpoint } from '../contract/endpoints.ts';
import { type ErrorDetails, LeadpipeError, type Outcome, toAdvice } from '../errors.ts';
import type { JsonText } from '../json/text.ts';
import { type Fault, verdictOf } from './policy.ts';

interface RequestErrorDetails extends ErrorDetails {
  readonly retryAfterMs?: number | undefined;
  readonly body?: string | undefined;
  readonly answer?: JsonText | undefined;
  /** How the run ends, if not as the policy table says. */
  readonly outcome?: Outcome | undefined;
}

/** A request that failed. `fault` names its row in the policy table. */
export class RequestError extends LeadpipeError {
  readonly fault: Fault;
  /** How long the service asked to wait, in milliseconds. */
  readonly retryAfterMs: number | undefined;
  /** The unexpected body as text, if it was read. */
  readonly body: string | undefined;
  /** The answer, if it is complete and only its content type or its encoding is wrong. */
  readonly answer: JsonText | undefined;

  constructor(fault: Fault, endpoint: Endpoint, message: string, details: RequestErrorDetails = {}) {
    const { retryAfterMs, body, answer, outcome, ...rest } = details;
    const { charged, hint, ...verdict } = verdictOf(fault, endpoint);
    super(outcome ?? verdict.outcome, message, {
      type: fault,
      ...(rest.hint === undefined && rest.facts === undefined ? toAdvice(hint) : {}),
      charged,
      ...rest,
    });
    this.fault = fault;
    this.retryAfterMs = retryAfterMs;
    this.body = body;
    this.answer = answer;
  }
}

/** The service's own refusal: a documented status with the error envelope. */
export class ServiceError extends RequestError {}
