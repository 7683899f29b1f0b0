import { Command } from 'commander';
import type { Context } from '../../../context.ts';
import { isSearch } from '../../../operations/journal/chain.ts';
import { rowsOf } from '../../../operations/kinds.ts';
import { paidOutcomes } from '../../exit-codes.ts';
import { addHelp, type CommandHelp } from '../../help.ts';
import { addConnectionOptions, createMaxCreditsOption, type PaidOptions } from '../../options/options.ts';
import {
  addResumeOptions,
  type ResumeOptions,
  resumeOperation,
  toOperation,
  withRouteOf,
} from '../task/resume.ts';

const help: CommandHelp = {
  examples: ['leadpipe history resume', 'leadpipe history resume --max-credits 50'],
  output: [
    'what the interrupted command would have written: the same file, format',
    'and columns, each lead or row once',
  ],
  outcomes: [...paidOutcomes, 'partial', 'not_found'],
};

type Options = ResumeOptions & Pick<PaidOptions, 'maxCredits'>;

export function createHistoryResumeCommand(context: Context): Command {
  const command = new Command('resume')
    .summary('finish an interrupted search, task or list')
    .description(
      'Resumes an interrupted search, task or list (--input), into the same file. Nothing is bought twice. The rest of a search or a list is bought.',
    );
  addResumeOptions(command).addOption(
    createMaxCreditsOption(
      'refuse (exit code 5) a search or list that can cost more; the rows of a list that were bought before count too (default: the limit that the list was started with)',
    ),
  );
  return addHelp(addConnectionOptions(command), help).action(
    (operationId: string | undefined, options: Options) => runHistoryResume(context, operationId, options),
  );
}

async function runHistoryResume(
  context: Context,
  given: string | undefined,
  options: Options,
): Promise<void> {
  const known = await toOperation(context, given, options, () => true);
  if (known === undefined) return;
  const route = withRouteOf(known, options);
  if (rowsOf(known.entries[0].command) !== undefined) {
    const { resumeList } = await import('./resume-list.ts');
    return await resumeList(context, known, options);
  }
  if (isSearch(known)) {
    const { continueSearch } = await import('../search/continue.ts');
    return await continueSearch(context, known.operationId, { ...route, history: true });
  }
  await resumeOperation(context, known, options);
}
