import { pipeline, Readable, type Transform } from 'node:stream';
import * as zlib from 'node:zlib';
import { type Mask, wholeWords } from './mask.ts';
import type { Incoming } from './sending.ts';
import type { Watch } from './watch.ts';

/** The body of an answer whose head has come. */
export interface Body {
  readonly answer: Incoming;
  readonly watch: Watch;
  /** Stops its reading. */
  readonly signal: AbortSignal;
}

/** Characters: a word without end is masked in pieces; a key is shorter, however it is written. */
const [longWord, longestKey] = [1024 * 1024, 64 * 1024];

/** Its bytes as they come, without their content encoding. Throws what broke the connection, and SilenceError. */
export async function* piecesOf(body: Body): AsyncGenerator<Uint8Array> {
  const contentEncoding = body.answer.header('content-encoding');
  if (contentEncoding === undefined) return yield* asSent(body);
  for await (const piece of decoded(asSent(body), contentEncoding)) {
    // Of a body that has come it can take long to undo its encoding.
    body.signal.throwIfAborted();
    yield piece;
  }
}

async function* asSent({ answer, watch }: Body): AsyncGenerator<Uint8Array> {
  for (;;) {
    // What is here already needs no timer.
    const piece = answer.ready() ?? (await watch.piece(answer.next()));
    if (piece === undefined) return;
    yield piece;
  }
}

/**
 * The body, masked as it comes, which keeps each piece of work short. Throws a RangeError when it is over the cap, and
 * a TypeError when it is not UTF-8 and has to be.
 */
export async function readText(body: Body, maxBytes: number, fatal: boolean, mask: Mask): Promise<string> {
  const decoder = new TextDecoder('utf-8', { fatal });
  const parts: string[] = [];
  let bytes = 0;
  let word = '';
  for await (const piece of piecesOf(body)) {
    bytes += piece.byteLength;
    if (bytes > maxBytes) throw new RangeError(`larger than ${maxBytes} bytes`);
    const text = decoder.decode(piece, { stream: true });
    const end = wholeWords(text);
    if (end > 0) parts.push(mask(word + text.slice(0, end)));
    word = (end > 0 ? '' : word) + text.slice(end);
    if (word.length > longWord) {
      // Whatever is of the key so far is in its last characters.
      word = mask(word);
      parts.push(word.slice(0, -longestKey));
      word = word.slice(-longestKey);
    }
  }
  parts.push(mask(word + decoder.decode()));
  return parts.join('');
}

/** Why a body that came can't be read (over the cap, not UTF-8, not in its content encoding); undefined for a cut. */
export function unreadableOf(error: unknown): string | undefined {
  if (error instanceof RangeError) return error.message;
  const { code = '' } = error instanceof Error ? (error as NodeJS.ErrnoException) : {};
  const isUnreadable = /^(?:ERR_ENCODING_INVALID_ENCODED_DATA|Z_DATA_ERROR|ERR__ERROR_FORMAT)/.test(code);
  return isUnreadable ? String(error) : undefined;
}

/** Nobody has a reason for more. */
const mostCodings = 5;

/**
 * The bytes of a body without its content encodings; with one that is not known, and with too many, as they are. Throws
 * what `pieces` and zlib throw. That the body is whole is for others to prove.
 */
async function* decoded(
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
