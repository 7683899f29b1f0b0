import { indented } from '../json/indent.ts';
import { eachItem, type JsonText, JsonView } from '../json/text.ts';
import { toTerminalLines } from './clean.ts';
import { stylesOf } from './color.ts';
import { addressIn, linked } from './hyperlink.ts';
import { readable } from './readable.ts';
import { findingsOf } from './record-parts.ts';
import { defaultWidth } from './table-plan.ts';
import { wrapTo } from './text-width.ts';
import type { WriterForm, WriterOptions } from './writer.ts';

/** Longer lines are hard to read, however wide the terminal. */
const widest = 100;

/**
 * A research answer for people: `Result` as text, then `Citations` with their numbers. An answer of another form is
 * shown as the JSON it is.
 */
export function createProseForm(options: WriterOptions): WriterForm {
  const width = Math.min(options.width || defaultWidth, widest);
  const styles = stylesOf(options.color ?? false);

  function* text(records: Iterable<JsonText>): Generator<string, void> {
    let between = '';
    for (const record of records) {
      yield between;
      between = '\n';
      const answer = new JsonView(record).inner('answer');
      const findings = answer === undefined ? undefined : findingsOf(answer);
      if (findings === undefined) {
        yield* indented(answer?.text ?? record);
        yield '\n';
      } else {
        yield* paragraphs(findings.result);
        yield* sources(findings.citations);
      }
    }
  }

  function* paragraphs(result: string): Generator<string, void> {
    for (const line of toTerminalLines(result)) {
      if (line === '') yield '\n';
      for (const part of wrapTo(line, width, Number.POSITIVE_INFINITY)) yield `${part}\n`;
    }
  }

  function* sources(citations: JsonText): Generator<string, void> {
    let number = 0;
    for (const citation of eachItem(citations)) {
      if (number === 0) yield '\n';
      // Not wrapped: an address in two pieces can't be followed.
      const text = readable(citation);
      const shown = options.links ? linked(text, addressIn(citation)) : text;
      yield `${styles.dim(`[${++number}]`)} ${shown}\n`;
    }
  }

  return { lines: text };
}
