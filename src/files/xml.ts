import { Parser } from 'saxen';

const pieceLength = 1 << 18;

export interface XmlEvents {
  /** The name is without its prefix, and so is that of an attribute. */
  open(name: string, attribute: (name: string) => string | undefined): void;
  text?(piece: string): void;
  close?(name: string): void;
}

/** Reads a part whole; one that is not there has nothing in it. Throws for what is not XML. */
export function readXml(xml: Uint8Array | undefined, events: XmlEvents): void {
  for (const _ of xmlPieces(xml ?? new Uint8Array(), events));
}

/** The same in pieces, so that what was found can be taken in between. */
export function* xmlPieces(xml: Uint8Array, events: XmlEvents): Generator<void, void> {
  if (xml.length === 0) return;
  const isWide = (xml[0] === 0xff && xml[1] === 0xfe) || (xml[0] === 0xfe && xml[1] === 0xff);
  const decoder = new TextDecoder(isWide ? (xml[0] === 0xff ? 'utf-16le' : 'utf-16be') : 'utf-8');
  const parser = new Parser();
  parser.on('openTag', (name: string, attributes: () => Readonly<Record<string, string>> | false) => {
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
  parser.on('closeTag', (name: string) => events.close?.(local(name)));
  parser.on('error', (error: Error) => {
    throw error;
  });
  for (let at = 0; at < xml.length; at += pieceLength) {
    parser.write(decoder.decode(xml.subarray(at, at + pieceLength), { stream: true }));
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
