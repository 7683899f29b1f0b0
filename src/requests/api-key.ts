import { ConfigurationError } from '../errors.ts';

/** A shorter key is found in ordinary text, which would be masked with it. */
const shortestKey = 8;

/** Pure: a key that can be used. Throws ConfigurationError, which does not repeat it. */
export function checkKey(key: string, source: string): string {
  const flaw = flawOfKey(key);
  if (flaw === undefined) return key;
  throw new ConfigurationError(
    `the key in ${source} ${flaw}`,
    'Check that the whole key was copied, and nothing else.',
  );
}

/** Pure: what is wrong with a key; undefined for one that a header can carry, and that can be masked, in JSON too. */
export function flawOfKey(key: string): string | undefined {
  if (!/^[\x21\x23-\x5b\x5d-\x7e]+$/.test(key)) {
    return 'holds white space, " or \\, or characters that no header can carry';
  }
  if (key.length >= shortestKey) return undefined;
  return `has ${key.length} characters; one of fewer than ${shortestKey} could not be masked where a service repeats it`;
}
