import type { Context } from '../../context.ts';
import { toTerminalText } from '../../output/clean.ts';
import { colorOf, stylesOf } from '../../output/color.ts';
import { foldFacts, wrapMessage } from '../../output/wrap.ts';
import type { ReportOptions } from '../options/options.ts';
import { statusLineOf } from './status-line.ts';

/** Lines on stderr that are not errors. All are cleaned: they repeat what the service said. */
export interface Notes {
  /** Progress and results; silenced by --quiet and --json-errors. */
  say(line: string): void;
  /** IDs and other things to quote, faint; silenced as `say`. */
  quote(line: string): void;
  /** What was odd and did no harm; silenced by --json-errors alone. */
  warn(line: string): void;
  /** For --verbose. */
  trace(line: string): void;
}

export function createNotes(context: Context, options: Partial<ReportOptions>): Notes {
  const { yellow, dim } = stylesOf(colorOf(context, context.stderr, options.color ?? true));
  const print = (line: string, style = (part: string): string => part, breaks = wrapMessage): void => {
    const { stream, columns } = context.stderr;
    const parts = foldFacts(toTerminalText(line), columns).flatMap((part) => breaks(part, columns));
    const status = statusLineOf(context);
    status?.hold();
    stream.write((status?.takeGap() ?? '') + parts.map((part) => `${style(part)}\n`).join(''));
    status?.release();
  };
  const nothing = (): void => {};
  const silent = options.quiet || options.jsonErrors;
  const toWarning = (part: string): string => part.replace(/^warning:/, (word) => yellow(word));
  return {
    say: silent ? nothing : (line) => print(line),
    // An ID stays behind its name.
    quote: silent ? nothing : (line) => print(line, dim, (part) => [part]),
    warn: options.jsonErrors ? nothing : (line) => print(`warning: ${line}`, toWarning),
    trace: options.verbose ? (line) => print(line) : nothing,
  };
}
