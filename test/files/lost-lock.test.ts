import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { type HeldLock, LockLostError } from '../../src/files/folder-lock.ts';
import { openLog, toCheckedLine } from '../../src/files/line-log.ts';
import { writeAtomically } from '../../src/files/whole-file.ts';
import { noLock } from '../helpers/journals.ts';
import { temporaryFolder } from '../helpers/run.ts';

/** What was stopped for so long that another process has taken over touches nothing that is the other's now. A disk that failed gets no more. */

/** A lock that is lost when it is asked for the nth time; `meanwhile` is what the other process does. */
function lostAt(nth: number, meanwhile: () => void): HeldLock {
  let asked = 0;
  return {
    confirm() {
      if (++asked < nth) return;
      meanwhile();
      throw new LockLostError('temporary', 'lost', {});
    },
  };
}

it.each([1, 2])('a file that is written whole (%i)', async (nth) => {
  const path = join(temporaryFolder(), 'settings.json');
  const part = `${path}.part`;
  writeFileSync(path, 'of the other');
  writeFileSync(part, 'under way');
  const lock = lostAt(nth, () => {
    rmSync(part, { force: true });
    writeFileSync(part, 'of the other, under way');
  });
  await expect(writeAtomically(path, 'mine', 'settings', lock)).rejects.toThrow(LockLostError);
  expect(readFileSync(path, 'utf8')).toBe('of the other');
  expect(readFileSync(part, 'utf8')).toBe('of the other, under way');
});

const line = toCheckedLine('sent', '{"a":1}');

it('a log with an incomplete line, which the other is writing', async () => {
  const path = join(temporaryFolder(), 'rows.jsonl');
  writeFileSync(path, `${line}{"half`);
  const lock = lostAt(1, () => {});
  await expect(openLog(path, 'any', 'rows', lock)).rejects.toThrow(LockLostError);
  expect(readFileSync(path, 'utf8')).toBe(`${line}{"half`);
});

it('a log that lines are added to', async () => {
  const path = join(temporaryFolder(), 'rows.jsonl');
  const log = await openLog(
    path,
    'any',
    'rows',
    lostAt(2, () => {}),
  );
  log.append(line);
  expect(() => log.append(line)).toThrow(LockLostError);
  await log.close();
  expect(readFileSync(path, 'utf8')).toBe(line);
});

it('a log that the disk did not confirm: the next line could stand behind a hole', async () => {
  const path = join(temporaryFolder(), 'rows.jsonl');
  const log = await openLog(path, 'any', 'rows', noLock);
  log.handle.datasync = () => Promise.reject(new Error('EIO'));
  log.append(line);
  await expect(log.sync()).rejects.toThrow('EIO');
  expect(() => log.append(line)).toThrow('EIO');
  await expect(log.sync()).rejects.toThrow('EIO');
  await log.close();
  expect(readFileSync(path, 'utf8')).toBe(line);
});
