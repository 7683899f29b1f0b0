import { createReadStream } from 'node:fs';
import { TextDecoder } from 'node:util';
import { UsageError } from '../errors.ts';

/** Bytes that say which text they are, at its beginning. */
const marks = [
  { encoding: 'utf-8', bytes: [0xef, 0xbb, 0xbf] },
  { encoding: 'utf-16le', bytes: [0xff, 0xfe] },
  { encoding: 'utf-16be', bytes: [0xfe, 0xff] },
] as const;

/**
 * The text of bytes in UTF-8, or in UTF-16 with its byte order mark, piece after piece. `what` names the input in the
 * UsageError for anything else: garbage would be sent, and paid for.
 */
export async function* decoded(
  bytes: AsyncIterable<Uint8Array | string>,
  what: string,
): AsyncGenerator<string> {
  let decoder: TextDecoder | undefined;
  let first: Buffer = Buffer.alloc(0);
  const refuse = (): never => {
    throw new UsageError(
      `${what} is neither UTF-8 nor UTF-16 with a byte order mark`,
      'Save it as UTF-8: what can not be read would be sent as garbage.',
    );
  };
  const decode = (piece: Uint8Array, isLast: boolean): string => {
    try {
      return (decoder as TextDecoder).decode(piece, { stream: !isLast });
    } catch {
      return refuse();
    }
  };
  for await (const piece of bytes) {
    let some: Uint8Array = Buffer.from(piece);
    if (decoder === undefined) {
      first = Buffer.concat([first, some]);
      if (first.length < 3) continue;
      decoder = decoderOf(first);
      some = first;
    }
    const text = decode(some, false);
    // No text holds it, and UTF-16 without its mark is full of it.
    if (text.includes('\0')) refuse();
    if (text !== '') yield text;
  }
  decoder ??= decoderOf(first);
  const rest = decode(first.length < 3 ? first : new Uint8Array(), true);
  if (rest !== '') yield rest;
}

function decoderOf(first: Buffer): TextDecoder {
  const mark = marks.find(({ bytes }) => bytes.every((byte, at) => first[at] === byte));
  return new TextDecoder(mark?.encoding ?? 'utf-8', { fatal: true });
}

/** About how many rows a file has: its lines. Undefined where that can't be told beforehand. */
export async function countLines(path: string): Promise<number | undefined> {
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

/** The bytes of a file. Throws UsageError, which says what it is for: `name`. */
export async function* bytesOf(path: string, name: string): AsyncGenerator<Uint8Array> {
  try {
    yield* createReadStream(path);
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    const why =
      code === 'ENOENT' ? 'there is no such file' : code === 'EISDIR' ? 'it is a directory' : message;
    throw new UsageError(`${name}: cannot read ${path}: ${why}`);
  }
}
