import type { Command } from 'commander';
import type { Context } from '../../../context.ts';
import { UsageError } from '../../../errors.ts';
import type { Intent } from '../../../operations/journal/journal.ts';
import type { AnswerKind } from '../../../operations/kinds.ts';
import type { ConnectionOptions, PaidOptions } from '../../options/options.ts';

const commands: { readonly [Kind in AnswerKind]: (context: Context) => Promise<Command> } = {
  contact: async (context) => (await import('../contact.ts')).createContactCommand(context),
  research: async (context) => (await import('../research.ts')).createResearchCommand(context),
  enrich: async (context) => (await import('../enrich.ts')).createEnrichCommand(context),
  extract: async (context) => (await import('../extract.ts')).createExtractCommand(context),
};

/** The options of a list by what the journal calls them. */
const flags = {
  input: '--input',
  inputFormat: '--input-format',
  template: '--template',
  into: '--into',
  unordered: '--unordered',
  run: '--run',
  shard: '--shard',
  schemaFile: '--schema',
  field: '--field',
  instruction: '--instruction',
  limit: '--limit',
  format: '--format',
  append: '--append',
  columns: '--columns',
  csv_raw: '--csv-raw',
} as const;

/** Runs the command of an unfinished list again, which goes on with it. Throws UsageError where its rows can't be had again. */
export async function runListAgain(
  context: Context,
  kind: AnswerKind,
  intent: Intent,
  given: ConnectionOptions & Pick<PaidOptions, 'maxCredits'>,
): Promise<void> {
  if (intent.options.input === '-') {
    throw new UsageError(
      "the rows of this list came from standard input, and can't be read again",
      'Run the same command again with the same rows. Rows that are already bought are not bought again.',
    );
  }
  const command = await commands[kind](context);
  await command.parseAsync([...wordsOf(intent), ...limitOf(intent, given), ...routeOf(intent, given)], {
    from: 'user',
  });
}

/** Pure: the words of the command behind its name. */
function wordsOf({ options, output }: Intent): string[] {
  const about = options.contact_type ?? options.type;
  const words = about === undefined ? [] : [String(about)];
  for (const [name, flag] of Object.entries(flags)) {
    const value = options[name];
    for (const one of Array.isArray(value) ? value : [value]) {
      if (one === true) words.push(flag);
      else if (one !== undefined && one !== null) words.push(flag, String(one));
    }
  }
  return output === null ? words : [...words, '--output', output];
}

/** Pure: what was allowed when the list was begun holds until another limit is given. */
function limitOf(
  { max_credits }: Intent,
  { maxCredits = max_credits }: Pick<PaidOptions, 'maxCredits'>,
): string[] {
  return maxCredits === undefined ? [] : ['--max-credits', String(maxCredits)];
}

/** Pure: the same service, unless another one is named; and what is said on the way. */
function routeOf({ origin, profile }: Intent, given: ConnectionOptions): string[] {
  const isLocal = given.local ?? (origin === 'local' && given.baseUrl === undefined);
  const named = given.profile ?? profile;
  return [
    ...(isLocal ? ['--local'] : []),
    ...(given.baseUrl === undefined ? [] : ['--base-url', given.baseUrl]),
    ...(named === null ? [] : ['--profile', named]),
    ...(given.timeout === undefined ? [] : ['--timeout', String(given.timeout)]),
    ...(given.quiet ? ['--quiet'] : []),
    ...(given.verbose ? ['--verbose'] : []),
    ...(given.jsonErrors ? ['--json-errors'] : []),
    ...(given.color ? [] : ['--no-color']),
  ];
}
