import { Argument, Option } from 'commander';
import type { Context } from '../../context.ts';
import { UsageError } from '../../errors.ts';
import { isFilled } from '../../json/text.ts';
import { checkSchemaLimits, parseSchema, toFieldSchema } from '../../requests/enrich-schema.ts';
import { defineCommand } from '../command.ts';
import { createNotes } from '../messages/status-line.ts';
import { readTextFile } from '../options/inputs.ts';
import { collect, option, under } from '../options/option-builders.ts';
import { createRowsOptions, identityByDefault, sourceOf, toRowsRemark } from '../options/rows-options.ts';
import { type LookupOptions, lookUp, lookupDefaults } from './lookup.ts';

interface EnrichOptions extends LookupOptions {
  readonly schema?: string;
  readonly field?: string[];
}

export const createCommand = defineCommand({
  name: 'enrich',
  description: 'Finds facts (fields that you name) about a person, a company or anything else.',
  arguments: [
    new Argument(
      '[entity-context]',
      'what you know: name, website … (without it, stdin is read; @file reads a file)',
    ),
  ],
  options: [
    ...under('What to fill:', [
      new Option('--schema <file>', 'the fields, as a JSON Schema (2020-12 or draft-07)').conflicts('field'),
      option(
        '--field <name:type=meaning>',
        'fields such as a,b (a meaning comes last); types: string, number, integer, boolean, string[] …',
        collect,
      ),
    ]),
    ...createRowsOptions('enrich'),
  ],
  ...lookupDefaults,
  examples: [
    'leadpipe enrich "Nordlicht Pay, Berlin" --field headcount:integer --local',
    'leadpipe search company fintech --limit 3 --local -o fintechs.csv\nleadpipe enrich --input fintechs.csv --field city --local -o cities.csv',
  ],
  output: [
    'one object as the service sent it; its answer has the fields:',
    '{"success":true,"answer":{"headcount":120}}',
  ],
  columns: () => [],
  moreColumns: "each field; with --input the input's columns in front, enrich_error last",
  cost: { text: 'the price that you set, for each request', settings: ['price.enrich'] },
  remarks: [toRowsRemark('entity_context', identityByDefault)],
  async run(context, entityContext: string | undefined, options: EnrichOptions) {
    const schema = checkSchemaLimits(await readSchema(context, options));
    const { checkJsonSchema } = await import('../../requests/json-schema.ts');
    const check = await checkJsonSchema(schema);
    // Without an argument, the text comes from standard input.
    const isPiped = options.input === undefined && !context.stdin.isTerminal;
    const source = sourceOf(options, entityContext ?? (isPiped ? '-' : undefined), 'entity context');
    const request = { kind: 'enrich', enrich_fields: schema } as const;
    await lookUp(context, options, source, request, 'enriching', (whole) => {
      const notes = createNotes(context, options);
      const answer = whole.inner('answer');
      for (const deviation of check.deviations(JSON.parse(answer?.text ?? 'null'))) notes.warn(deviation);
      const fields = Object.keys(schema.properties as object);
      const filled = fields.filter((field) => isFilled(answer?.member(field)));
      return `${filled.length} of ${fields.length} fields filled`;
    });
  },
});

async function readSchema(context: Context, { schema, field }: EnrichOptions): Promise<unknown> {
  if (schema !== undefined) {
    // Other options take files as @file, so @ is accepted here, too.
    const file = schema.replace(/^@/, '');
    return parseSchema(await readTextFile(context, file, '--schema'), `--schema: ${file}`);
  }
  if (field !== undefined) return toFieldSchema(field, '--field');
  throw new UsageError(
    'the fields are missing: name them with --schema or --field',
    'For example: --field "headcount:integer=number of employees"',
  );
}
