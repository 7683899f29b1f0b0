import { Command } from 'commander';
import type { Context } from '../../context.ts';
import { keptDays } from '../../operations/journal/retention.ts';
import { addHelp, type CommandHelp } from '../help.ts';
import { createHistoryDropCommand } from './history/drop.ts';
import { createHistoryListCommand } from './history/list.ts';
import { createHistoryListsCommand } from './history/lists.ts';
import { createHistoryPruneCommand } from './history/prune.ts';
import { createHistoryResumeCommand } from './history/resume.ts';
import { createHistoryShowCommand } from './history/show.ts';
import { createHistoryTotalsCommand } from './history/totals.ts';

const help: CommandHelp = {
  examples: ['leadpipe history', 'leadpipe history list --since 7d -f csv -o purchases.csv'],
  remarks: [
    `Answers and leads are stored for ${keptDays.answers} days, and the record of a purchase for ${keptDays.operations} days. The history stays on this machine.`,
  ],
};

export function createHistoryCommand(context: Context): Command {
  const group = new Command('history')
    .description(
      'Shows what this machine has bought, and prints stored answers again. `leadpipe history` does the same as `leadpipe history list`.',
    )
    .addCommand(createHistoryListCommand(context), { isDefault: true })
    .addCommand(createHistoryListsCommand(context))
    .addCommand(createHistoryShowCommand(context))
    .addCommand(createHistoryResumeCommand(context))
    .addCommand(createHistoryDropCommand(context))
    .addCommand(createHistoryPruneCommand(context))
    .addCommand(createHistoryTotalsCommand(context));
  return addHelp(group, help);
}
