import { Argument } from 'commander';
import { arrayItems, JsonView } from '../../json/text.ts';
import { toDeepSearchRequest } from '../../requests/lookups.ts';
import { defineCommand } from '../command.ts';
import { paidOutcomes } from '../exit-codes.ts';
import { readTextArgument } from '../options/inputs.ts';
import { inputNames } from '../options/options.ts';
import { createRowsOptions, type RowsOptions, sourceOf, toRowsRemarks } from '../options/rows.ts';
import { buy, type PurchaseOptions } from '../records/orders.ts';

export const createCommand = defineCommand({
  name: 'research',
  description:
    'Answers a question from the web and names the sources. With --input, it answers many. An answer can take 15 minutes.',
  arguments: [new Argument('[query]', 'the question (- reads stdin, @file reads a file)')],
  options: createRowsOptions('research'),
  takes: ['records', 'paid', 'connection'],
  examples: [
    'leadpipe research "Which fintech companies are in Berlin?" --local',
    'echo "Who founded Nordlicht Pay?" > questions.txt\nleadpipe research --input questions.txt --local -o answers.jsonl',
  ],
  output: [
    'on a terminal, the text of the answer with its numbered sources; elsewhere',
    'one object as the service sent it (its answer can be any JSON):',
    '{"success":true,"answer":{"Result":"…","Citations":["https://…"]}}',
    'csv: result,citations',
  ],
  outcomes: [...paidOutcomes, 'partial'],
  remarks: toRowsRemarks('query'),
  async run(context, query: string | undefined, options: PurchaseOptions & RowsOptions) {
    const source = sourceOf(options, query, 'query');
    if ('input' in source) {
      const { buyList } = await import('../records/rows.ts');
      return void (await buyList(context, { ...options, ...source }, { kind: 'research' }));
    }
    const text = await readTextArgument(context, inputNames.query, source.argument);
    const request = toDeepSearchRequest({ query: text }, inputNames);
    const bought = await buy(context, options, 'research', request, 'researching');
    if (bought === undefined) return;
    const citations = arrayItems(
      new JsonView(bought.text).inner('answer')?.member('Citations') ?? 'null',
    ).length;
    bought.close(`answered, ${citations} ${citations === 1 ? 'citation' : 'citations'}`);
  },
});
