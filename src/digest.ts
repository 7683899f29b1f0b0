import { hash } from 'node:crypto';

/**
 * Pure: the first `digits` hexadecimal digits of the SHA-256 of bytes, or of a text in UTF-8; each digit is 4 bits, and 64 are all. What is
 * found by a short digest has to be compared in full where a mistake would cost money.
 */
export function digestOf(content: string | Uint8Array, digits = 16): string {
  return hash('sha256', content).slice(0, digits);
}

/** Pure: the same as a function of the text alone. */
export function digestTo(digits: number): (text: string) => string {
  return (text) => digestOf(text, digits);
}
