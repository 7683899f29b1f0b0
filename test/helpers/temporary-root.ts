import { chmodSync, mkdtempSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/**
 * All temporary folders of a test run are in one folder, which is removed at its end: neither a worker that vitest stops
 * nor a command that a test kills can clean up.
 */
export default function setup(): () => Promise<void> {
  const root = mkdtempSync(join(tmpdir(), 'leadpipe-tests-'));
  // Some tests run the command as another user, who has to come through.
  chmodSync(root, 0o711);
  // Workers and their child processes inherit these. Windows uses TEMP.
  process.env.TMPDIR = root;
  process.env.TEMP = root;
  // Asynchronously: it takes a while, and a blocked vitest would think that the last workers hang.
  return () => rm(root, { recursive: true, force: true, maxRetries: 5 });
}
