import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/**
 * All temporary folders of a test run stand in one, which is removed at its end: a worker that vitest ends has no time
 * to tidy up, and neither has a command that a test kills.
 */
export default function setup(): () => void {
  const root = mkdtempSync(join(tmpdir(), 'leadpipe-tests-'));
  // Some tests run the command as another user, who has to come through.
  chmodSync(root, 0o711);
  // The workers, and whatever they start, inherit it; TEMP is what Windows asks.
  process.env.TMPDIR = root;
  process.env.TEMP = root;
  return () => rmSync(root, { recursive: true, force: true, maxRetries: 5 });
}
