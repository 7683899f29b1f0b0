import { Parser } from 'saxen';
import { maxRowLength } from './csv.ts';

const pieceLength = 1 << 18;

/*
 * Limits of a part, so that no file takes more than seconds: elements (two or three per cell), nesting, and bytes of one tag or text.
 */
const maxElements = 35_000_000;
const maxDepth = 100;
const maxToken = maxRowLength;

/** A workbook exceeds a limit. The message follows `<file> has`. */
export class TooMuchError extends Error {
  constructor(what: string, because = 'which is too much for a workbook') {
    super(`${what}, ${because}`);
  }
}

export interface XmlEvents {
  /** The names of tags and attributes are without their prefixes. */
  open(name: string, attribute: (name: string) => string | undefined): void;
  text?(piece: string): void;
  close?(name: string): void;
}

/** Reads a whole part; a missing one is empty. Throws if it is not XML, and TooMuchError. */
export function readXml(xml: Uint8Array | undefined, events: XmlEvents): void {
  for (const _ of xmlPieces(xml ?? new Uint8Array(), events));
}

/** As above, in pieces, so that the caller can use results in between. `spent` counts the elements, across parts. */
export function* xmlPieces(
  xml: Uint8Array,
  events: XmlEvents,
  spent = { elements: 0 },
): Generator<void, void> {
  if (xml.length === 0) return;
  const isWide = (xml[0] === 0xff && xml[1] === 0xfe) || (xml[0] === 0xfe && xml[1] === 0xff);
  const decoder = new TextDecoder(isWide ? (xml[0] === 0xff ? 'utf-16le' : 'utf-16be') : 'utf-8');
  const parser = new Parser();
  let depth = 0;
  /** Bytes since the last tag ended: the parser scans them again with each piece. */
  let pending = 0;
  parser.on('openTag', (name: string, attributes: () => Readonly<Record<string, string>> | false) => {
    pending = 0;
    if (++depth > maxDepth) throw new TooMuchError(`elements that are nested over ${maxDepth} deep`);
    if (++spent.elements > maxElements) throw new TooMuchError(`more than ${maxElements} XML elements`);
    events.open(local(name), (wanted) => {
      const all = attributes() || {};
      // `id` is the only attribute with a prefix, mostly `r:`.
      const name = wanted === 'id' ? Object.keys(all).find((one) => one.endsWith(':id')) : wanted;
      const found = all[name ?? wanted];
      return found === undefined ? undefined : decodedXml(found);
    });
  });
  parser.on('text', (text: string) => events.text?.(decodedXml(text)));
  parser.on('cdata', (text: string) => events.text?.(text));
  parser.on('closeTag', (name: string) => {
    pending = 0;
    depth--;
    events.close?.(local(name));
  });
  parser.on('error', (error: Error) => {
    throw error;
  });
  for (let at = 0; at < xml.length; at += pieceLength) {
    pending += pieceLength;
    parser.write(decoder.decode(xml.subarray(at, at + pieceLength), { stream: true }));
    if (pending > maxToken) throw new TooMuchError(`a text or a tag of over ${maxToken} bytes`);
    yield;
  }
  parser.write(decoder.decode());
  parser.end();
  yield;
}

function local(name: string): string {
  return name.slice(name.indexOf(':') + 1);
}

const entities: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" };

/** Pure. The parser's own function does not support characters above U+FFFF. */
function decodedXml(text: string): string {
  if (!text.includes('&')) return text;
  return text.replace(/&(?:#x([0-9a-f]+)|#(\d+)|(\w+));/gi, (whole, hex, decimal, name) => {
    if (name !== undefined) return entities[name] ?? whole;
    const code = hex === undefined ? Number(decimal) : Number.parseInt(hex, 16);
    return code <= 0x10ffff ? String.fromCodePoint(code) : '';
  });
}
