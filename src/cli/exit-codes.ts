import type { Outcome } from '../errors.ts';

export interface ExitCode {
  readonly code: number;
  readonly meaning: string;
}

/** The one table of exit codes: what every command returns, and what its help says about it. */
export const exitCodes = {
  complete: { code: 0, meaning: 'complete (finding nothing is complete)' },
  bug: { code: 1, meaning: 'a bug in leadpipe' },
  usage: { code: 2, meaning: 'usage or invalid input: found here, or 422' },
  partial: { code: 3, meaning: 'partial: the rows written are good, and there should have been more' },
  authentication: { code: 4, meaning: 'authentication: 401, 403' },
  credits: { code: 5, meaning: 'credits: 402, or a local limit refused' },
  not_found: { code: 6, meaning: 'not found: 404' },
  no_result: { code: 7, meaning: 'finished without a result' },
  unknown: { code: 8, meaning: 'outcome unknown or conflicting: do not run it again blindly' },
  not_enabled: { code: 9, meaning: 'not enabled here: 503' },
  local_io: { code: 74, meaning: 'local I/O: disk full, output not writable' },
  temporary: { code: 75, meaning: 'temporary, nothing newly charged: safe to run again' },
  interface: { code: 76, meaning: 'the service broke its interface' },
  configuration: {
    code: 78,
    meaning: 'configuration: no address, no key, locked keychain, corrupt settings',
  },
  interrupted: { code: 130, meaning: 'interrupted' },
  reader_closed: { code: 141, meaning: 'the reader of the output went away' },
  terminated: { code: 143, meaning: 'terminated' },
} as const satisfies Record<Outcome, ExitCode>;

/** How a command can end that is about this machine alone, and prints. */
export const localOutcomes: readonly Outcome[] = [
  'complete',
  'usage',
  'local_io',
  'configuration',
  'interrupted',
  'reader_closed',
  'terminated',
];

/** How a change of the settings or keys can end: another process may be at it. */
export const changeOutcomes: readonly Outcome[] = [
  ...localOutcomes.filter((outcome) => outcome !== 'reader_closed'),
  'temporary',
];

/** How every free request can end; some commands know further ends. */
export const freeOutcomes: readonly Outcome[] = [
  ...localOutcomes,
  'authentication',
  'not_enabled',
  'temporary',
  'interface',
];

/** How reading a task can end: it costs nothing, and can be done again. */
export const readOutcomes: readonly Outcome[] = [...freeOutcomes, 'no_result', 'partial', 'not_found'];

/** How every paid request can end; some commands know further ends. */
export const paidOutcomes: readonly Outcome[] = [...freeOutcomes, 'credits', 'no_result', 'unknown'];

export function exitCodeOf(outcome: Outcome): number {
  return exitCodes[outcome].code;
}

/** Pure: the codes of these outcomes, each once, in order. */
export function toExitCodes(outcomes: readonly Outcome[]): ExitCode[] {
  return [...new Set(outcomes)].map((outcome) => exitCodes[outcome]).sort((a, b) => a.code - b.code);
}
