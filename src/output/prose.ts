import { indented } from '../json/indent.ts';
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
  return {
    *lines(records) {
      for (const [at, record] of records.entries()) {
        if (at > 0) yield '\n';
        const { result, citations, other } = findingsOf(record);
        if (other !== undefined) {
          yield* indented(other);
          yield '\n';
        }
        for (const line of result === undefined ? [] : toTerminalLines(result)) {
          if (line === '') yield '\n';
          for (const part of wrapTo(line, width, Number.POSITIVE_INFINITY)) yield `${part}\n`;
        }
        let number = 0;
        for (const citation of citations) {
          if (number === 0) yield '\n';
          // Not wrapped: an address in two pieces can't be followed.
          const text = linked(readable(citation), options.links ? addressIn(citation) : undefined);
          yield `${styles.dim(`[${++number}]`)} ${text}\n`;
        }
      }
    },
  };
}
