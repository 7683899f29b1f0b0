import { resolve } from 'node:path';
import type { Context, RunFacts } from '../context.ts';
import type { LeadpipeError } from '../errors.ts';
import type { OperationEvent } from '../operations/events.ts';
import { creditsOf } from '../operations/prices.ts';
import { toResumeCommand } from './messages/proposed.ts';

/** The facts about the run so far. */
export function factsOf({ run }: Pick<Context, 'run'>): RunFacts {
  run.facts ??= {};
  return run.facts;
}

/** Records facts; undefined ones stay unchanged. */
export function note(
  context: Pick<Context, 'run'>,
  known: { [Name in keyof RunFacts]: RunFacts[Name] | undefined },
): void {
  const given = Object.entries(known).filter(([, value]) => value !== undefined);
  Object.assign(factsOf(context), Object.fromEntries(given));
}

/** Records the facts of an event of a run with these options. */
export function learn(
  context: Pick<Context, 'run'>,
  event: OperationEvent,
  options: Parameters<typeof toResumeCommand>[1],
): void {
  const facts = factsOf(context);
  switch (event.is) {
    case 'begun': {
      const { credits, isPaid, isResumable, operationId } = event;
      note(context, {
        operationId,
        resume: isResumable && operationId ? toResumeCommand(operationId, options) : undefined,
        ...(isPaid ? { isSent: true, creditsAtMost: credits } : {}),
      });
      break;
    }
    case 'resuming':
      note(context, { leads: event.resuming.stored });
      break;
    case 'delivered':
      note(context, { leads: (facts.leads ?? 0) + event.records });
      break;
    case 'created': {
      const { leadsSearchId, requestId } = event.task;
      note(context, { leadsSearchId, requestId });
      break;
    }
    case 'rows_ended': {
      const { charged, counts } = event;
      const { done, failed, withoutResult } = counts;
      note(context, { charged, rows: done, rowsFailed: failed + withoutResult });
      break;
    }
    case 'ended': {
      const { excluded, leadsSearchId, requestId, stopReason } = event.received ?? {};
      note(context, { excluded, leadsSearchId, requestId, stopReason });
      break;
    }
    case 'settled': {
      const { balance, cost, earlier, received } = event;
      note(context, {
        received,
        cost,
        costBefore: earlier.credits,
        creditsAtMost: creditsOf(cost),
        creditsBefore: balance?.before,
        creditsAfter: balance?.after,
      });
      break;
    }
    default:
  }
}

/** Records the file of the output: of -o, or of the operation that is resumed. */
export function recordOutput(context: Pick<Context, 'run'>, file: string): void {
  note(context, { output: resolve(file) });
}

/** Records the facts of the closing line. After it, nothing is left to resume. */
export function recordEnd(context: Pick<Context, 'run'>, known: Parameters<typeof note>[1]): void {
  note(context, { ...known, isFinished: true });
  delete factsOf(context).resume;
}

/** Records the error that ended the run, as programs get it, and the command that resumes the run. */
export function recordError(
  context: Pick<Context, 'run'>,
  { details }: LeadpipeError,
  error: object,
  resume: string | undefined,
): void {
  const facts = factsOf(context);
  const search =
    details.facts !== undefined && 'leadsSearchId' in details.facts ? details.facts.leadsSearchId : undefined;
  note(context, {
    error,
    leadsSearchId: search,
    operationId: details.operationId,
    requestId: details.requestId,
  });
  if (resume === undefined) delete facts.resume;
  else facts.resume = resume;
}
