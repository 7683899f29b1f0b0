import type { Context, RunFacts } from '../context.ts';
import type { OperationEvent } from '../operations/events.ts';

/** What is known of the run so far. */
export function factsOf({ run }: Pick<Context, 'run'>): RunFacts {
  run.facts ??= {};
  return run.facts;
}

/** Notes what an event of an operation says. */
export function learn(context: Pick<Context, 'run'>, event: OperationEvent): void {
  const facts = factsOf(context);
  switch (event.is) {
    case 'begun':
      if (event.isPaid) facts.isSent = true;
      break;
    case 'balance':
      facts.creditsBefore = event.before;
      if (event.after !== undefined) facts.creditsAfter = event.after;
      break;
    default:
  }
}
