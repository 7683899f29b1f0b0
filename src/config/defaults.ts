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
