import { TextDecoder } from 'node:util';
import { UsageError } from '../errors.ts';

/** First bytes of a workbook; of one from an old Office or with a password; of a database. */
export const zipMark = Buffer.from('PK\x03\x04');
export const oldOfficeMark = Buffer.from('\xd0\xcf\x11\xe0', 'latin1');
export const databaseMark = Buffer.from('SQLite format 3\0');

/** First bytes of encodings, and of files that people give instead of text; a character per byte. */
const beginnings: readonly { readonly begin: string; readonly encoding?: string; readonly is?: string }[] = [
  { begin: '\xef\xbb\xbf', encoding: 'utf-8' },
  { begin: '\xff\xfe', encoding: 'utf-16le' },
  { begin: '\xfe\xff', encoding: 'utf-16be' },
  { begin: zipMark.toString('latin1'), is: 'an Excel workbook (.xlsx), or another zip file' },
  { begin: oldOfficeMark.toString('latin1'), is: 'an old Office file (.xls, .doc)' },
  { begin: '%PDF-', is: 'a PDF file' },
  { begin: '\x1f\x8b', is: 'a gzip file' },
];

/**
 * Decodes UTF-8, or UTF-16 with a byte order mark, piece by piece. Throws UsageError for anything else, naming the input (`what`) and what was
 * found: otherwise garbage would be sent and paid for.
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

/** As above, for all bytes at once. Throws UsageError. */
export function decodeText(bytes: Uint8Array, what: string): string {
  return createDecoding(what)(Buffer.from(bytes), true);
}

function createDecoding(what: string) {
  let decoder: TextDecoder | undefined;
  let held = Buffer.alloc(0);
  /** The last bytes of the piece before: a character may begin there. */
  let before = Buffer.alloc(0);
  let line = 1;
  return (piece: Buffer, isLast = false): string => {
    const bytes = Buffer.concat([held, piece]);
    // Wait for more bytes while these could still become one of the beginnings.
    const start = bytes.toString('latin1', 0, 5);
    const mayBecome = beginnings.some(({ begin }) => begin !== start && begin.startsWith(start));
    const waits = decoder === undefined && !isLast && mayBecome;
    held = waits ? bytes : Buffer.alloc(0);
    if (waits) return '';
    decoder ??= decoderOf(start, what);
    try {
      const text = decoder.decode(bytes, { stream: !isLast });
      // Text has no zero bytes, but UTF-16 without its mark has many.
      if (text.includes('\0')) throw new TypeError('a zero byte');
      before = Buffer.concat([before, bytes.subarray(-3)]).subarray(-3);
      line += linesIn(text);
      return text;
    } catch {
      throw new UsageError(
        `${what} is not UTF-8 text (${foundIn(decoder.encoding, bytes, before, line)})`,
        'Save it as UTF-8 (in Excel: "CSV UTF-8"), or convert it from its encoding (WINDOWS-1252, SHIFT_JIS, GBK or UTF-16LE, for example): iconv -f <encoding> -t UTF-8 <file> > new.csv. Nothing was sent.',
      );
    }
  };
}

/** Throws UsageError for what is not text. */
function decoderOf(start: string, what: string): TextDecoder {
  const found = beginnings.find(({ begin }) => start.startsWith(begin));
  if (found?.is !== undefined) {
    throw new UsageError(
      `${what} is not a text file: it is ${found.is}`,
      'Save its content as a text file (in Excel: "CSV UTF-8"), and use that file.',
    );
  }
  return new TextDecoder(found?.encoding ?? 'utf-8', { fatal: true });
}

/** Describes the bytes that can't be decoded. Only non-ASCII bytes are quoted, since the text may be a key. */
function foundIn(encoding: string, bytes: Buffer, before: Buffer, line: number): string {
  if (encoding !== 'utf-8') return 'it begins as UTF-16, but part of it is damaged';
  const zero = bytes.indexOf(0);
  if (zero !== -1) {
    // In UTF-16, every second byte of Latin text is zero.
    return zero < 2 && bytes[zero + 2] === 0
      ? 'it looks like UTF-16 without a byte order mark'
      : "it contains a zero byte, which text files don't have";
  }
  const all = Buffer.concat([before, bytes]);
  // The bytes before may begin inside a character.
  let at = before.findIndex((byte) => (byte & 0xc0) !== 0x80);
  if (at === -1) at = before.length;
  const rest = all.subarray(at);
  const again = Buffer.from(rest.toString('utf8'));
  const first = rest.findIndex((byte, place) => byte !== again[place]);
  const good = rest.subarray(0, first).toString('utf8');
  const [wrong = 0, ...next] = rest.subarray(first, first + 4);
  const end = next.findIndex((byte) => byte < 0x80);
  const shown = [wrong, ...next.slice(0, end === -1 ? next.length : end)];
  const hex = shown.map((byte) => byte.toString(16).toUpperCase());
  const place = line - linesIn(before.toString('latin1', at)) + linesIn(good);
  return `line ${place} has the ${hex.length === 1 ? 'byte' : 'bytes'} ${hex.join(' ')}`;
}

function linesIn(text: string): number {
  return text.split('\n').length - 1;
}
