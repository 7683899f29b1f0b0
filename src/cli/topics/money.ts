import { keptDays } from '../../operations/journal/retention.ts';
import type { Topic } from './topics.ts';

export const moneyTopic: Topic = {
  parts: [
    'These commands cost credits: search, task run, task create, contact, research, enrich and extract. conformance costs credits too, unless you add --free. All other commands are free. With --local, everything is free.',
    {
      heading: 'Before you buy',
      rows: [
        ['leadpipe balance', 'the credits that you have; with --require 50, exit code 5 if there are fewer'],
        ['--dry-run', 'shows the request, what it costs at most and your balance; buys nothing'],
        ['--max-credits 20', 'refuses (exit code 5) what can cost more than 20, or more than you have'],
        [
          'leadpipe config set max_credits 20',
          'the same for every run; max_credits_per_day: for all runs of a day',
        ],
        ['--limit 10', 'at most 10 leads: a plain search costs at most one credit per lead'],
        ['--only-new', 'leaves out leads that earlier runs on this machine delivered'],
      ],
    },
    'The service does not show its other prices. Tell leadpipe yours, so that it can say what something costs at most: leadpipe config set price.contact.email 5. `leadpipe config --help` lists them (price.*).',
    `Nothing is bought twice by accident. Each purchase has an idempotency key, and the service charges such a key only once; when leadpipe tries again, it uses the same one. Answers and leads are stored before they are printed, and stay for ${keptDays.answers} days; the record of a purchase stays for ${keptDays.operations} days. (--no-history stores nothing.) After a crash, run \`leadpipe history resume\`. Or run the same command again, if it had -o or --input: without them, a search or a task would be bought again. If a command has finished, running it again is a new purchase.`,
    {
      heading: 'After you bought',
      rows: [
        ['leadpipe history list', 'what you bought, when, and whether it was charged'],
        ['leadpipe history show <id>', 'prints an answer again, for free'],
        ['leadpipe history totals', 'adds it up: --by day, command, list or profile'],
      ],
    },
    {
      heading: 'What an error says about money',
      rows: [
        ['charged: no', 'it cost nothing'],
        ['charged: yes', 'it was charged; what arrived is stored'],
        ['charged: maybe', 'the answer was lost: check `leadpipe balance` before you buy it again'],
      ],
    },
  ],
};
