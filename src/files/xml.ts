import { Parser } from 'saxen';
import { longestRow } from './csv.ts';

const pieceLength = 1 << 18;

/*
 * What a part may have, so that no file costs more than seconds: elements (two or three for a cell), levels of them, and bytes of one tag or
 * text.
 */
const maxElements = 35_000_000;
const maxDepth = 100;
const maxToken = longestRow;

/** That a workbook has more of something than is read. The message is to be shown after `it has`. */
export class TooMuchError extends Error {
  constructor(what: string, because = 'which is too much for a workbook') {
    super(`${what}, ${because}`);
  }
}

export interface XmlEvents {
  /** The name is without its prefix, and so is that of an attribute. */
  open(name: string, attribute: (name: string) => string | undefined): void;
  text?(piece: string): void;
  close?(name: string): void;
}

/** Reads a part whole; one that is not there has nothing in it. Throws for what is not XML, and TooMuchError. */
export function readXml(xml: Uint8Array | undefined, events: XmlEvents): void {
  for (const _ of xmlPieces(xml ?? new Uint8Array(), events));
}

/** The same in pieces, so that what was found can be taken in between. `spent` counts the elements, of other parts too. */
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
  /** Characters since the end of the last token: the parser looks through them again for each piece. */
  let pending = 0;
  parser.on('openTag', (name: string, attributes: () => Readonly<Record<string, string>> | false) => {
    pending = 0;
    if (++depth > maxDepth) throw new TooMuchError(`elements that are nested over ${maxDepth} deep`);
    if (++spent.elements > maxElements) throw new TooMuchError(`more than ${maxElements} XML elements`);
    events.open(local(name), (wanted) => {
      const all = attributes() || {};
      // The one attribute with a prefix, which is mostly r.
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

/** Pure. The parser's own function knows no character above U+FFFF. */
function decodedXml(text: string): string {
  if (!text.includes('&')) return text;
  return text.replace(/&(?:#x([0-9a-f]+)|#(\d+)|(\w+));/gi, (whole, hex, decimal, name) => {
    if (name !== undefined) return entities[name] ?? whole;
    const code = hex === undefined ? Number(decimal) : Number.parseInt(hex, 16);
    return code <= 0x10ffff ? String.fromCodePoint(code) : '';
  });
}
