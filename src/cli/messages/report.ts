import type { Context, RunFacts } from '../../context.ts';
import {
  type Charged,
  ConfigurationError,
  LeadpipeError,
  LocalIoError,
  type Outcome,
  UsageError,
} from '../../errors.ts';
import { toSigns } from '../../output/ascii.ts';
import { toTerminalText } from '../../output/clean.ts';
import { colorOf, stylesOf } from '../../output/color.ts';
import { foldFacts, toFacts, wrapMessage } from '../../output/wrap.ts';
import { exitCodeOf } from '../exit-codes.ts';
import { factsOf, recordError } from '../run-facts.ts';
import { type Ran, toHint, toResume } from './hints.ts';

/**
 * The only place where an error becomes text and an exit code. `given` is the command, if one was found. A reader of the output that went away is
 * no error.
 */
export function reportError(
  context: Context,
  thrown: unknown,
  argv: readonly string[],
  given: Ran | undefined,
): number {
  const facts = factsOf(context);
  const ran = given && { ...given, options: { ...given.options, ...facts.route } };
  const error = thrown instanceof LeadpipeError ? thrown : toBug(thrown);
  const exit = exitCodeOf(error.outcome);
  const fields = toErrorFields(error, ran, facts);
  recordError(context, error, fields, toResume(error, ran));
  if (error.outcome === 'reader_closed') return exit;
  const { stream } = context.stderr;
  const { jsonErrors, verbose } = toReportOptions(argv, ran);
  if (jsonErrors) {
    stream.write(`${JSON.stringify({ error: fields })}\n`);
  } else {
    stream.write((context.run.statusLine?.flushGap() ?? '') + toText(context, error, argv, ran));
  }
  // A mistyped command line needs no stack.
  if (verbose && !(thrown instanceof UsageError)) stream.write(`${stackOf(error)}\n`);
  return exit;
}

/** Pure: the options for error messages. If the command line was not parsed, they are read from its words before `--`. */
function toReportOptions(argv: readonly string[], ran: Ran | undefined) {
  if (ran !== undefined) {
    const { color = true, jsonErrors = false, verbose = false } = ran.options;
    return { color, jsonErrors, verbose };
  }
  const end = argv.indexOf('--');
  const words = end === -1 ? argv : argv.slice(0, end);
  const verbose = words.some((word) => word === '--verbose' || /^-[a-z]*v/.test(word));
  return { color: !words.includes('--no-color'), jsonErrors: words.includes('--json-errors'), verbose };
}

const stops: Partial<Readonly<Record<Outcome, string>>> = {
  interrupted: 'Stopped by Ctrl-C',
  terminated: 'Stopped by SIGTERM',
  hung_up: 'Stopped because the terminal was closed',
};

/** Pure: what happened, in whole sentences, followed by the technical cause. */
function toCause({ details, outcome, words }: LeadpipeError): string {
  const by = stops[outcome];
  const text =
    by === undefined ? words : words.replace(/^stopped(?=$|\.| while )/, by).replace(/^s(?=topped )/, 'S');
  const isSentences = text.includes('. ') || by !== undefined;
  const end = isSentences && !/[.!?]$/.test(text) ? '.' : '';
  return `${text}${end}${details.technical === undefined ? '' : ` (${details.technical})`}`;
}

function toText(
  context: Context,
  error: LeadpipeError,
  argv: readonly string[],
  ran: Ran | undefined,
): string {
  const { charged, facts, operationId, requestId } = error.details;
  const { columns } = context.stderr;
  const { red, dim } = stylesOf(colorOf(context, context.stderr, toReportOptions(argv, ran).color));
  // With --local nothing is charged. Mistakes in the command line or the settings are found before anything is sent.
  const isFree = ran?.options.local || error instanceof UsageError || error instanceof ConfigurationError;
  const search = facts !== undefined && 'leadsSearchId' in facts ? facts : undefined;
  const ids = toFacts([
    search?.leadsSearchId && `${search.is === 'search_cut' ? 'search' : 'task'} ${search.leadsSearchId}`,
    requestId && `request ${requestId}`,
    operationId && `operation ${operationId}`,
    charged && !isFree && `charged: ${charged}`,
  ]);
  const start = error.outcome in stops ? '' : 'error: ';
  const [first = '', ...more] = wrapMessage(start + toTerminalText(toCause(error)), columns);
  const hints = toHint(error, ran)?.split('\n') ?? [];
  const lines = [
    start === '' ? first : first.replace(/^error:/, (word) => red(word)),
    ...more,
    ...hints.flatMap((line) => wrapMessage(toTerminalText(line), columns)),
    ...(ids === '' ? [] : foldFacts(toTerminalText(ids), columns))
      .flatMap((line) => wrapMessage(line, columns))
      .map((line) => dim(line)),
  ];
  const signs = toSigns(context, context.stderr);
  return lines.map((line) => (line === '' ? '' : `${signs(line)}\n`)).join('');
}

/** Outcomes of errors before anything is sent, if the error has no `charged`; an error of a request has it. */
const unsent: readonly Outcome[] = ['usage', 'configuration', 'not_found'];

/** Pure: an error as programs get it. */
export function toErrorFields(thrown: unknown, ran?: Ran, facts: RunFacts = {}) {
  const error = thrown instanceof LeadpipeError ? thrown : toBug(thrown);
  const { outcome, details } = error;
  const clean = (text: string | undefined): string | null =>
    text === undefined ? null : toTerminalText(text);
  return {
    type: clean(details.type),
    status: details.status ?? null,
    message: clean(toCause(error)),
    exit: exitCodeOf(outcome),
    request_id: clean(details.requestId),
    operation_id: clean(details.operationId),
    idempotency_key: clean(details.idempotencyKey),
    charged: details.charged ?? toCharged(outcome, ran, facts),
    retryable: details.retryable,
    hint: toOneSentence(toHint(error, ran)),
  };
}

/** Pure: `charged` for an error that does not state it; null for a request of a free command. */
function toCharged(outcome: Outcome, ran: Ran | undefined, { charged, isSent }: RunFacts): Charged | null {
  if (isSent) return ran?.options.local ? 'no' : (charged ?? 'maybe');
  return unsent.includes(outcome) || ran?.has('--max-credits') ? 'no' : null;
}

/** Pure: a hint without the line breaks and columns that people read. */
function toOneSentence(hint: string | undefined): string | null {
  if (hint === undefined) return null;
  const lines = hint.split('\n').map((line) => toTerminalText(line).replace(/\s+/g, ' ').trim());
  return lines.reduce((before, line) =>
    /[.!?]$/.test(before)
      ? `${before} ${line}`
      : `${before}; ${line.charAt(0).toLowerCase()}${line.slice(1)}`,
  );
}

function toBug(thrown: unknown): LeadpipeError {
  if ((thrown as NodeJS.ErrnoException | undefined)?.syscall === 'uv_cwd') {
    return new LocalIoError('the current directory no longer exists', {
      hint: 'Change to another folder, and run it again.',
      cause: thrown,
    });
  }
  const message = thrown instanceof Error ? thrown.message : String(thrown);
  return new LeadpipeError('bug', `a bug in leadpipe: ${message}`, {
    hint: 'Run it again with --verbose and report what it prints.',
    cause: thrown,
  });
}

function stackOf(error: Error): string {
  const own = (error.stack ?? error.message).split('\n').map(toTerminalText).join('\n');
  return error.cause instanceof Error ? `${own}\ncaused by: ${stackOf(error.cause)}` : own;
}
