import { ConfigurationError } from '../errors.ts';

/** A shorter key may occur in ordinary text by chance, which would be masked, too. */
const shortestKey = 8;

/** Pure: a valid key. `source` tells in messages where it is from. Throws ConfigurationError, without the key in its message. */
export function checkKey(key: string, source: string): string {
  const flaw = flawOfKey(key);
  if (flaw === undefined) return key;
  throw new ConfigurationError(
    `the API key ${source} ${flaw}`,
    'Check that the whole key was copied, and nothing else.',
  );
}

/** Pure: what is wrong with a key; undefined for one that fits into a header, and can be masked, also in JSON. */
export function flawOfKey(key: string): string | undefined {
  if (key === '') return 'is empty';
  if (!/^[\x21\x23-\x5b\x5d-\x7e]+$/.test(key)) {
    return `contains white space, " or \\, or a character that can't be in an HTTP header`;
  }
  if (key.length >= shortestKey) return undefined;
  return `is too short: it has ${key.length} ${key.length === 1 ? 'character' : 'characters'} and needs at least ${shortestKey}`;
}

/** Pure: enough of a key to tell it from another one, but not enough to use it. */
export function toMaskedKey(key: string): string {
  return key.length < 12 ? '…' : `…${key.slice(-4)}`;
}
