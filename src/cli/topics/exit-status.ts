import { exitCodes } from '../exit-codes.ts';
import type { Topic } from './topics.ts';

export const exitStatusTopic: Topic = {
  parts: [
    'Every command ends with one of these numbers. A script sees it in $?, a program in the member `exit` of --json-errors.',
    {
      heading: 'Exit codes',
      rows: Object.values(exitCodes).map(({ code, meaning }) => [String(code).padStart(3), meaning]),
    },
    'In a script: 0 is done. 75: run the command that the message names, or, if it names none, the same command later. After 3, run the command that the message names: it gets the rest. 7 means that nothing was found. After 8, look at `leadpipe history list` and `leadpipe balance` first. The others need a person to look.',
  ],
};
