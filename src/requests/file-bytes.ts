import { createReadStream, promises } from 'node:fs';
import { UsageError } from '../errors.ts';
import { reasonOf } from '../files/write-failure.ts';

/** About how many rows a file has: its lines. Undefined where that can't be known beforehand. */
export async function countLines(path: string): Promise<number | undefined> {
  if (path.toLowerCase().endsWith('.xlsx')) return undefined;
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

/** Whether it can be read twice: a pipe brings its bytes once. */
export async function isRegularFile(path: string): Promise<boolean> {
  return await promises.stat(path).then(
    (stats) => stats.isFile(),
    () => false,
  );
}

/** The bytes of a file. Throws UsageError, which says what it is for: `name`. */
export async function* bytesOf(path: string, name: string): AsyncGenerator<Uint8Array> {
  try {
    yield* createReadStream(path);
  } catch (error) {
    throw new UsageError(`${name}: can't read ${path}: ${reasonOf(error)}`);
  }
}
