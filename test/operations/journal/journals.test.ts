import {
  appendFileSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { entry, toLine } from '../../../src/operations/journal/entries.ts';
import { createJournal } from '../../../src/operations/journal/journal.ts';
import { createJournals } from '../../../src/operations/journal/journal-file.ts';
import { openOperation, readOperation } from '../../../src/operations/known-operations.ts';
import { intentOf } from '../../helpers/journals.ts';
import { temporaryFolder } from '../../helpers/run.ts';
import { keepingIn } from '../../helpers/stored.ts';

const intent = intentOf({ command: 'search', idempotency_key: 'k', body: '{}' });
const sent = toLine(entry.sent(new Date(0)));
const dropped = toLine(entry.terminal('interrupted', { charged: 'no' }));

async function begun(id = 'op_1', state = temporaryFolder()) {
  const journal = await createJournal(keepingIn(state), id);
  await journal.append(intent);
  await journal.close();
  const path = join(state, 'operations', id, 'journal.jsonl');
  return { state, path, journals: createJournals(state) };
}

describe('a journal that was read', () => {
  it('is cached while the file is unchanged, up to a maximum number', async () => {
    const { state, path, journals } = await begun();
    const first = await journals.read('op_1');
    expect(first?.entries).toMatchObject([{ type: 'intent', idempotency_key: 'k' }]);
    expect(await journals.read('op_1')).toBe(first);
    for (let nth = 0; nth < 100; nth++) {
      await begun(`op_2${nth}`, state);
      await journals.read(`op_2${nth}`);
    }
    expect(journals.known('op_1')).toBeUndefined();
    rmSync(path);
    expect(await journals.read('op_1')).toBeUndefined();
  });

  const changes: readonly [name: string, change: (path: string) => void][] = [
    [
      'has a line more',
      (path) => {
        appendFileSync(path, sent);
        utimesSync(path, 1, 1);
      },
    ],
    ['has lost its last line', (path) => truncateSync(path, statSync(path).size - sent.length)],
    [
      'has another line of the same length',
      (path) => {
        truncateSync(path, statSync(path).size - sent.length);
        appendFileSync(path, sent.replace('1970', '1971'));
        utimesSync(path, 2, 2);
      },
    ],
    [
      'is another file of the same length and time',
      (path) => {
        writeFileSync(`${path}.new`, readFileSync(path, 'utf8').replace('1970', '1971'));
        renameSync(`${path}.new`, path);
        utimesSync(path, 1, 1);
      },
    ],
  ];

  it.each(changes)('is read again where it %s, by who resumes it, too', async (_, change) => {
    const { state, path, journals } = await begun();
    appendFileSync(path, sent);
    utimesSync(path, 1, 1);
    const ofResume = createJournals(state);
    for (const some of [journals, ofResume]) await some.read('op_1');
    change(path);
    const now = await createJournals(state).read('op_1');
    expect(await journals.read('op_1')).toEqual(now);
    const opening = openOperation(keepingIn(state), 'op_1', ofResume);
    const seen = await opening.then(
      async ({ journal, operation }) => {
        await journal.close();
        return operation.isSent;
      },
      (error: Error) => error.message,
    );
    expect(seen).toBe(now?.damage?.message ?? now?.entries.some(({ type }) => type === 'sent'));
  });

  it('is not read again when it is resumed, if it has not changed', async () => {
    const { state, path, journals } = await begun();
    utimesSync(path, 1, 1);
    await readOperation(journals, 'op_1');
    // Damage that the metadata of the file does not show.
    writeFileSync(path, readFileSync(path, 'utf8').replace('"k"', '"l"'));
    utimesSync(path, 1, 1);
    const { journal, operation } = await openOperation(keepingIn(state), 'op_1', journals);
    expect(operation.parts[0]?.idempotencyKey).toBe('k');
    // New entries are added after it.
    await journal.append(entry.terminal('interrupted', { charged: 'no' }));
    await journal.close();
    expect(readFileSync(path, 'utf8').endsWith(dropped)).toBe(true);
  });
});
