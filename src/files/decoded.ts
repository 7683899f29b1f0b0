import { TextDecoder } from 'node:util';
import { UsageError } from '../errors.ts';

const bytesOf = (text: string): Buffer => Buffer.from(text, 'latin1');

/** How texts begin that say which encoding they have. */
const marks = [
  { encoding: 'utf-8', bytes: bytesOf('\xef\xbb\xbf') },
  { encoding: 'utf-16le', bytes: bytesOf('\xff\xfe') },
  { encoding: 'utf-16be', bytes: bytesOf('\xfe\xff') },
];

/** Files that people give instead of the text in them, by how they begin. */
const others = [
  { is: 'an Excel workbook (.xlsx), or another zip file', bytes: bytesOf('PK\x03\x04') },
  { is: 'a workbook or document of an old Office (.xls, .doc)', bytes: bytesOf('\xd0\xcf\x11\xe0') },
  { is: 'a PDF file', bytes: bytesOf('%PDF-') },
  { is: 'a file that gzip has compressed', bytes: bytesOf('\x1f\x8b') },
];

/**
 * The text of bytes in UTF-8, or in UTF-16 with its byte order mark, piece after piece. `what` names the input in the
 * UsageError for anything else, which says what was found: garbage would be sent, and paid for.
 */
export async function* decoded(
  bytes: AsyncIterable<Uint8Array | string>,
  what: string,
): AsyncGenerator<string> {
  const decode = createDecoding(what);
  for await (const piece of bytes) {
    const text = decode(Buffer.from(piece));
    if (text !== '') yield text;
  }
  const rest = decode(Buffer.alloc(0), true);
  if (rest !== '') yield rest;
}

/** The same for bytes that are all here. Throws UsageError. */
export function decodeText(bytes: Uint8Array, what: string): string {
  return createDecoding(what)(Buffer.from(bytes), true);
}

function createDecoding(what: string) {
  let decoder: TextDecoder | undefined;
  let held = Buffer.alloc(0);
  let line = 1;
  return (piece: Buffer, isLast = false): string => {
    const bytes = Buffer.concat([held, piece]);
    if (decoder === undefined && !isLast && mayBecome(bytes)) {
      held = bytes;
      return '';
    }
    held = Buffer.alloc(0);
    decoder ??= decoderOf(bytes, what);
    const text = textOf(decoder, bytes, isLast);
    if (text === undefined) {
      throw new UsageError(
        `${what} is not UTF-8 text (${foundIn(decoder.encoding, bytes, line)})`,
        'Save it as UTF-8 (in Excel: "CSV UTF-8"). Nothing was sent; as it is, you would pay for garbled text.',
      );
    }
    line += linesIn(text);
    return text;
  };
}

/** Whether more bytes could still make one of these beginnings: a line that is shorter is not waited for. */
function mayBecome(head: Buffer): boolean {
  return [...marks, ...others].some(
    ({ bytes }) => head.length < bytes.length && bytes.subarray(0, head.length).equals(head),
  );
}

/** Throws UsageError for what is no text at all. */
function decoderOf(first: Buffer, what: string): TextDecoder {
  const begins = ({ bytes }: { readonly bytes: Buffer }) => first.subarray(0, bytes.length).equals(bytes);
  const other = others.find(begins);
  if (other !== undefined) {
    throw new UsageError(
      `${what} is not a text file: it is ${other.is}`,
      'Save what is in it as a text file, such as "CSV UTF-8" in Excel, and give that one.',
    );
  }
  return new TextDecoder(marks.find(begins)?.encoding ?? 'utf-8', { fatal: true });
}

function textOf(decoder: TextDecoder, piece: Buffer, isLast: boolean): string | undefined {
  try {
    const text = decoder.decode(piece, { stream: !isLast });
    // No text holds a zero, and UTF-16 without its mark is full of them.
    return text.includes('\0') ? undefined : text;
  } catch {
    return undefined;
  }
}

/** What can't be read, in words. It is not quoted: it may be a key. */
function foundIn(encoding: string, bytes: Buffer, line: number): string {
  if (encoding !== 'utf-8') return 'it begins as UTF-16, but part of it is damaged';
  const zero = bytes.indexOf(0);
  if (zero !== -1) {
    // Of Latin letters every other byte is a zero.
    return zero < 2 && bytes[zero + 2] === 0
      ? 'it looks like UTF-16 without the mark'
      : "it contains a zero byte, which text files don't have";
  }
  // The piece may begin or end within a character.
  const start = bytes.findIndex((byte) => (byte & 0xc0) !== 0x80);
  const text = bytes.toString('utf8', Math.max(0, start));
  const good = text.slice(0, Math.max(0, text.indexOf('\ufffd')));
  return `line ${line + linesIn(good)} is not; it looks like Latin-1 or Windows-1252`;
}

function linesIn(text: string): number {
  return text.split('\n').length - 1;
}
