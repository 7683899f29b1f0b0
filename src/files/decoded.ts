import { TextDecoder } from 'node:util';
import { UsageError } from '../errors.ts';

/** Bytes that say which text they are, at its beginning. */
const marks = [
  { encoding: 'utf-8', bytes: [0xef, 0xbb, 0xbf] },
  { encoding: 'utf-16le', bytes: [0xff, 0xfe] },
  { encoding: 'utf-16be', bytes: [0xfe, 0xff] },
] as const;

/** Files that people give instead of the text in them, by how they begin. */
const others = [
  { is: 'an Excel workbook (.xlsx), or another zip file', bytes: [0x50, 0x4b, 0x03, 0x04] },
  { is: 'a workbook or document of an old Office (.xls, .doc)', bytes: [0xd0, 0xcf, 0x11, 0xe0] },
  { is: 'a PDF file', bytes: [0x25, 0x50, 0x44, 0x46, 0x2d] },
  { is: 'a file that gzip has compressed', bytes: [0x1f, 0x8b] },
] as const;

/**
 * The text of bytes in UTF-8, or in UTF-16 with its byte order mark, piece after piece. `what` names the input in the
 * UsageError for anything else, which says what was found: garbage would be sent, and paid for.
 */
export async function* decoded(
  bytes: AsyncIterable<Uint8Array | string>,
  what: string,
): AsyncGenerator<string> {
  const decoding = createDecoding(what);
  for await (const piece of bytes) {
    const text = decoding.take(Buffer.from(piece));
    if (text !== '') yield text;
  }
  const rest = decoding.end();
  if (rest !== '') yield rest;
}

/** The same for bytes that are all here. Throws UsageError. */
export function decodeText(bytes: Uint8Array, what: string): string {
  const decoding = createDecoding(what);
  return decoding.take(bytes) + decoding.end();
}

function createDecoding(what: string) {
  let decoder: TextDecoder | undefined;
  let head: Uint8Array = new Uint8Array();
  /** The end of the piece before: a character can begin there. */
  let before: Buffer = Buffer.alloc(0);
  let lines = 0;
  const decode = (piece: Uint8Array, isLast: boolean): string => {
    decoder ??= decoderOf(piece, what);
    const text = textOf(decoder, piece, isLast);
    if (text === undefined) {
      const found = foundIn(
        decoder.encoding,
        Buffer.concat([before, piece]),
        lines - linesIn(before.toString()),
      );
      throw new UsageError(
        `${what} is not UTF-8 text (${found})`,
        'Save it as UTF-8 (in Excel: "CSV UTF-8"). Nothing was sent; as it is, you would pay for garbled text.',
      );
    }
    if (piece.length > 0) before = Buffer.from(piece.subarray(-4));
    lines += linesIn(text);
    return text;
  };
  return {
    take(piece: Uint8Array): string {
      if (decoder !== undefined) return decode(piece, false);
      head = Buffer.concat([head, piece]);
      return mayBecome(head) ? '' : decode(head, false);
    },
    end: () => (decoder === undefined ? decode(head, true) : decode(new Uint8Array(), true)),
  };
}

/** Whether more bytes could still make a mark of these: a line that is shorter is not waited for. */
function mayBecome(head: Uint8Array): boolean {
  return [...marks, ...others].some(
    ({ bytes }) => head.length < bytes.length && head.every((byte, at) => byte === bytes[at]),
  );
}

/** Throws UsageError for what is no text at all. */
function decoderOf(first: Uint8Array, what: string): TextDecoder {
  const begins = ({ bytes }: { readonly bytes: readonly number[] }) =>
    bytes.every((byte, at) => first[at] === byte);
  const other = others.find(begins);
  if (other !== undefined) {
    throw new UsageError(
      `${what} is not a text file: it is ${other.is}`,
      'Save what is in it as a text file, such as "CSV UTF-8" in Excel, and give that one.',
    );
  }
  return new TextDecoder(marks.find(begins)?.encoding ?? 'utf-8', { fatal: true });
}

function textOf(decoder: TextDecoder, piece: Uint8Array, isLast: boolean): string | undefined {
  try {
    const text = decoder.decode(piece, { stream: !isLast });
    // No text holds a zero, and UTF-16 without its mark is full of them.
    return text.includes('\0') ? undefined : text;
  } catch {
    return undefined;
  }
}

/** What can't be read, in words. It is not quoted: it may be a key. */
function foundIn(encoding: string, bytes: Buffer, linesBefore: number): string {
  if (encoding !== 'utf-8') return 'it begins as UTF-16, but part of it is damaged';
  const zero = bytes.indexOf(0);
  if (zero !== -1) {
    // Of Latin letters every other byte is a zero.
    return zero < 2 && bytes[zero + 2] === 0
      ? 'it looks like UTF-16 without the mark'
      : "it contains a zero byte, which text files don't have";
  }
  // The piece may begin within a character.
  let start = 0;
  while (start < 3 && ((bytes[start] ?? 0) & 0xc0) === 0x80) start++;
  const text = bytes.subarray(start).toString();
  const at = text.indexOf('\ufffd');
  const good = at === -1 ? text : text.slice(0, at);
  const byte = bytes[start + Buffer.byteLength(good)] ?? bytes.at(-1) ?? 0;
  const line = linesBefore + linesIn(good) + 1;
  return `line ${line} has the byte 0x${byte.toString(16).toUpperCase()}; it looks like Latin-1 or Windows-1252`;
}

function linesIn(text: string): number {
  return text.split('\n').length - 1;
}
