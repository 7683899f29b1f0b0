import { type Mask, wholeWords } from './mask.ts';
import type { Watch } from './watch.ts';

/** The body of an answer whose head has come. */
export interface Body {
  readonly response: Response;
  readonly watch: Watch;
}

/** Characters: a word without end is masked in pieces; a key is shorter, however it is written. */
const [longWord, longestKey] = [1024 * 1024, 64 * 1024];

/** Its bytes as they come. Throws what fetch throws, and SilenceError. */
export async function* piecesOf({ response, watch }: Body): AsyncGenerator<Uint8Array> {
  const reader = response.body?.getReader();
  if (reader === undefined) return;
  for (;;) {
    const { done, value } = await watch.piece(reader.read());
    if (done) return;
    yield value;
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
  if (!(error instanceof TypeError)) return undefined;
  if ((error as NodeJS.ErrnoException).code === 'ERR_ENCODING_INVALID_ENCODED_DATA') return error.message;
  const { cause } = error;
  const { code = '' } = cause instanceof Error ? (cause as NodeJS.ErrnoException) : {};
  // zlib, brotli and zstd, as fetch passes them on.
  return /^(?:Z_DATA_ERROR|ERR__ERROR_FORMAT|ZSTD_error)/.test(code) ? String(cause) : undefined;
}
