import { indented } from '../json/indent.ts';
import { eachItem, type JsonText, JsonView, kindOf, stringOf } from '../json/text.ts';
import { findingsOf } from './findings.ts';
import { toCellText, toProseLines, toSourceText } from './markdown-text.ts';
import { readable } from './readable.ts';
import type { WriterForm, WriterOptions } from './writer.ts';

/** A table with the columns of CSV; an answer of research is prose with its sources. */
export function createMarkdownForm(options: WriterOptions): WriterForm {
  return options.layout.prose && options.shape === 'single' ? { lines: proseOf } : createTable(options);
}

function createTable({ layout: { columns }, continued }: WriterOptions): WriterForm {
  const row = (cells: readonly string[]): string => `| ${cells.join(' | ')} |\n`;
  const header = row(columns.map(({ header }) => toCellText(header))) + row(columns.map(() => '---'));
  let isBegun = continued || columns.length === 0;

  function* lines(records: Iterable<JsonText>): Generator<string, void> {
    if (!isBegun) yield header;
    isBegun = true;
    for (const record of records) {
      const view = new JsonView(record);
      yield row(columns.map((column) => toCell(column.value(view))));
    }
  }

  return { lines, end: () => [...lines([])].join('') };
}

function toCell(value: JsonText | undefined): string {
  if (value === undefined) return '';
  switch (kindOf(value)) {
    case 'string':
      return toCellText(stringOf(value) ?? '');
    case 'object':
    case 'array':
      return toCellText(readable(value));
    case 'null':
      return '';
    default:
      return value.trim();
  }
}

function* proseOf(records: Iterable<JsonText>): Generator<string, void> {
  let between = '';
  for (const record of records) {
    yield between;
    between = '\n---\n\n';
    const answer = new JsonView(record).inner('answer');
    const findings = answer === undefined ? undefined : findingsOf(answer);
    if (findings === undefined) {
      // No line of JSON begins with backticks, so nothing in it ends this.
      yield '```json\n';
      yield* indented(answer?.text ?? record);
      yield '\n```\n';
      continue;
    }
    for (const line of toProseLines(findings.result)) yield `${line}\n`;
    let number = 0;
    for (const citation of eachItem(findings.citations)) {
      if (number === 0) yield '\n## Sources\n\n';
      yield `${++number}. ${toSourceText(stringOf(citation) ?? readable(citation))}\n`;
    }
  }
}
