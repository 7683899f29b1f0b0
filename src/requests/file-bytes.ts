import { createReadStream, promises } from 'node:fs';
import { UsageError } from '../errors.ts';
import { reasonOf } from '../files/write-failure.ts';

/** The number of lines of a file, about as many as it has rows. Undefined where it can't be known beforehand. */
export async function countLines(path: string): Promise<number | undefined> {
  if (/\.(?:xlsx|db|sqlite3?)$/i.test(path)) return undefined;
  let lines = 0;
  try {
    for await (const piece of createReadStream(path)) {
      for (const byte of piece as Buffer) lines += Number(byte === 10);
    }
  } catch {
    return undefined;
  }
  return lines;
}

/** Whether it can be read twice. A pipe can't. */
export async function isRegularFile(path: string): Promise<boolean> {
  return await promises.stat(path).then(
    (stats) => stats.isFile(),
    () => false,
  );
}

/** The bytes of a file. Throws UsageError, in which `name` says what the file is for. */
export async function* bytesOf(path: string, name: string): AsyncGenerator<Uint8Array> {
  try {
    yield* createReadStream(path);
  } catch (error) {
    throw new UsageError(`${name}: can't read ${path}: ${reasonOf(error)}`);
  }
}
