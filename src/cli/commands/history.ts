import { Command } from 'commander';
import type { Context } from '../../context.ts';
import { createHistoryListCommand } from './history/list.ts';
import { createHistoryPruneCommand } from './history/prune.ts';
import { createHistoryShowCommand } from './history/show.ts';
import { createTaskResumeCommand } from './task/resume.ts';

const firstSteps = `
Examples:
  $ leadpipe history
  $ leadpipe history show op_1kf2m8h3v0a1b2c -f csv

Answers and leads are kept for 7 days, what was asked and its key for 30. Nothing here is sent anywhere.`;

export function createHistoryCommand(context: Context): Command {
  return new Command('history')
    .description('What this machine has bought, and the answers it has kept. Alone it is the list.')
    .addHelpText('after', firstSteps)
    .addCommand(createHistoryListCommand(context), { isDefault: true })
    .addCommand(createHistoryShowCommand(context))
    .addCommand(createTaskResumeCommand(context, 'history'))
    .addCommand(createHistoryPruneCommand(context));
}
