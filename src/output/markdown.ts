import { findingsOf } from '../columns/record-parts.ts';
import { indented } from '../json/indent.ts';
import { type Records, stringOf, textsIn } from '../json/text.ts';
import { toTerminalLines, toTerminalText, withoutControls } from './clean.ts';
import { createRowsForm, type WriterForm, type WriterOptions } from './form.ts';
import { readable } from './readable.ts';

/** A table with the columns of CSV. A research answer is prose with its sources. */
export function createMarkdownForm(options: WriterOptions): WriterForm {
  return options.layout.prose && options.shape === 'single' ? { lines: proseOf } : createTable(options);
}

function createTable(options: WriterOptions): WriterForm {
  const { columns } = options.layout;
  const head = [columns.map(({ header }) => toCellText(header)), columns.map(() => '---')];
  const toText = (rows: readonly (readonly string[])[]): string =>
    rows.map((cells) => `| ${cells.join(' | ')} |\n`).join('');
  return createRowsForm(
    options,
    head,
    (record, sources) => textsIn(record, sources).map(({ text }) => toCellText(text)),
    toText,
  );
}

function* proseOf(records: Records): Generator<string, void> {
  for (const [at, record] of records.entries()) {
    if (at > 0) yield '\n---\n\n';
    const { result, citations, other } = findingsOf(record);
    if (other !== undefined) {
      // No line of JSON begins with backticks, so nothing in it ends the block.
      yield '```json\n';
      yield* indented(other);
      yield '\n```\n';
    }
    for (const line of result === undefined ? [] : toProseLines(result)) yield `${line}\n`;
    let number = 0;
    for (const citation of citations) {
      if (number === 0) yield '\n## Sources\n\n';
      const source = toTerminalText(stringOf(citation) ?? readable(citation)).trim();
      yield `${++number}. ${toCellText(source)}\n`;
    }
  }
}

/*
 * Text from the web in Markdown, shown exactly as it is: no HTML, no links or images that hide where they lead, and nothing that ends a
 * cell.
 */

// A bar ends a cell, brackets make links and images, and inside code (backticks) nothing can be escaped.
const alwaysActive = /[\\|`[\]*~]/g;
// An underscore between letters and digits is part of a name or an address, and has no meaning.
const underscore = /(?<![\p{L}\p{N}])_|_(?![\p{L}\p{N}])/gu;
const entity = /&(?=#?\w+;)/g;
const address = /^https?:\/\/[^\s<>|\\`"]+$/i;

// White space that Markdown readers trim from a cell, and characters that some treat as line ends.
const edge = /^\s|\s$|[\u2028\u2029]/g;

/** The text as one line, for a cell. A Markdown reader gets the same text back; line breaks become `<br>`, the only way in a cell. */
function toCellText(given: string): string {
  const text = withoutControls(given);
  if (address.test(text)) return `<${text}>`;
  return htmlFree(text)
    .replace(alwaysActive, '\\$&')
    .replace(underscore, '\\_')
    .replace(/\r\n?|\n/g, '<br>')
    .replace(edge, (space) => `&#${space.charCodeAt(0)};`);
}

/** Lines of running text. Headings, lists and emphasis keep their meaning. */
function* toProseLines(text: string): Generator<string, void> {
  for (const line of toTerminalLines(text)) yield htmlFree(line).replace(/[\\`[\]]/g, '\\$&');
}

function htmlFree(line: string): string {
  return line.replace(entity, '&amp;').replaceAll('<', '&lt;');
}
