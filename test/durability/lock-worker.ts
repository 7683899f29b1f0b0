import { closeSync, openSync, unlinkSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { LeadpipeError } from '../../src/errors.ts';
import { openOperation } from '../../src/operations/known-operations.ts';
import { pageOf } from '../helpers/journals.ts';
import { keepingIn } from '../helpers/stored.ts';

/** Adds a page to each given operation, as soon as no other process is working on it. */
const [, , stateDir = ''] = process.argv;

for await (const operationId of createInterface({ input: process.stdin })) {
  let refusals = 0;
  while (!(await addPage(operationId))) refusals++;
  console.log(JSON.stringify({ operationId, refusals }));
}

async function addPage(operationId: string): Promise<boolean> {
  const opened = await openOperation(keepingIn(stateDir), operationId).catch((error: unknown) => {
    if (error instanceof LeadpipeError && error.outcome === 'temporary') return undefined;
    throw error;
  });
  if (opened === undefined) return false;
  const { journal, operation } = opened;
  const busy = join(stateDir, 'operations', operationId, 'busy');
  // Fails if another process holds the lock.
  closeSync(openSync(busy, 'wx'));
  await journal.append(pageOf(operation.progress.position, 1));
  unlinkSync(busy);
  await journal.close();
  return true;
}
