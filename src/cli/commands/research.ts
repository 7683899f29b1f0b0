import { Argument } from 'commander';
import { headersOf } from '../../columns/columns.ts';
import { arrayItems } from '../../json/text.ts';
import { lookups } from '../../operations/kinds/layouts.ts';
import { countOf } from '../../operations/wording.ts';
import { defineCommand } from '../command.ts';
import { createRowsOptions, sourceOf, toRowsRemark } from '../options/rows-options.ts';
import { type LookupOptions, lookUp, lookupDefaults } from './lookup.ts';

export const createCommand = defineCommand({
  name: 'research',
  description:
    'Answers a question from the web and names the sources. With --input, it answers many. An answer can take 15 minutes.',
  arguments: [new Argument('[query]', 'the question (- reads stdin, @file reads a file)')],
  options: createRowsOptions('research'),
  ...lookupDefaults,
  examples: [
    'leadpipe research "Which fintech companies are in Berlin?" --local',
    'echo "Who founded Nordlicht Pay?" > questions.txt\nleadpipe research --input questions.txt --local -o answers.jsonl',
  ],
  output: [
    'on a terminal, the text of the answer with its numbered sources; elsewhere',
    'one object as the service sent it (its answer can be any JSON):',
    '{"success":true,"answer":{"Result":"…","Citations":["https://…"]}}',
  ],
  columns: () => headersOf(lookups.research.layout()),
  moreColumns: 'with --input those of the input, then <into>, <into>_citations, <into>_error',
  cost: { text: 'the price that you set, for each question', settings: ['price.research'] },
  remarks: [toRowsRemark('query')],
  async run(context, query: string | undefined, options: LookupOptions) {
    const source = sourceOf(options, query, 'query');
    await lookUp(context, options, source, { kind: 'research' }, 'researching', (answer) => {
      const citations = arrayItems(answer.inner('answer')?.member('Citations') ?? 'null');
      return `answered, ${countOf(citations.length, 'citation')}`;
    });
  },
});
