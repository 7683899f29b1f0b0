import { keptDays } from '../../operations/journal/retention.ts';
import { defineGroup } from '../command.ts';
import { createHistoryDrop } from './history/drop.ts';
import { createHistoryList } from './history/list.ts';
import { createHistoryLists } from './history/lists.ts';
import { createHistoryPrune } from './history/prune.ts';
import { createHistoryShow } from './history/show.ts';
import { createHistoryTotals } from './history/totals.ts';

export const createCommand = defineGroup(
  {
    name: 'history',
    description:
      'Shows what this machine has bought, and prints stored answers again. `leadpipe history` does the same as `leadpipe history list`.',
    examples: ['leadpipe history', 'leadpipe history list --since 7d -f csv -o purchases.csv'],
    remarks: [
      `Answers and leads are stored for ${keptDays.answers} days, and the record of a purchase for ${keptDays.operations} days. The history stays on this machine.`,
    ],
  },
  [
    createHistoryList,
    createHistoryLists,
    createHistoryShow,
    createHistoryDrop,
    createHistoryPrune,
    createHistoryTotals,
  ],
  createHistoryList,
);
