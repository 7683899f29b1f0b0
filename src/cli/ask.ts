import { createInterface } from 'node:readline';
import { Writable } from 'node:stream';
import type { Context } from '../context.ts';
import { LeadpipeError, type Outcome, stoppedBy } from '../errors.ts';
import { toSigns } from '../output/ascii.ts';
import { toTerminalText } from '../output/clean.ts';
import { wrapMessage } from '../output/wrap.ts';

/** Options that decide whether the user is asked before a purchase. */
export interface AskOptions {
  readonly yes?: true;
}

/** Thrown when the user answers no. */
export class Declined extends Error {}

/** True if a person can see the question, and standard input is free for the answer. */
export function canAsk({ run, stderr, stdin }: Context): boolean {
  const isRead = run.inputTakenBy !== undefined;
  return stdin.isTerminal && stderr.isTerminal && !isRead && stderr.isInBackground?.() !== true;
}

/** Asks before a purchase of at most `credits` (null: unknown). Returns true if it asked. Throws Declined for a no. */
export async function confirmPurchase(
  context: Context,
  { yes }: AskOptions,
  credits: number | null,
  question: string,
): Promise<boolean> {
  if (yes || credits === 0 || !canAsk(context)) return false;
  if (!(await confirm(context, question))) throw new Declined();
  return true;
}

/**
 * Asks for yes or no, up to three times, and accepts nothing else, since the input could be a key. Enter alone means no; with `asksAgain` it
 * asks again, since a no would lose earlier input. Standard input must be a terminal.
 */
export async function confirm(context: Context, question: string, asksAgain = false): Promise<boolean> {
  for (let time = 1; time <= 3; time++) {
    const choices = asksAgain ? '[y/n]' : '[y/N]';
    const answer = (await ask(context, `${question} ${choices}`, 'shown')).trim().toLowerCase();
    if (['y', 'yes'].includes(answer)) return true;
    if (['n', 'no'].includes(answer) || (answer === '' && !asksAgain)) return false;
    context.stderr.stream.write('Type y or n.\n');
  }
  return false;
}

/** Columns kept free for the answer. */
const longestAnswer = 4;

/**
 * Asks on stderr for one line; standard input must be a terminal. With `hidden`, the input is not shown. Throws `interrupted` on Ctrl-C and
 * at the end of the input.
 */
export async function ask(context: Context, question: string, hidden: 'hidden' | 'shown'): Promise<string> {
  const { columns, stream } = context.stderr;
  const { statusLine } = context.run;
  statusLine?.hold();
  // readline would break the question inside a word, so it only gets the last line.
  const said = wrapMessage(
    `${toSigns(context, context.stderr)(toTerminalText(question))} `,
    columns && columns - longestAnswer,
  );
  const prompt = said.pop() ?? '';
  const nowhere = new Writable({ write: (_piece, _encoding, done) => done() });
  const lines = createInterface({
    input: context.stdin.stream,
    output: hidden === 'hidden' ? nowhere : stream,
    terminal: true,
    historySize: 0,
    prompt: `${prompt.trimEnd()} `,
  });
  for (const line of said) stream.write(`${line}\n`);
  // Shown only after echo is off, so that early typing stays hidden.
  if (hidden === 'hidden') stream.write(lines.getPrompt());
  else lines.prompt();
  let isStopped = false;
  try {
    return await new Promise<string>((resolve, reject) => {
      const stop = (outcome: Outcome): void => {
        isStopped = true;
        reject(new LeadpipeError(outcome, 'Nothing was done'));
      };
      lines.once('line', resolve);
      lines.once('SIGINT', () => stop('interrupted'));
      lines.once('close', () => stop('interrupted'));
      context.signal.addEventListener('abort', () => stop(stoppedBy(context.signal)), { once: true });
    });
  } finally {
    // close() also emits `close`, so `isStopped` is read first.
    const endsLine = hidden === 'hidden' || isStopped;
    lines.close();
    if (endsLine) stream.write('\n');
    statusLine?.release();
  }
}
