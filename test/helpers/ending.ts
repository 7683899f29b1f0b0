import { expect } from 'vitest';
import { withoutLetters } from './run-parts.ts';

declare module 'vitest' {
  interface Matchers<T> {
    /** A text with all of these in it. */
    toSay(...words: readonly (string | RegExp)[]): T;
  }
}

expect.extend({
  toSay(said: string, ...words: readonly (string | RegExp)[]) {
    const texts = [said, withoutLetters(said)];
    const isSaid = (one: string | RegExp): boolean =>
      texts.some((text) => (typeof one === 'string' ? text.includes(one) : one.test(text)));
    const missing = words.filter((one) => !isSaid(one));
    return { pass: missing.length === 0, message: () => `${missing.join(', ')} is not said in:\n${said}` };
  },
});

/** How a run ends, and what it says on stderr among other things. */
export function ending(code: number, ...says: readonly (string | RegExp)[]) {
  return { code, stderr: expect.toSay(...says) };
}

/** As above, for a run that prints nothing on stdout. */
export function failing(code: number, ...says: readonly (string | RegExp)[]) {
  return { ...ending(code, ...says), stdout: '' };
}

/** A run that has nothing to say on stderr. */
export const silently = { code: 0, stderr: '' };
