import { createInterface } from 'node:readline';
import { Writable } from 'node:stream';
import type { Context } from '../context.ts';
import { LeadpipeError, type Outcome, stoppedBy } from '../errors.ts';
import { toSigns } from '../output/ascii.ts';
import { toTerminalText } from '../output/clean.ts';
import { wrapMessage } from '../output/wrap.ts';

/** What decides whether a purchase is asked about. */
export interface AskOptions {
  readonly yes?: true;
}

/** The person does not want to buy. */
export class Declined extends Error {}

/** Whether a person can be asked: one who sees the question, and whose answer is not taken for other input. */
export function canAsk({ run, stderr, stdin }: Context): boolean {
  const isRead = run.inputTakenBy !== undefined;
  return stdin.isTerminal && stderr.isTerminal && !isRead && stderr.isInBackground?.() !== true;
}

/** Asks before something is bought for these credits, null where that is not known. Returns whether it was asked. Throws Declined for a no. */
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
 * Asks for yes or no, and accepts nothing else: what is typed here could be a key. Enter alone is no, or `asksAgain`, where a no would lose
 * what was typed before. Only where standard input is a terminal.
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

/** Room for `yes` behind a question. */
const longestAnswer = 4;

/**
 * Asks on stderr for one line, only where standard input is a terminal. With `hidden`, what is typed is not shown. Throws `interrupted` on
 * Ctrl-C and at the end of the input.
 */
export async function ask(context: Context, question: string, hidden: 'hidden' | 'shown'): Promise<string> {
  const { columns, stream } = context.stderr;
  const { statusLine } = context.run;
  statusLine?.hold();
  // The answer is typed behind the last line. readline would break the question inside a word.
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
  // Only after the terminal is set up, so that nothing typed at once is shown.
  if (hidden === 'hidden') stream.write(lines.getPrompt());
  else lines.prompt();
  let isStopped = false;
  try {
    return await new Promise<string>((resolve, reject) => {
      const stop = (outcome: Outcome): void => {
        isStopped = true;
        reject(new LeadpipeError(outcome, 'Nothing was changed'));
      };
      lines.once('line', resolve);
      lines.once('SIGINT', () => stop('interrupted'));
      lines.once('close', () => stop('interrupted'));
      context.signal.addEventListener('abort', () => stop(stoppedBy(context.signal)), { once: true });
    });
  } finally {
    // Closing it looks like the end of the input.
    const endsLine = hidden === 'hidden' || isStopped;
    lines.close();
    if (endsLine) stream.write('\n');
    statusLine?.release();
  }
}
