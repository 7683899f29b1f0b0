import type { ErrorType } from '../contract/errors.ts';
import type { Fault } from './scenario.ts';
import type { Switches } from './switches.ts';

/** An answer in the error envelope. Thrown wherever a rule is broken, written in one place. */
export class Refusal extends Error {
  override readonly name = 'Refusal';

  readonly status: number;
  readonly type: ErrorType;

  constructor(status: number, type: ErrorType, message: string) {
    super(message);
    this.status = status;
    this.type = type;
  }
}

/** A rehearsed status, to be written as the scenario has it. */
export class FaultAnswer extends Error {
  override readonly name = 'FaultAnswer';
  readonly fault: Fault;

  constructor(fault: Fault) {
    super(`rehearsed: ${fault.status}`);
    this.fault = fault;
  }
}

export function invalid(message: string): Refusal {
  return new Refusal(422, 'invalid_request_error', message);
}

/** The error envelope; where the type stands in it is not documented, hence a switch. */
export function toEnvelope(type: string, message: string, at: Switches['error_type_at']): object {
  switch (at) {
    case 'error.type':
      return { error: { message, type } };
    case 'error.code':
      return { error: { message, code: type } };
    case 'type':
      return { error: { message }, type };
    case 'none':
      return { error: { message } };
  }
}
