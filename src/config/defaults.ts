import type { Settings } from './settings.ts';

/** Defaults of the settings that have a single one. Time limits differ by endpoint. */
export const defaults = {
  auth_header: 'auto',
  credential_store: 'keychain',
  'timeout.connect': 10,
  'retry.attempts': 20,
  'retry.budget': 60,
  'poll.interval': 5,
  'poll.max': 30,
} as const satisfies Settings;

/** Pure: the shortest and the longest wait between two checks of a task, in milliseconds. */
export function toPollTimes(settings: Settings) {
  return {
    firstMs: 1000 * (settings['poll.interval'] ?? defaults['poll.interval']),
    maxMs: 1000 * (settings['poll.max'] ?? defaults['poll.max']),
  };
}
