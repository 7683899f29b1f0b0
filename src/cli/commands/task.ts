import { defineGroup } from '../command.ts';
import { createTaskCreate } from './task/create.ts';
import { createTaskFetch } from './task/fetch.ts';
import { createTaskList } from './task/list.ts';
import { createTaskRun } from './task/run.ts';
import { createTaskStatus } from './task/status.ts';
import { createTaskWait } from './task/wait.ts';

export const createCommand = defineGroup(
  {
    name: 'task',
    description:
      'Finds leads with a task. A task runs at the service, even while this machine is off. Its leads can be read again for free.',
    examples: ['leadpipe task run company "fintech in Berlin" --local -o leads.csv', 'leadpipe task list'],
    remarks: [
      '`leadpipe resume` finishes what was interrupted, into the same file. `leadpipe task wait <leads-search-id>` reads the leads of a task for free, as often as you like, from any position.',
    ],
  },
  [createTaskRun, createTaskCreate, createTaskStatus, createTaskFetch, createTaskWait, createTaskList],
);
