import { randomUUID } from 'node:crypto';
import {
  type ElicitRequestFormParams,
  type InputRequiredResult,
  inputRequired,
} from '@modelcontextprotocol/server';
import type { Clock } from '../clock.ts';
import { LeadpipeError } from '../errors.ts';
import { creditsOf, type WorstCase } from '../operations/spending.ts';
import { pause } from '../transport/pause.ts';

/** A call that may not buy before the person has agreed. */
export interface Asker {
  /** The request: whoever asks for the same waits for the same answer. */
  readonly about: string;
  /** Whether it is a purchase of its own, whatever others ask for. */
  readonly isApart: boolean;
  /** In words for the person. */
  readonly what: string;
  /** What came back with the call, where the client was asked before. */
  readonly given: GivenAnswer;
  readonly canAsk: boolean;
  /** Puts the question to the person, where the client is asked while it waits. */
  readonly elicit: ((question: ElicitRequestFormParams) => Promise<{ readonly action: string }>) | undefined;
  /** Aborted when the caller gives it up. */
  readonly signal: AbortSignal;
}

/** Asks the person before each purchase. */
export interface Confirmation {
  /**
   * Asks, and lets `buy` go on when the person agrees; where the client has to ask by itself, the question is returned. `look`
   * gives what is there without a purchase, or what one can cost. Undefined where another call put the question, and nobody has
   * answered it: it is to be asked anew. Throws when the person said no, where nobody can be asked, and what `look` throws.
   */
  ask<T extends object>(
    asker: Asker,
    look: () => Promise<T | { readonly worst: WorstCase }>,
    buy: () => Promise<T>,
  ): Promise<T | InputRequiredResult | undefined>;
  /** The same for a call that brings the answer; undefined for one that doesn't. */
  answered<T>(asker: Asker, buy: () => Promise<T>): Promise<T> | undefined;
}

/** What came back with a call: what the client says the person answered, and the mark of the question. */
export interface GivenAnswer {
  readonly responses: Readonly<Record<string, unknown>> | undefined;
  readonly mark: unknown;
}

type Verdict = 'accepted' | 'declined' | 'unanswered';

/** A question that is with the person. */
interface Question {
  readonly about: string;
  readonly verdict: Promise<Verdict>;
  decide(verdict: Verdict): void;
  /** Until then others wait for its answer: a client that went away does not say so. */
  readonly until: number;
}

const name = 'buy';
/** Questions that nobody answers are forgotten, the oldest first. */
const mostOpen = 1000;
const patienceMs = 60_000;

/** `cannotAsk` is what to do where a client can't ask. */
export function createConfirmation(clock: Clock, cannotAsk: string): Confirmation {
  /** By their marks: an answer counts once, and for what was asked. */
  const open = new Map<string, Question>();
  /** The last question about each request. */
  const asked = new Map<string, Question>();

  function begin({ about, isApart }: Asker): Question {
    let decide: Question['decide'] = () => {};
    const verdict = new Promise<Verdict>((resolve) => {
      decide = resolve;
    });
    const until = clock.monotonic() + patienceMs;
    const question: Question = {
      about,
      verdict,
      until,
      decide(how) {
        if (asked.get(about) === question) asked.delete(about);
        decide(how);
      },
    };
    if (!isApart) asked.set(about, question);
    return question;
  }

  /** Buys before the others are told that they may: they find the purchase then, and join it. */
  async function follow<T>(question: Question, { action }: { action?: unknown }, buy: () => Promise<T>) {
    if (action !== 'accept') {
      question.decide('declined');
      throw toDeclined();
    }
    const bought = buy();
    question.decide('accepted');
    return await bought;
  }

  async function verdictOf({ verdict, until }: Question, signal: AbortSignal): Promise<Verdict> {
    const over = new AbortController();
    try {
      const patience = pause(clock, until - clock.monotonic(), AbortSignal.any([signal, over.signal]));
      return await Promise.race([verdict, patience.then(() => 'unanswered' as const)]);
    } finally {
      over.abort();
    }
  }

  return {
    answered(asker, buy) {
      const { responses, mark } = asker.given;
      const answer = responses?.[name];
      const question = typeof mark === 'string' ? open.get(mark) : undefined;
      if (answer === undefined || question?.about !== asker.about) return undefined;
      open.delete(mark as string);
      return follow(question, answer as { action?: unknown }, buy);
    },
    async ask(asker, look, buy) {
      const { about, isApart, canAsk, elicit, signal, what } = asker;
      const other = isApart ? undefined : asked.get(about);
      if (other !== undefined && other.until > clock.monotonic()) {
        const verdict = await verdictOf(other, signal);
        if (verdict === 'declined') throw toDeclined();
        return verdict === 'accepted' ? await buy() : undefined;
      }
      // From here on others wait: what is bought between a look and a question would be asked about again.
      const question = begin(asker);
      const isOver = (error: unknown): never => {
        question.decide('unanswered');
        throw error;
      };
      const found = await look().catch(isOver);
      if (!('worst' in found)) {
        question.decide('unanswered');
        return found;
      }
      if (!canAsk) {
        return isOver(
          refused(
            "this server asks the person before it buys, and this client can't ask; nothing was bought",
            'confirmation_unavailable',
            cannotAsk,
          ),
        );
      }
      const params = {
        message: `Buy this? ${what}\n${toCost(found.worst)}`,
        requestedSchema: { type: 'object', properties: {} },
      } as const;
      if (elicit === undefined) {
        const mark = randomUUID();
        for (const oldest of open.keys()) {
          if (open.size < mostOpen) break;
          open.delete(oldest);
        }
        open.set(mark, question);
        return inputRequired({ inputRequests: { [name]: inputRequired.elicit(params) }, requestState: mark });
      }
      const answer = await elicit({ mode: 'form', ...params }).catch((error: unknown) => {
        const why = error instanceof Error ? error.message : String(error);
        return isOver(
          refused(
            `this client could not ask the person: ${why}; nothing was bought`,
            'confirmation_failed',
            'The same call asks again. If that fails too, ask the person what to do.',
          ),
        );
      });
      return await follow(question, answer, buy);
    },
  };
}

function toCost(worst: WorstCase): string {
  if (worst.credits === null)
    return `It is not known what it costs: the setting ${worst.setting} is not set.`;
  return `It costs at most ${creditsOf(worst.credits)}.`;
}

function toDeclined(): LeadpipeError {
  return refused(
    'the person did not agree to this purchase; nothing was bought',
    'declined',
    'Ask the person what to do instead.',
  );
}

function refused(message: string, type: string, hint: string): LeadpipeError {
  return new LeadpipeError('credits', message, { type, charged: 'no', retryable: false, hint });
}
