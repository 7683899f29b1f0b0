import { appendFileSync, existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { entry } from '../../../src/operations/journal/entries.ts';
import { folderOf } from '../../../src/operations/journal/folders.ts';
import { createJournal } from '../../../src/operations/journal/journal.ts';
import { spareFile } from '../../../src/operations/journal/journal-file.ts';
import { openIndex } from '../../../src/operations/journal/operation-index.ts';
import { withDigests } from '../../../src/operations/order-digests.ts';
import { intentOf } from '../../helpers/journals.ts';
import { keepingIn, readOperations } from '../../helpers/stored.ts';

/** An operation whose disk, a very small one, fills up. Tells what could be written, and what is there afterwards. */
const [, , disk = '', without] = process.argv;

const state = join(disk, 'state');
const context = keepingIn(state);
const folder = folderOf(state, 'op_1');
const spare = join(folder, spareFile);
const filler = join(disk, 'filler');

function fill(): void {
  for (const size of [1 << 16, 1 << 12, 1]) {
    try {
      for (;;) appendFileSync(filler, Buffer.alloc(size));
    } catch {
      // The disk has no room for this any more.
    }
  }
}

async function outcomeOf(write: Promise<void>): Promise<string> {
  return await write.then(
    () => 'written',
    (error) => error.outcome,
  );
}

const journal = await createJournal(context, 'op_1');
await journal.append(await withDigests(intentOf({ command: 'search', idempotency_key: 'k', body: '{}' })));
writeFileSync(filler, '');
fill();
let notes = 0;
let noted = '';
while (noted === '') {
  try {
    // The last block of the journal has room for some of them.
    journal.note(entry.printed(++notes));
  } catch (error) {
    noted = (error as Error).message;
  }
}
const appended = await outcomeOf(journal.append(entry.created('ls_1', null as never)));
if (without === 'without') {
  rmSync(spare);
  fill();
}
const last = [
  entry.answered('req_1', { stop_reason: 'x'.repeat(1500) }),
  entry.terminal('complete', { charged: 'yes', leads: 3, spent: { credits: 3 } }),
];
const isThere = existsSync(spare);
const ended = await outcomeOf(journal.end(...last));
const endedAgain = await outcomeOf(journal.end(entry.balance(1)));
const isGone = !existsSync(spare);
await journal.close();
const text = readFileSync(join(folder, 'journal.jsonl'), 'utf8');
const [operation] = (await readOperations(state)).operations;
rmSync(filler);
const lines = [...(await openIndex(context)).newest()].map(({ is }) => is);
console.log(
  JSON.stringify({
    ...{ notes, noted, appended, ended, endedAgain, isThere, isGone, lines },
    isWhole: text.endsWith('}\n'),
    types: operation?.entries.map(({ type }) => type).filter((type) => type !== 'printed'),
    names: readdirSync(folder),
  }),
);
