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
  /** What the client says the person answered, and the mark of the question, where it was asked before. */
  readonly given: {
    readonly responses: Readonly<Record<string, unknown>> | undefined;
    readonly mark: unknown;
  };
  readonly canAsk: boolean;
  /** Puts the question to the person, where the client is asked while it waits. */
  readonly elicit: ((question: ElicitRequestFormParams) => Promise<{ readonly action: string }>) | undefined;
  /** Aborted when the caller gives it up. */
  readonly signal: AbortSignal;
}

/**
 * Asks the person before each purchase, and lets `buy` go on when the person agrees; where the client has to ask by itself, the
 * question is returned. `look` gives what is there without a purchase, or what one can cost. Throws when the person said no,
 * where nobody can be asked, and what `look` and `buy` throw.
 */
export type Confirm = <T extends object>(
  asker: Asker,
  look: () => Promise<T | { readonly worst: WorstCase }>,
  buy: () => Promise<T>,
) => Promise<T | InputRequiredResult>;

type Verdict = 'accepted' | 'declined' | 'unanswered';

/** A question that is with the person. */
interface Question extends Pick<Asker, 'about' | 'isApart'> {
  /** What others who ask for the same hear of it. */
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
export function createConfirmation(clock: Clock, cannotAsk: string): Confirm {
  /** By their marks: an answer counts once, and for what was asked. */
  const open = new Map<string, Question>();

  function begin(mark: string, { about, isApart }: Asker): Question {
    let decide: Question['decide'] = () => {};
    const verdict = new Promise<Verdict>((resolve) => {
      decide = resolve;
    });
    for (const oldest of open.keys()) {
      if (open.size < mostOpen) break;
      open.delete(oldest);
    }
    const question = { about, isApart, verdict, decide, until: clock.monotonic() + patienceMs };
    open.set(mark, question);
    return question;
  }

  /** Buys before the others are told that they may: they find the purchase then, and join it. */
  async function follow<T>(question: Question, { action }: { action?: unknown }, buy: () => Promise<T>) {
    const bought = action === 'accept' ? buy() : undefined;
    question.decide(bought === undefined ? 'declined' : 'accepted');
    if (bought === undefined) throw toDeclined();
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

  return async (asker, look, buy) => {
    const { about, isApart, given, signal, canAsk, elicit, what } = asker;
    const answer = given.responses?.[name] as { action?: unknown } | undefined;
    const mine = open.get(String(given.mark));
    if (answer !== undefined && mine?.about === about) {
      open.delete(String(given.mark));
      return await follow(mine, answer, buy);
    }
    const isSame = (one: Question) => one.about === about && !one.isApart && clock.monotonic() < one.until;
    for (;;) {
      const other = isApart ? undefined : [...open.values()].find(isSame);
      if (other === undefined) break;
      const verdict = await verdictOf(other, signal);
      if (verdict === 'declined') throw toDeclined();
      if (verdict === 'accepted') return await buy();
    }
    // From here on others wait: what is bought between a look and a question would be asked about again.
    const mark = randomUUID();
    const question = begin(mark, asker);
    let isWithClient = false;
    try {
      const found = await look();
      if (!('worst' in found)) return found;
      if (!canAsk) {
        throw refused(
          "this server asks the person before it buys, and this client can't ask; nothing was bought",
          'confirmation_unavailable',
          cannotAsk,
        );
      }
      const params = {
        message: `Buy this? ${what}\n${toCost(found.worst)}`,
        requestedSchema: { type: 'object', properties: {} },
      } as const;
      if (elicit === undefined) {
        isWithClient = true;
        return inputRequired({
          inputRequests: { [name]: inputRequired.elicit(params) },
          requestState: mark,
        });
      }
      const said = await elicit({ mode: 'form', ...params }).catch((error: unknown) => {
        const why = error instanceof Error ? error.message : String(error);
        throw refused(
          `this client could not ask the person: ${why}; nothing was bought`,
          'confirmation_failed',
          'The same call asks again. If that fails too, ask the person what to do.',
        );
      });
      open.delete(mark);
      return await follow(question, said, buy);
    } finally {
      if (!isWithClient) {
        open.delete(mark);
        // Where it was answered, this says nothing any more.
        question.decide('unanswered');
      }
    }
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
