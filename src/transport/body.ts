import { pipeline, Readable, type Transform } from 'node:stream';
import * as zlib from 'node:zlib';
import type { Exchange } from './exchange.ts';
import type { Mask } from './mask.ts';

/** Characters. A body is masked in parts of `longestPart`; a key is shorter than `longestKey`, even when it is escaped. */
const [longestPart, longestKey] = [1024 * 1024, 64 * 1024];

/** The bytes of a body as they arrive, decoded; as they are in an unknown content encoding. Throws what the exchange and zlib throw. */
export async function* piecesOf(exchange: Exchange): AsyncGenerator<Uint8Array> {
  const decoder = decoders.get(exchange.headers.get('content-encoding')?.trim().toLowerCase() ?? '')?.();
  if (decoder === undefined) return yield* exchange.body();
  // Errors are thrown by the decoder.
  for await (const piece of pipeline(Readable.from(exchange.body()), decoder, () => {})) {
    // Decompressing can take long even when the whole body has arrived.
    exchange.signal.throwIfAborted();
    yield piece;
  }
}

/** Gives out what has arrived at once. A missing end is no error here: others check that the body is complete. */
const flush = zlib.constants.Z_SYNC_FLUSH;
const flushBrotli = zlib.constants.BROTLI_OPERATION_FLUSH;
const gunzip = (): Transform => zlib.createGunzip({ flush, finishFlush: flush });
const decoders = new Map<string, () => Transform>([
  ['gzip', gunzip],
  ['x-gzip', gunzip],
  ['deflate', () => zlib.createInflate({ flush, finishFlush: flush })],
  ['br', () => zlib.createBrotliDecompress({ flush: flushBrotli, finishFlush: flushBrotli })],
]);

/**
 * Reads a body and masks it in parts, so that each step is short. Bytes that are not UTF-8 are replaced: the rest may be what was paid for.
 * Throws a RangeError when it is over the cap.
 */
export async function readText(
  pieces: AsyncIterable<Uint8Array>,
  maxBytes: number,
  mask: Mask,
): Promise<{ readonly text: string; readonly isUtf8: boolean }> {
  let decoder = new TextDecoder('utf-8', { fatal: true });
  let isUtf8 = true;
  const decode = (piece?: Uint8Array): string => {
    try {
      return decoder.decode(piece, { stream: piece !== undefined });
    } catch {
      isUtf8 = false;
      decoder = new TextDecoder();
      return decoder.decode(piece, { stream: piece !== undefined });
    }
  };
  const parts: string[] = [];
  let bytes = 0;
  let rest = '';
  for await (const piece of pieces) {
    bytes += piece.byteLength;
    if (bytes > maxBytes) throw new RangeError(`larger than ${maxBytes} bytes`);
    rest += decode(piece);
    if (rest.length > longestPart) {
      // The last characters may hold the beginning of the key.
      rest = mask(rest);
      parts.push(rest.slice(0, -longestKey));
      rest = rest.slice(-longestKey);
    }
  }
  parts.push(mask(rest + decode()));
  return { text: parts.join(''), isUtf8 };
}

/** Why a body can't be read (too large, damaged compression); undefined if it was cut. */
export function unreadableOf(error: unknown): string | undefined {
  if (error instanceof RangeError) return error.message;
  const { code = '' } = error instanceof Error ? (error as NodeJS.ErrnoException) : {};
  return /^(?:Z_DATA_ERROR|ERR__ERROR_FORMAT)/.test(code) ? 'its compression is damaged' : undefined;
}
