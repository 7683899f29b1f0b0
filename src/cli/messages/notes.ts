import type { Context } from '../../context.ts';
import { toTerminalText } from '../../output/clean.ts';
import { foldParts } from '../../output/folded-parts.ts';
import type { ConnectionOptions } from '../options/options.ts';

/** Lines on stderr that are not errors. All are cleaned: they repeat what the service said. */
export interface Notes {
  /** Progress and results; silenced by --quiet and --json-errors. */
  say(line: string): void;
  /** What was odd and did no harm; silenced by --json-errors alone. */
  warn(line: string): void;
  /** For --verbose. */
  trace(line: string): void;
}

export function createNotes(
  context: Context,
  options: Pick<ConnectionOptions, 'quiet' | 'jsonErrors' | 'verbose'>,
): Notes {
  const print = (line: string): void => {
    const { stream, columns } = context.stderr;
    stream.write(`${foldParts(toTerminalText(line), columns).join('\n')}\n`);
  };
  const nothing = (): void => {};
  return {
    say: options.quiet || options.jsonErrors ? nothing : print,
    warn: options.jsonErrors ? nothing : (line) => print(`warning: ${line}`),
    trace: options.verbose ? print : nothing,
  };
}
