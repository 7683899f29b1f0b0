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
    if (!stdout.isTerminal || !(await showInPager(page, env, signal))) stdout.stream.write(page);
  },
});

/** Shows the page in a pager; false if there is no pager. The pager reports its own errors. */
async function showInPager(page: string, env: Context['env'], signal: AbortSignal): Promise<boolean> {
  const pager = spawn(env.PAGER || 'less', {
    shell: true,
    stdio: ['pipe', 'inherit', 'ignore'],
    // As in git: a page that fits on the screen is printed without paging.
    env: { LESS: 'FRX', ...env },
    signal,
  });
  // The pager may close its input early.
  pager.stdin.on('error', () => {}).end(page);
  const [code] = await once(pager, 'close').catch(() => [127]);
  if (signal.aborted) throw new LeadpipeError(stoppedBy(signal), 'stopped');
  // Exit codes of a shell: 127 not found, 126 not executable.
  return code !== 127 && code !== 126;
}
