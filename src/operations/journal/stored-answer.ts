import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { ConfigurationError } from '../../errors.ts';
import type { HeldLock } from '../../files/folder-lock.ts';
import { fromCheckedLine, toCheckedLine } from '../../files/line-log.ts';
import { writeWhole } from '../../files/whole-file.ts';
import type { JsonText } from '../../json/text.ts';
import { readOrNothing } from './folders.ts';

/** The file in an operation's folder with the whole answer, as the service sent it, and its checksum. */
export const answerFile = 'answer.json';
/** The file with what arrived in place of an answer: it may hold what was paid for. */
export const garbledFile = 'answer.garbled';

/** Resolves when the answer is on the disk: all of it, or nothing. `lock` is that of the operation. Throws LocalIoError, LockLostError. */
export async function storeAnswer(folder: string, answer: JsonText, lock: HeldLock): Promise<void> {
  await writeWhole(join(folder, answerFile), toCheckedLine('answer', answer), 'the answer', lock);
}

/** The same for what came instead of an answer. Returns where it is. Throws LocalIoError. */
export async function storeGarbled(folder: string, text: string, lock: HeldLock): Promise<string> {
  const path = join(folder, garbledFile);
  await writeWhole(path, text, 'the answer', lock);
  return path;
}

/** Undefined when there is none, or no longer one. Throws ConfigurationError for a damaged one, LocalIoError. */
export async function readAnswer(folder: string): Promise<JsonText | undefined> {
  const path = join(folder, answerFile);
  const stored = await readOrNothing(() => readFile(path, 'utf8'), path);
  if (stored === undefined) return undefined;
  const found = stored.endsWith('\n') ? fromCheckedLine(stored.slice(0, -1)) : undefined;
  if (found?.member === 'answer') return found.text;
  throw new ConfigurationError(
    `the answer in ${path} is damaged`,
    "It can't be shown any more. leadpipe did not change it.",
  );
}
