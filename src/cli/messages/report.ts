import type { Context } from '../../context.ts';
import { ConfigurationError, LeadpipeError, LocalIoError, type Outcome, UsageError } from '../../errors.ts';
import { toTerminalText } from '../../output/clean.ts';
import { colorOf, type Styles, stylesOf } from '../../output/color.ts';
import { foldFacts, wrapMessage } from '../../output/wrap.ts';
import { exitCodeOf } from '../exit-codes.ts';
import { type Ran, toHint } from './hints.ts';
import { statusLineOf } from './status-line.ts';

export interface ReportOptions {
  readonly jsonErrors: boolean;
  readonly verbose: boolean;
  /** False for --no-color. */
  readonly color: boolean;
  /** The command that ran; undefined when none came to that. */
  readonly ran: Ran | undefined;
}

/**
 * The one place where an error becomes text and an exit code. A reader that went away gets no message: there
 * may be no one to read it.
 */
export function reportError(context: Context, thrown: unknown, options: ReportOptions): number {
  const error = thrown instanceof LeadpipeError ? thrown : toBug(thrown);
  const exit = exitCodeOf(error.outcome);
  if (error.outcome === 'reader_closed') return exit;
  const hint = toHint(error, options.ran);
  const { columns, stream } = context.stderr;
  const styles = stylesOf(colorOf(context, context.stderr, options.color));
  stream.write(
    options.jsonErrors
      ? `${JSON.stringify({ error: toErrorFields(error, options.ran) })}\n`
      : (statusLineOf(context)?.takeGap() ?? '') +
          toText(error, hint, columns, styles, options.ran?.options.local),
  );
  if (options.verbose) stream.write(`${stackOf(error)}\n`);
  return exit;
}

const stops: Partial<Readonly<Record<Outcome, string>>> = {
  interrupted: 'Stopped by Ctrl-C',
  terminated: 'Stopped by SIGTERM',
};

/** Pure: what happened, whole sentences with a full stop, and the technical form behind. */
function toCause({ details, outcome, words }: LeadpipeError): string {
  const by = stops[outcome];
  const text =
    by === undefined ? words : words.replace(/^stopped(?=$|\.| while )/, by).replace(/^s(?=topped )/, 'S');
  const isSentences = text.includes('. ') || by !== undefined;
  const end = isSentences && !/[.!?]$/.test(text) ? '.' : '';
  return `${text}${end}${details.technical === undefined ? '' : ` (${details.technical})`}`;
}

function toText(
  error: LeadpipeError,
  hint: string | undefined,
  columns: number | undefined,
  { red, dim }: Styles,
  isLocal = false,
): string {
  const { details, outcome } = error;
  const { facts } = details;
  // With --local nothing is ever charged. What is wrong with the command line or the settings is found before anything could have been sent.
  const isSent = !(isLocal || error instanceof UsageError || error instanceof ConfigurationError);
  const ids = [
    facts === undefined || !('leadsSearchId' in facts)
      ? undefined
      : `${facts.is === 'search_cut' ? 'search' : 'task'} ${facts.leadsSearchId}`,
    details.requestId === undefined ? undefined : `request ${details.requestId}`,
    details.operationId === undefined ? undefined : `operation ${details.operationId}`,
    details.charged === undefined || !isSent ? undefined : `charged: ${details.charged}`,
  ].filter((fact) => fact !== undefined);
  const isStopped = outcome in stops;
  const cause = wrapMessage((isStopped ? '' : 'error: ') + toTerminalText(toCause(error)), columns);
  const folded = foldFacts(toTerminalText(ids.join(' · ')), columns);
  const lines = [
    ...cause.map((line, at) =>
      at === 0 && !isStopped ? line.replace(/^error:/, (word) => red(word)) : line,
    ),
    ...(hint?.split('\n').flatMap((line) => wrapMessage(toTerminalText(line), columns)) ?? []),
    ...folded.filter((line) => line !== '').map((line) => dim(line)),
  ];
  return lines
    .filter((line) => line !== '')
    .map((line) => `${line}\n`)
    .join('');
}

/** What ends so is found here, before anything is sent; a request that ends so says itself what was charged. */
const unsent: readonly Outcome[] = ['usage', 'configuration', 'not_found'];

/** Pure: an error as programs get it. */
export function toErrorFields(thrown: unknown, ran?: Ran) {
  const error = thrown instanceof LeadpipeError ? thrown : toBug(thrown);
  const { outcome, details } = error;
  return {
    type: toTerminalText(details.type ?? outcome),
    status: details.status ?? null,
    message: toTerminalText(toCause(error)),
    exit: exitCodeOf(outcome),
    request_id: textOrNull(details.requestId),
    operation_id: textOrNull(details.operationId),
    idempotency_key: textOrNull(details.idempotencyKey),
    charged: details.charged ?? (unsent.includes(outcome) ? 'no' : null),
    retryable: details.retryable ?? false,
    hint: toHint(error, ran)?.split('\n').map(toTerminalText).join('\n') ?? null,
  };
}

function textOrNull(text: string | undefined): string | null {
  return text === undefined ? null : toTerminalText(text);
}

function toBug(thrown: unknown): LeadpipeError {
  if ((thrown as NodeJS.ErrnoException | undefined)?.syscall === 'uv_cwd') {
    return new LocalIoError('the folder that you are in does not exist any more', {
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
