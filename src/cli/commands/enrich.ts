import { Argument, Option } from 'commander';
import type { Context } from '../../context.ts';
import { UsageError } from '../../errors.ts';
import { JsonView, kindOf } from '../../json/text.ts';
import { checkSchemaLimits, parseSchema, toFieldSchema } from '../../requests/enrich-schema.ts';
import { toEnrichRequest } from '../../requests/lookups.ts';
import { defineCommand } from '../command.ts';
import { paidOutcomes } from '../exit-codes.ts';
import { readTextFile, readTextOrInput } from '../options/inputs.ts';
import { collect, inputNames, option, under } from '../options/options.ts';
import {
  checkWithoutRows,
  createRowsOptions,
  type RowsOptions,
  sourceOf,
  toRowsRemarks,
} from '../options/rows.ts';
import { buy, type PurchaseOptions } from '../records/orders.ts';

interface EnrichOptions extends PurchaseOptions, RowsOptions {
  readonly schema?: string;
  readonly field?: string[];
}

export const createCommand = defineCommand({
  name: 'enrich',
  description:
    'Finds facts about a person, a company or anything else. You name the facts (fields). With --input, it does this for many.',
  arguments: [
    new Argument(
      '[entity-context]',
      'what you know: name, website, handles, description (@file reads a file; if you leave the argument out, stdin is read)',
    ),
  ],
  options: [
    ...under('What to fill:', [
      new Option(
        '--schema <file>',
        'a file with the fields to fill, as a JSON Schema (draft 2020-12 or draft-07); @file works too',
      ).conflicts('field'),
      option(
        '--field <name:type=meaning>',
        'a field to fill, instead of --schema; use it once for each field. Types: string, number, integer, boolean, and lists of them, such as string[]',
        collect,
      ),
    ]),
    ...createRowsOptions('enrich'),
  ],
  takes: ['records', 'paid', 'connection'],
  examples: [
    'leadpipe enrich "Nordlicht Pay, Berlin" --field headcount:integer --local',
    'leadpipe search company fintech --limit 3 --local -o fintechs.csv\nleadpipe enrich --input fintechs.csv --field city --local -o cities.csv',
  ],
  output: [
    'one object as the service sent it; its answer has the fields:',
    '{"success":true,"answer":{"headcount":120}}',
    'csv: one column for each field',
  ],
  outcomes: [...paidOutcomes, 'partial'],
  remarks: toRowsRemarks('entity_context', { takesLeads: true }),
  async run(context, entityContext: string | undefined, options: EnrichOptions) {
    const schema = checkSchemaLimits(await readSchema(context, options));
    const { checkJsonSchema } = await import('../../requests/json-schema.ts');
    const check = await checkJsonSchema(schema);
    if (options.input !== undefined) {
      const source = sourceOf(options, entityContext, 'entity context');
      const rows = { ...options, input: options.input, ...source };
      const { buyList } = await import('../records/rows.ts');
      return void (await buyList(context, rows, { kind: 'enrich', enrich_fields: schema }));
    }
    checkWithoutRows(options);
    const text = await readTextOrInput(context, inputNames.entity_context, entityContext);
    const request = toEnrichRequest({ entity_context: text, enrich_fields: schema }, inputNames);
    const fields = Object.keys(schema.properties as object);
    const bought = await buy(context, options, 'enrich', request, 'enriching');
    if (bought === undefined) return;
    const answer = new JsonView(bought.text).inner('answer');
    for (const deviation of check.deviations(JSON.parse(answer?.text ?? 'null'))) {
      bought.notes.warn(deviation);
    }
    const filled = fields.filter((field) => kindOf(answer?.member(field) ?? 'null') !== 'null').length;
    bought.close(`${filled} of ${fields.length} fields filled`);
  },
});

async function readSchema(context: Context, { schema, field }: EnrichOptions): Promise<unknown> {
  if (schema !== undefined) {
    // The @ that other options have for files is allowed here, too.
    const file = schema.replace(/^@/, '');
    return parseSchema(await readTextFile(context, file, '--schema'), `--schema: ${file}`);
  }
  if (field !== undefined) return toFieldSchema(field, '--field');
  throw new UsageError(
    'the fields are missing: name them with --schema or --field',
    'For example: --field "headcount:integer=number of employees"',
  );
}
