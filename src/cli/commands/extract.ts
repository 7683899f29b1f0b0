import { Argument, Option } from 'commander';
import { limits, web2listLimit } from '../../contract/limits.ts';
import { extractionTypes } from '../../contract/types.ts';
import { countOf } from '../../operations/wording.ts';
import { checkExtractionType } from '../../requests/lookups.ts';
import { defineCommand } from '../command.ts';
import { createNotes } from '../messages/status-line.ts';
import { inputNames, readTextArgument } from '../options/inputs.ts';
import { argumentOf, numberIn, option, under } from '../options/option-builders.ts';
import { createRowsOptions, sourceOf } from '../options/rows-options.ts';
import { type LookupOptions, lookUp, lookupDefaults } from './lookup.ts';

interface ExtractOptions extends LookupOptions {
  readonly instruction?: string;
  readonly limit?: number;
}

const { extractLimit } = limits;

export const createCommand = defineCommand({
  name: 'extract',
  description: 'Lists followers, stargazers or contributors, or a list on a web page.',
  arguments: [
    argumentOf('<type>', extractionTypes),
    new Argument(
      '[target]',
      'a handle, a repository such as acme/rocket, or for web2list the URL of a public page',
    ),
  ],
  options: [
    ...under('What to extract:', [
      new Option('--instruction <text>', 'for web2list: the items and fields (or @file)'),
      option(
        '--limit <n>',
        `at most n items, ${extractLimit.min} to ${extractLimit.max}; web2list ignores this and returns at most ${web2listLimit}`,
        numberIn(extractLimit),
        { default: extractLimit.default },
      ),
    ]),
    ...createRowsOptions(),
  ],
  ...lookupDefaults,
  examples: [
    'leadpipe extract github_repo_stargazers acme/rocket --limit 50 --local',
    'printf "%s\\n" acme/rocket acme/anvil |\n  leadpipe extract github_repo_stargazers --input - --local -o stars.csv',
  ],
  output: [
    'one item on each line (jsonl); the fields depend on the type:',
    '{"id":12345678901234567890,"login":"…","url":"…"}',
  ],
  columns: () => [],
  moreColumns: 'each field that any item has; with --input type and target in front',
  cost: { text: 'the price that you set, for each item', settings: ['price.extract'] },
  remarks: [
    'With --input, each item begins with its type and target. The target comes from --template, from the column `target`, or from the only column that can be one.',
  ],
  async run(context, given: string, target: string | undefined, options: ExtractOptions) {
    const { limit } = options;
    // Check this first, so that standard input is not read without need.
    const type = checkExtractionType(given);
    const source = sourceOf(options, target, 'target');
    const instruction =
      options.instruction && (await readTextArgument(context, inputNames.instruction, options.instruction));
    if ('argument' in source && type === 'web2list' && limit !== undefined) {
      createNotes(context, options).warn(
        `web2list ignores --limit: it always returns up to ${web2listLimit} items`,
      );
    }
    const request = { kind: 'extract', type, instruction, limit } as const;
    await lookUp(context, options, source, request, 'extracting', (_, records) => countOf(records, 'item'));
  },
});
