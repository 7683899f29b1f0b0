import type { Intent, JournalEntry } from '../../src/operations/journal/entries.ts';

/** For what no other process writes. */
export const noLock = { confirm() {} };

/** The first line of an operation's journal. */
export function intentOf(changes: Partial<Intent> = {}): Intent {
  return {
    type: 'intent',
    version: 1,
    time: '2026-01-05T12:00:00.000Z',
    command: 'task run',
    profile: null,
    origin: 'https://a.example',
    key_fingerprint: 'abc',
    output: null,
    options: {},
    index: { like: '', key: changes.idempotency_key },
    ...changes,
  };
}

/** A page of a running task with this number of leads, the first one at `pts`. */
export function pageOf(pts: number, count: number): JournalEntry {
  return { type: 'page', pts, count, next: pts + count, ready_count: 9, state: 'running' };
}
