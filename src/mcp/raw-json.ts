import { randomUUID } from 'node:crypto';
import { endOfString, type JsonText } from '../json/text.ts';

/**
 * JSON that is carried to the wire as it is written. The SDK turns values into text, and a number above 2^53 is rounded as
 * soon as it is a value; so it is given an object with the text in it, which becomes that text when the message is written.
 */
export interface RawJson {
  /** An object that stands for this text in a message. */
  wrap(text: JsonText): Record<string, string>;
  /** A message as the SDK writes it, with every such object replaced by its text. */
  restore(message: string): string;
}

/** The name of the only member is drawn for each server: nothing that a service sends can look like one. */
export function createRawJson(name: string = randomUUID()): RawJson {
  const head = `{${JSON.stringify(name)}:`;
  return {
    wrap: (text) => ({ [name]: text }),
    restore(message) {
      const parts: string[] = [];
      let at = 0;
      for (let found = message.indexOf(head); found !== -1; found = message.indexOf(head, at)) {
        const start = found + head.length;
        const end = endOfString(message, start);
        parts.push(message.slice(at, found), JSON.parse(message.slice(start, end)) as string);
        at = end + 1;
      }
      return at === 0 ? message : parts.join('') + message.slice(at);
    },
  };
}
