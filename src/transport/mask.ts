/**
 * A service may echo the API key, and we would show and store it. So everything from the service is masked first: bodies, frames and
 * headers.
 */
export type Mask = (text: string) => string;

const shown = '[API key]';
/** Characters of the key in one expression: an expression for thousands of them would overflow the stack. */
const atOnce = 500;

/**
 * Masks the key as it is, escaped for JSON (\u0041 and \/, also in JSON inside a string), percent-encoded (%41 and %2541), and in any mix
 * of these. JSON stays JSON, and a text without the key stays the same. The key can stand in a header, so it has no `"` and no `\`.
 */
export function createMask(key: string): Mask {
  const forms = [...key].map(formsOf);
  // If the key begins inside \n or \u0041, the whole escape is masked: half of one is not JSON.
  const front = String.raw`(?:(?<!\\)\\+(?:u[\da-fA-F]{0,3})?)?`;
  const begins = new RegExp(front + forms.slice(0, atOnce).join(''), 'g');
  const restOfKey = forms.slice(atOnce).map((form) => new RegExp(form, 'y'));
  // A key of digits may stand in a number, which must stay a number.
  const inPlain = /^[\d.eE+-]+$/.test(key) ? key.replace(/\d/g, '9') : shown;

  return (text) => {
    if (!text.includes('%') && !text.includes('\\')) return text.replaceAll(key, inPlain);
    let masked = '';
    let from = 0;
    for (const { 0: found, index } of text.matchAll(begins)) {
      let end = index + found.length;
      const isWhole = restOfKey.every((form) => {
        form.lastIndex = end;
        const isNext = form.test(text);
        end = form.lastIndex;
        return isNext;
      });
      if (!isWhole || index < from) continue;
      masked += text.slice(from, index) + (text.slice(index, end) === key ? inPlain : shown);
      from = end;
    }
    return masked + text.slice(from);
  };
}

/** A character as it is, escaped, or behind a percent sign, which may be escaped or encoded itself. */
function formsOf(character: string): string {
  const code = character.charCodeAt(0).toString(16).padStart(2, '0');
  const hex = code.replace(/[a-f]/g, (digit) => `[${digit}${digit.toUpperCase()}]`);
  // Each level of JSON in a string doubles the backslashes.
  const escaped = String.raw`\\{1,32}(?:u00${hex}${character === '/' ? '|/' : ''})`;
  // Tried first: the other form would match only half of a percent sign that is both encoded and escaped.
  const encoded = String.raw`(?:%|\\{1,32}u0025)(?:25){0,8}${character === '%' ? '' : hex}`;
  return `(?:${character === '%' ? '' : `${character.replace(/\W/, '\\$&')}|`}${encoded}|${escaped})`;
}
