import { LeadpipeError, type Outcome } from '../../errors.ts';
import { toHint } from '../messages/hints.ts';

/** What one check came to. */
export interface Finding {
  readonly check: string;
  readonly result: 'ok' | 'warning' | 'failure' | 'skipped';
  readonly found: string;
  /** What to do about it, exactly. */
  readonly fix: string | null;
  /** How the next search would end because of it; failures alone. */
  readonly outcome?: Outcome;
}

export function ok(check: string, found: string): Finding {
  return { check, result: 'ok', found, fix: null };
}

export function skipped(check: string, found: string): Finding {
  return { check, result: 'skipped', found, fix: null };
}

export function warning(check: string, found: string, fix: string): Finding {
  return { check, result: 'warning', found, fix };
}

export function failure(check: string, outcome: Outcome, found: string, fix: string): Finding {
  return { check, result: 'failure', found, fix, outcome };
}

/** The same failure that a command would report. Anything but a LeadpipeError is thrown on. */
export function failureOf(check: string, error: unknown): Finding {
  if (!(error instanceof LeadpipeError)) throw error;
  return failure(check, error.outcome, error.message, toHint(error) ?? '');
}
