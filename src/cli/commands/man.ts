import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import type { Context } from '../../context.ts';
import { LeadpipeError, stoppedBy } from '../../errors.ts';
import { defineCommand } from '../command.ts';
import { findPackageFile } from '../package-file.ts';

export const createCommand = defineCommand({
  name: 'man',
  description: 'Prints the manual page. On a terminal, it opens in the program that PAGER names, or in less.',
  examples: ['leadpipe man', 'leadpipe man | man -l -'],
  output: ['text in a pager on a terminal; otherwise the page as roff source, for man and groff'],
  outcomes: ['complete', 'usage', 'interrupted', 'reader_closed', 'terminated', 'hung_up'],
  async run({ stdout, env, signal }) {
    const path = await findPackageFile('dist', stdout.isTerminal ? 'leadpipe.txt' : 'leadpipe.1');
    const page = await readFile(path, 'utf8');
    if (!stdout.isTerminal || !(await wasPaged(page, env, signal))) stdout.stream.write(page);
  },
});

/** Whether a pager showed the page. It reports its own errors, and ends when the reader wants. */
async function wasPaged(page: string, env: Context['env'], signal: AbortSignal): Promise<boolean> {
  const pager = spawn(env.PAGER || 'less', {
    shell: true,
    stdio: ['pipe', 'inherit', 'ignore'],
    // As git does: a page that fits on the screen stays there.
    env: { LESS: 'FRX', ...env },
    signal,
  });
  // A reader may leave early.
  pager.stdin.on('error', () => {}).end(page);
  const [code] = await once(pager, 'close').catch(() => [127]);
  if (signal.aborted) throw new LeadpipeError(stoppedBy(signal), 'stopped');
  // With these codes, a shell reports a program that does not exist, or can't be run.
  return code !== 127 && code !== 126;
}
