import { pipeline, Readable, type Transform } from 'node:stream';
import * as zlib from 'node:zlib';

/** Nobody has a reason for more. */
const mostCodings = 5;

/**
 * The bytes of a body without its content encodings; with one that is not known, and with too many, as they are. Throws
 * what `pieces` and zlib throw. That the body is whole is for others to prove.
 */
export async function* decoded(
  pieces: AsyncIterable<Uint8Array>,
  contentEncoding: string,
): AsyncGenerator<Uint8Array> {
  const codings = contentEncoding.toLowerCase().split(',');
  if (codings.length > mostCodings) return yield* pieces;
  const decoders = codings.reverse().map((coding) => decoderOf(coding.trim()));
  if (decoders.includes(undefined)) return yield* pieces;
  yield* (decoders as Transform[]).reduce<Readable>(
    // What goes wrong is thrown by the last of them.
    (source, decoder) => pipeline(source, decoder, () => {}),
    Readable.from(pieces),
  );
}

function decoderOf(coding: string): Transform | undefined {
  // Whatever has come is given out at once, and what is missing at the end is no error here.
  const flush = zlib.constants.Z_SYNC_FLUSH;
  if (coding === 'gzip' || coding === 'x-gzip') return zlib.createGunzip({ flush, finishFlush: flush });
  if (coding === 'deflate') return zlib.createInflate({ flush, finishFlush: flush });
  if (coding === 'br') {
    const now = zlib.constants.BROTLI_OPERATION_FLUSH;
    return zlib.createBrotliDecompress({ flush: now, finishFlush: now });
  }
  return undefined;
}
