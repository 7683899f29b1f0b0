import { createReadStream, promises } from 'node:fs';
import { UsageError } from '../errors.ts';
import { reasonOf } from '../files/write-failure.ts';

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
