import type { Context } from '../../context.ts';
import { LeadpipeError } from '../../errors.ts';
import { toTerminalText } from '../../output/clean.ts';
import { foldParts } from '../../output/folded-parts.ts';
import { exitCodeOf } from '../exit-codes.ts';
import { type Ran, toHint } from './hints.ts';

export interface ReportOptions {
  readonly jsonErrors: boolean;
  readonly verbose: boolean;
  /** The command that ran; undefined when none came to that. */
  readonly ran: Ran | undefined;
}

/**
 * The one place where an error becomes text and an exit code. A reader that went away is not told anything: there
 * may be no one to tell.
 */
export function reportError(context: Context, thrown: unknown, options: ReportOptions): number {
  const error = thrown instanceof LeadpipeError ? thrown : toBug(thrown);
  const exit = exitCodeOf(error.outcome);
  if (error.outcome === 'reader_closed') return exit;
  const hint = toHint(error, options.ran);
  const { stream } = context.stderr;
  stream.write(
    options.jsonErrors ? `${toJson(error, exit, hint)}\n` : toText(error, hint, context.stderr.columns),
  );
  if (options.verbose) stream.write(`${stackOf(error)}\n`);
  return exit;
}

function toText(
  { message, details }: LeadpipeError,
  hint: string | undefined,
  columns: number | undefined,
): string {
  const facts = [
    details.requestId === undefined ? undefined : `request ${details.requestId}`,
    details.operationId === undefined ? undefined : `operation ${details.operationId}`,
    details.charged === undefined ? undefined : `charged: ${details.charged}`,
  ].filter((fact) => fact !== undefined);
  // The rest is wrapped by the terminal, and so can still be copied as the one line it is.
  const folded = foldParts(toTerminalText(facts.join(' · ')), columns);
  const lines = [`leadpipe: ${message}`, ...(hint?.split('\n') ?? []), ...folded];
  return lines
    .filter((line) => line !== undefined && line !== '')
    .map((line) => `${toTerminalText(line as string)}\n`)
    .join('');
}

function toJson(
  { message, outcome, details }: LeadpipeError,
  exit: number,
  hint: string | undefined,
): string {
  const error = {
    type: toTerminalText(details.type ?? outcome),
    status: details.status ?? null,
    message: toTerminalText(message),
    exit,
    request_id: textOrNull(details.requestId),
    operation_id: textOrNull(details.operationId),
    idempotency_key: textOrNull(details.idempotencyKey),
    charged: details.charged ?? null,
    retryable: details.retryable ?? false,
    hint: textOrNull(hint),
  };
  return JSON.stringify({ error });
}

function textOrNull(text: string | undefined): string | null {
  return text === undefined ? null : toTerminalText(text);
}

function toBug(thrown: unknown): LeadpipeError {
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
