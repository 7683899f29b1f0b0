import type { Outcome } from '../errors.ts';
import { exitCodeHelp } from './exit-codes.ts';

export interface CommandHelp {
  /** Two command lines that run as they stand. */
  readonly examples: readonly [string, string];
  /** The shape of what goes to stdout. */
  readonly output: readonly string[];
  readonly outcomes: readonly Outcome[];
}

/** What stands below the options in a command's help. */
export function toHelpText({ examples, output, outcomes }: CommandHelp): string {
  return [
    '',
    'Examples:',
    ...examples.map((line) => `  $ ${line}`),
    '',
    'Output shape:',
    ...output.map((line) => `  ${line}`),
    '',
    exitCodeHelp(outcomes),
  ].join('\n');
}
