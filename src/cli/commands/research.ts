import { Argument, Command } from 'commander';
import type { Context } from '../../context.ts';
import { arrayItems, JsonView } from '../../json/text.ts';
import { toDeepSearchRequest } from '../../requests/lookups.ts';
import { paidOutcomes } from '../exit-codes.ts';
import { addHelp, type CommandHelp } from '../help.ts';
import { readTextArgument } from '../options/inputs.ts';
import { addConnectionOptions, addPaidOptions, addRecordOptions, inputNames } from '../options/options.ts';
import { addRowsOptions, type RowsOptions, toRowsRemarks } from '../options/rows.ts';
import { buy, type PurchaseOptions } from '../records/orders.ts';
import { buyList } from '../records/rows.ts';
import { sourceOf } from '../records/rows-input.ts';

const help: CommandHelp = {
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
};

export function createResearchCommand(context: Context): Command {
  const command = new Command('research')
    .description(
      'Answers a question from the web and names the sources. With --input, it answers many. An answer can take 15 minutes.',
    )
    .addArgument(new Argument('[query]', 'the question (- reads stdin, @file reads a file)'));
  addRowsOptions(command, 'research');
  return addHelp(addConnectionOptions(addPaidOptions(addRecordOptions(command))), help).action(
    (query: string | undefined, options: PurchaseOptions & RowsOptions) =>
      runResearch(context, query, options),
  );
}

async function runResearch(
  context: Context,
  query: string | undefined,
  options: PurchaseOptions & RowsOptions,
): Promise<void> {
  const source = sourceOf(options, query, 'query');
  if ('input' in source)
    return void (await buyList(context, { ...options, ...source }, { kind: 'research' }));
  const text = await readTextArgument(context, inputNames.query, source.argument);
  const request = toDeepSearchRequest(text, inputNames);
  const bought = await buy(context, options, 'research', request, 'researching');
  if (bought === undefined) return;
  const citations = arrayItems(
    new JsonView(bought.text).inner('answer')?.member('Citations') ?? 'null',
  ).length;
  bought.close(`answered, ${citations} ${citations === 1 ? 'citation' : 'citations'}`);
}
