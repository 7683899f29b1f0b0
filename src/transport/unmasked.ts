import { base64Forms, escapable, type Mask } from './mask.ts';

/**
 * Whether it is proven that a mask would leave some bytes as they are, which takes a fraction of the time of the mask
 * itself. What is not proven need not hold the key.
 */
export type NeedsNoMask = (bytes: Buffer) => boolean;

const [percent, slash, backslash, letterU, zero] = [0x25, 0x2f, 0x5c, 0x75, 0x30];
/** Bytes that are looked at together. */
const together = 4;
/** Of text that looks like a part of the key in so many places, the whole is left to the mask. */
const mostLooks = 100;

/** `mask` is that of the same key, of at least eight characters. */
export function createMaskProof(key: string, mask: Mask): NeedsNoMask {
  const forms = [...[key, ...base64Forms(key)].map(charactersOf), hexCharacters(key)];
  const words = new Set(forms.flatMap(wordsOf));
  const isWord = new Uint8Array(1 << 16);
  for (const word of words) isWord[hashOf(word)] = 1;
  const shortest = Math.min(...forms.map(({ length }) => length));
  const longest = Math.max(...forms.map(({ length }) => length));
  // Each form is so long that one of these places is in it, with all bytes that are looked at.
  const step = shortest - together + 1;
  const escaped = new Uint8Array(128);
  for (const character of escapable(key)) escaped[character.charCodeAt(0)] = 1;
  const isSlashEscaped = escaped[slash] === 1;

  function hasForm(bytes: Buffer): boolean {
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
    const last = bytes.length - together;
    let looks = 0;
    for (let at = 0; at <= last; at += step) {
      const word = view.getInt32(at, true);
      if (isWord[hashOf(word)] === 0 || !words.has(word)) continue;
      if (looks++ === mostLooks) return true;
      const around = bytes.toString('latin1', Math.max(0, at - longest), at + together + longest);
      if (mask(around) !== around) return true;
    }
    return false;
  }

  function hasEscape(bytes: Buffer): boolean {
    const isOf = (at: number): boolean =>
      escaped[Number.parseInt(bytes.toString('latin1', at, at + 2), 16)] === 1;
    for (let at = bytes.indexOf(percent); at !== -1; at = bytes.indexOf(percent, at + 1)) {
      if (isOf(at + 1)) return true;
    }
    for (let at = bytes.indexOf(backslash); at !== -1; at = bytes.indexOf(backslash, at + 1)) {
      const next = bytes[at + 1];
      if (next === slash && isSlashEscaped) return true;
      if (next === letterU && bytes[at + 2] === zero && bytes[at + 3] === zero && isOf(at + 4)) return true;
    }
    return false;
  }

  return (bytes) => !hasForm(bytes) && !hasEscape(bytes);
}

/** What may stand in each place of a form. */
type Characters = readonly string[];

function charactersOf(form: string): Characters {
  return [...form].map((character) => (character === '+' ? '+-' : character === '/' ? '/_' : character));
}

function hexCharacters(key: string): Characters {
  return [...Buffer.from(key).toString('hex')].map((digit) =>
    digit >= 'a' ? digit + digit.toUpperCase() : digit,
  );
}

/** All that the bytes which are looked at together can be, as numbers. */
function wordsOf(form: Characters): number[] {
  return form.slice(together - 1).flatMap((_, at) =>
    form
      .slice(at, at + together)
      .reduce<readonly string[]>(
        (begun, some) => begun.flatMap((text) => [...some].map((character) => text + character)),
        [''],
      )
      .map((text) => Buffer.from(text, 'latin1').readInt32LE()),
  );
}

function hashOf(word: number): number {
  return Math.imul(word, 0x9e3779b1) >>> 16;
}
