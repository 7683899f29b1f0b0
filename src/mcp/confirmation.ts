import { randomUUID } from 'node:crypto';
import { type InputRequiredResult, inputRequired } from '@modelcontextprotocol/server';
import { LeadpipeError } from '../errors.ts';
import { creditsOf, type WorstCase } from '../operations/spending.ts';

/** Asks the person before each purchase. */
export interface Confirmation {
  /** Whether this is the answer to a question that was asked about the same request. Throws when the person said no. */
  isGiven(about: string, answer: GivenAnswer): boolean;
  /** The question. Throws where the client can't put it to anyone. */
  ask(about: string, what: string, worst: WorstCase, canAsk: boolean): InputRequiredResult;
}

/** What came back with a call: what the client says the person answered, and the mark of the question. */
export interface GivenAnswer {
  readonly responses: Readonly<Record<string, unknown>> | undefined;
  readonly mark: unknown;
}

const name = 'buy';
/** Questions that nobody answers are forgotten, the oldest first. */
const mostOpen = 1000;

/** `cannotAsk` is what to do where a client can't ask. */
export function createConfirmation(cannotAsk: string): Confirmation {
  /** What each open question is about, by its mark: an answer counts once, and for what was asked. */
  const open = new Map<string, string>();
  return {
    isGiven(about, { responses, mark }) {
      const answer = responses?.[name];
      if (answer === undefined || typeof mark !== 'string' || open.get(mark) !== about) return false;
      open.delete(mark);
      if ((answer as { action?: unknown }).action === 'accept') return true;
      throw refused(
        'the person did not agree to this purchase; nothing was bought',
        'declined',
        'Ask the person what to do instead.',
      );
    },
    ask(about, what, worst, canAsk) {
      if (!canAsk) {
        throw refused(
          "this server asks the person before it buys, and this client can't ask; nothing was bought",
          'confirmation_unavailable',
          cannotAsk,
        );
      }
      const mark = randomUUID();
      for (const oldest of open.keys()) {
        if (open.size < mostOpen) break;
        open.delete(oldest);
      }
      open.set(mark, about);
      return inputRequired({
        inputRequests: {
          [name]: inputRequired.elicit({
            message: `Buy this? ${what}\n${toCost(worst)}`,
            requestedSchema: { type: 'object', properties: {} },
          }),
        },
        requestState: mark,
      });
    },
  };
}

function toCost(worst: WorstCase): string {
  if (worst.credits === null)
    return `It is not known what it costs: the setting ${worst.setting} is not set.`;
  return `It costs at most ${creditsOf(worst.credits)}.`;
}

function refused(message: string, type: string, hint: string): LeadpipeError {
  return new LeadpipeError('credits', message, { type, charged: 'no', retryable: false, hint });
}
