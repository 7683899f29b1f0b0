import { hash } from 'node:crypto';

/**
 * Pure: the first `digits` of the 64 hexadecimal digits (4 bits each) of the SHA-256 of bytes, or of a text in UTF-8. A short digest can
 * collide: compare the full values if a mistake would cost money.
 */
export function digestOf(content: string | Uint8Array, digits = 16): string {
  return hash('sha256', content).slice(0, digits);
}
