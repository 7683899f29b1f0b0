import type { Context, RunFacts } from '../context.ts';
import type { Charged } from '../errors.ts';
import { prepareExitFile } from '../files/end-file.ts';
import { checkNotOwn } from '../files/target.ts';
import { exitCodes } from './exit-codes.ts';
import type { Ran } from './messages/hints.ts';
import { fileOf } from './options/record-options.ts';
import { factsOf, recordOutput } from './run-facts.ts';

export const textOrNull = { type: ['string', 'null'] };
const count = { type: ['integer', 'null'] };
const credits = { type: ['number', 'null'] };
export const charges: readonly Charged[] = ['no', 'maybe', 'yes'];
const states = ['complete', 'partial', 'failed', 'unknown', 'interrupted'] as const;

/** The members of the object that `--summary` writes, in their order, each with its JSON Schema. */
export const summaryMembers = {
  operation_id: textOrNull,
  command: { type: 'string', description: 'such as "task run"' },
  state: { enum: states },
  exit: { enum: Object.values(exitCodes).map(({ code }) => code) },
  error: { type: ['object', 'null'], description: 'as --json-errors' },
  rows: { ...count, description: 'rows of --input done' },
  rows_failed: { ...count, description: 'no result' },
  leads: { ...count, description: 'leads or items' },
  excluded: { ...count, description: 'left out here' },
  stop_reason: textOrNull,
  output: { ...textOrNull, description: 'the file of -o' },
  credits_at_most: { ...credits, description: 'if known' },
  charged: { enum: charges },
  credits_before: { ...credits, description: 'your balance' },
  credits_after: credits,
  request_id: textOrNull,
  leads_search_id: textOrNull,
  resume: { ...textOrNull, description: 'the command to run' },
};

type Summary = Readonly<Record<keyof typeof summaryMembers, unknown>>;

/**
 * Prepares the file of --summary, which is written when the process ends, with its exit code. Throws LocalIoError if it can't be written,
 * UsageError if it would be one of leadpipe's own files.
 */
export async function openSummary(
  context: Context,
  path: string,
  command: string,
  { options }: Ran,
): Promise<void> {
  await checkNotOwn(context, path);
  const facts = factsOf(context);
  const output = fileOf(options);
  if (output !== undefined) recordOutput(context, output);
  if (options.local) facts.route = { local: true };
  const write = await prepareExitFile(path, context.pid);
  context.run.atExit = (exit) => {
    try {
      write(`${JSON.stringify(toSummary(facts, command, exit))}\n`);
      return exit;
    } catch (error) {
      context.stderr.stream.write(`error: ${(error as Error).message}\n`);
      return exit === 0 ? exitCodes.local_io.code : exit;
    }
  };
}

/** Pure: the summary of a run that ends with this code. */
function toSummary(facts: RunFacts, command: string, exit: number): Summary {
  const { error, isSent, resume = null, route } = facts;
  const reported = error as
    | { operation_id?: string; request_id?: string; charged?: Charged | null }
    | undefined;
  const isFree = route?.local === true;
  const charged: Charged = isFree || !isSent ? 'no' : (reported?.charged ?? facts.charged ?? 'maybe');
  return {
    operation_id: facts.operationId ?? reported?.operation_id ?? null,
    command,
    state: toState(exit, facts),
    exit,
    error: error ?? null,
    rows: facts.rows ?? null,
    rows_failed: facts.rowsFailed ?? null,
    leads: facts.leads ?? null,
    excluded: facts.excluded ?? null,
    stop_reason: facts.stopReason ?? null,
    output: facts.output ?? null,
    credits_at_most: isFree ? 0 : (facts.creditsAtMost ?? (charged === 'no' ? 0 : null)),
    charged,
    credits_before: facts.creditsBefore ?? null,
    credits_after: facts.creditsAfter ?? null,
    request_id: facts.requestId ?? reported?.request_id ?? null,
    leads_search_id: facts.leadsSearchId ?? null,
    resume,
  };
}

const stopped: readonly number[] = (['hung_up', 'interrupted', 'terminated'] as const).map(
  (outcome) => exitCodes[outcome].code,
);

/** Pure: the state in the words of the history. */
function toState(exit: number, { isFinished, resume, rows }: RunFacts): (typeof states)[number] {
  const { complete, no_result, partial, reader_closed, unknown } = exitCodes;
  // A run that finds nothing is complete, also with --exit-status. With --first, there is more to buy.
  if (exit === complete.code || (exit === no_result.code && isFinished))
    return resume === undefined ? 'complete' : 'partial';
  if (exit === partial.code || exit === reader_closed.code) return 'partial';
  if (exit === unknown.code) return 'unknown';
  // A list with rows was interrupted, even if only the same command can resume it.
  return stopped.includes(exit) || (resume ?? rows) !== undefined ? 'interrupted' : 'failed';
}

/** The name of a command with that of its group. */
export function nameOf(command: { name(): string; readonly parent: unknown }): string {
  const parent = command.parent as typeof command | null;
  return parent === null || parent.parent === null ? command.name() : `${nameOf(parent)} ${command.name()}`;
}
