import { createInterface } from 'node:readline';
import { Writable } from 'node:stream';
import type { Context } from '../context.ts';
import { LeadpipeError, type Outcome, stoppedBy } from '../errors.ts';
import { toTerminalText } from '../output/clean.ts';

/**
 * Asks for yes or no, and accepts nothing else: what is typed here could be a key. Enter alone is no. Only where standard input is a
 * terminal.
 */
export async function confirm(context: Context, question: string): Promise<boolean> {
  for (let time = 1; time <= 3; time++) {
    const answer = (await ask(context, `${question} [y/N]`, 'shown')).trim().toLowerCase();
    if (['y', 'n', ''].includes(answer)) return answer === 'y';
    context.stderr.stream.write('Type y or n.\n');
  }
  return false;
}

/**
 * Asks on stderr for one line, only where standard input is a terminal. With `hidden`, what is typed is not shown. Throws `interrupted` on
 * Ctrl-C and at the end of the input.
 */
export async function ask(context: Context, question: string, hidden: 'hidden' | 'shown'): Promise<string> {
  const { stream } = context.stderr;
  const { statusLine } = context.run;
  statusLine?.hold();
  const nowhere = new Writable({ write: (_piece, _encoding, done) => done() });
  const lines = createInterface({
    input: context.stdin.stream,
    output: hidden === 'hidden' ? nowhere : stream,
    terminal: true,
    historySize: 0,
    prompt: `${toTerminalText(question)} `,
  });
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
