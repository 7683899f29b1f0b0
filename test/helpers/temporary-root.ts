import { chmodSync, mkdtempSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/**
 * All temporary folders of a test run stand in one, which is removed at its end: a worker that vitest ends has no time
 * to tidy up, and neither has a command that a test kills.
 */
export default function setup(): () => Promise<void> {
  const root = mkdtempSync(join(tmpdir(), 'leadpipe-tests-'));
  // Some tests run the command as another user, who has to come through.
  chmodSync(root, 0o711);
  // The workers, and whatever they start, inherit it; TEMP is what Windows asks.
  process.env.TMPDIR = root;
  process.env.TEMP = root;
  // Not at once: it takes a while, and vitest would take the last workers for stuck, since it could not hear them end.
  return () => rm(root, { recursive: true, force: true, maxRetries: 5 });
}
