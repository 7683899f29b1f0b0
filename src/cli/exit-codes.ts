import type { Outcome } from '../errors.ts';

/** The one table of exit codes: the number for each outcome, and its meaning in helps. */
export const exitCodes = {
  complete: { code: 0, meaning: 'done (also when nothing was found)' },
  bug: { code: 1, meaning: 'a bug in leadpipe: please report it' },
  usage: {
    code: 2,
    meaning: 'wrong command or input, found here or by the service (422)',
  },
  partial: { code: 3, meaning: 'done in part: the rows written are good, but some are missing' },
  authentication: { code: 4, meaning: 'the API key was refused (401, 403)' },
  credits: { code: 5, meaning: 'not enough credits (402), or above a limit that you set' },
  not_found: { code: 6, meaning: 'not found at the service (404), or not known on this machine' },
  no_result: {
    code: 7,
    meaning: 'the service had no answer, or found nothing (with --exit-status)',
  },
  unknown: { code: 8, meaning: 'outcome unknown: it may have been bought; check before you run it again' },
  not_enabled: { code: 9, meaning: 'the service does not offer this to you yet (503)' },
  local_io: { code: 74, meaning: "a file can't be read or written: disk full, no permission" },
  temporary: { code: 75, meaning: 'temporary: run it again later; the error says if it was charged' },
  interface: { code: 76, meaning: 'the service sent an invalid answer' },
  configuration: {
    code: 78,
    meaning: 'settings: no address, no key, locked keychain, damaged settings file',
  },
  hung_up: { code: 129, meaning: 'stopped because the terminal was closed (SIGHUP)' },
  interrupted: { code: 130, meaning: 'stopped by Ctrl-C' },
  reader_closed: { code: 141, meaning: 'the program that read the output ended, for example `| head`' },
  terminated: { code: 143, meaning: 'stopped by SIGTERM' },
} as const satisfies Record<Outcome, { code: number; meaning: string }>;

/** How a command that only uses this machine can end. */
export const localOutcomes: readonly Outcome[] = [
  'complete',
  'usage',
  'local_io',
  'configuration',
  'interrupted',
  'reader_closed',
  'terminated',
  'hung_up',
];

/** How a change of the settings or keys can end: another process may be changing them. */
export const changeOutcomes: readonly Outcome[] = [
  ...localOutcomes.filter((outcome) => outcome !== 'reader_closed'),
  'temporary',
];

/** How every free request can end; some commands add to this. */
export const freeOutcomes: readonly Outcome[] = [
  ...localOutcomes,
  'authentication',
  'not_enabled',
  'temporary',
  'interface',
];

/** How reading a task can end. It costs nothing, and can be repeated. */
export const readOutcomes: readonly Outcome[] = [...freeOutcomes, 'no_result', 'partial', 'not_found'];

/** How every paid request can end; some commands add to this. */
export const paidOutcomes: readonly Outcome[] = [...freeOutcomes, 'credits', 'no_result', 'unknown'];

/** Pure: the outcomes of only some commands. The topic exit-codes explains the others. */
export function toOwnOutcomes(outcomes: readonly Outcome[]): readonly Outcome[] {
  return outcomes.filter((outcome) => !freeOutcomes.includes(outcome));
}

export function exitCodeOf(outcome: Outcome): number {
  return exitCodes[outcome].code;
}

/** Pure: the codes of these outcomes, each once, in order. */
export function toExitCodes(outcomes: readonly Outcome[]) {
  return [...new Set(outcomes)].map((outcome) => exitCodes[outcome]).sort((a, b) => a.code - b.code);
}
