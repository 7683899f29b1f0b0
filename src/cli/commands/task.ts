import { Command } from 'commander';
import type { Context } from '../../context.ts';
import { addHelp, type CommandHelp } from '../help.ts';
import { createTaskCreateCommand } from './task/create.ts';
import { createTaskFetchCommand } from './task/fetch.ts';
import { createTaskListCommand } from './task/list.ts';
import { createTaskResumeCommand } from './task/resume.ts';
import { createTaskRunCommand } from './task/run.ts';
import { createTaskStatusCommand } from './task/status.ts';
import { createTaskWaitCommand } from './task/wait.ts';

const help: CommandHelp = {
  examples: ['leadpipe task run company "fintech in Berlin" --local -o leads.csv', 'leadpipe task list'],
  remarks: [
    '`leadpipe task resume` finishes what was interrupted, into the same file. `leadpipe task wait <leads-search-id>` reads the leads of a task for free, as often as you like, from any position.',
  ],
};

export function createTaskCommand(context: Context): Command {
  const group = new Command('task').description(
    'Finds leads with a task. A task runs at the service, even while this machine is off. Its leads can be read again for free.',
  );
  const commands = [
    createTaskRunCommand(context),
    createTaskCreateCommand(context),
    createTaskStatusCommand(context),
    createTaskFetchCommand(context),
    createTaskWaitCommand(context),
    createTaskResumeCommand(context),
    createTaskListCommand(context),
  ];
  for (const command of commands) group.addCommand(command);
  return addHelp(group, help);
}
