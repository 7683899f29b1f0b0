import { keptDays } from '../../operations/journal/retention.ts';
import type { Topic } from './topics.ts';

export const moneyTopic: Topic = {
  parts: [
    'These commands cost credits: search, task run, task create, contact, research, enrich and extract. So does conformance, without --free. All others are free; so is everything with --local.',
    {
      heading: 'Before you buy',
      rows: [
        ['leadpipe balance', 'the credits that you have; --require 50 ends with 5 if there are fewer'],
        ['--dry-run', 'shows the request, what it costs at most and your balance; buys nothing'],
        ['--max-credits 20', 'refuses (exit code 5) what can cost more than 20, or more than you have'],
        ['--limit 10', 'at most 10 leads: a plain search costs at most one credit per lead'],
        ['--only-new', 'leaves out leads that earlier runs on this machine delivered'],
      ],
    },
    'The service does not show its other prices. Tell leadpipe yours, so that it can say what something costs at most: leadpipe config set price.contact.email 5. `leadpipe config --help` lists them (price.*).',
    `Nothing is bought twice by accident. Each purchase has a key, and the service charges a key only once; when leadpipe tries again, it uses the same key. Answers and leads are stored for ${keptDays.answers} days before they are printed, and the record of a purchase for ${keptDays.operations}. (--no-history stores nothing.) After a crash, run the same command again or \`leadpipe history resume\`. A new run of a command that had finished is a new purchase.`,
    {
      heading: 'After you bought',
      rows: [
        ['leadpipe history list', 'what you bought, when, and whether it was charged'],
        ['leadpipe history show <id>', 'prints an answer again, for nothing'],
        ['leadpipe history totals', 'adds it up: --by day, command, list or profile'],
      ],
    },
    {
      heading: 'What an error says about money',
      rows: [
        ['charged: no', 'it cost nothing'],
        ['charged: yes', 'it was charged; what arrived is kept'],
        ['charged: maybe', 'the answer was lost: compare `leadpipe balance` before you buy it again'],
      ],
    },
  ],
};
