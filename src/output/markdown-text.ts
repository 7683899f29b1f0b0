import { toTerminalLines } from './clean.ts';

/*
 * Text from the web as Markdown shows it, and no more: no HTML, no links or images that hide where they lead, no cell
 * that ends before its time.
 */

// A bar ends a cell, brackets make links and images, backticks code, in which nothing else could be neutralised.
const alwaysActive = /[\\|`[\]*~]/g;
// Between letters and digits it is a part of a name or an address, and means nothing.
const underscore = /(?<![\p{L}\p{N}])_|_(?![\p{L}\p{N}])/gu;
const entity = /&(?=#?\w+;)/g;
const address = /^https?:\/\/[^\s<>|\\`"]+$/i;

/** One line of a table's cell: lines are kept apart with `<br>`, which is the only way. */
export function toCellText(text: string): string {
  const lines = [...toTerminalLines(text.trim())].map((line) => line.trim());
  const [only = ''] = lines;
  if (lines.length === 1 && address.test(only)) return `<${only}>`;
  return lines.map(escaped).join('<br>');
}

/** An item of a list of sources: an address that can be followed, or whatever stands there. */
export function toSourceText(text: string): string {
  return toCellText(text).replaceAll('<br>', ' ');
}

/** Lines of running text: headings, lists and emphasis stay what they are. */
export function* toProseLines(text: string): Generator<string, void> {
  for (const line of toTerminalLines(text)) yield htmlFree(line).replace(/[\\`[\]]/g, '\\$&');
}

function escaped(line: string): string {
  return htmlFree(line).replace(alwaysActive, '\\$&').replace(underscore, '\\_');
}

function htmlFree(line: string): string {
  return line.replace(entity, '&amp;').replaceAll('<', '&lt;');
}
