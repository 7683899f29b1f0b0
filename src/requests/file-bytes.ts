import { createReadStream } from 'node:fs';
import { UsageError } from '../errors.ts';
import { reasonOf } from '../files/write-failure.ts';

/** The bytes of a file. Throws UsageError, in which `name` says what the file is for. */
export async function* bytesOf(path: string, name: string): AsyncGenerator<Uint8Array> {
  try {
    yield* createReadStream(path);
  } catch (error) {
    throw new UsageError(`${name}: can't read ${path}: ${reasonOf(error)}`);
  }
}
