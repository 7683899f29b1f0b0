import { Chalk } from 'chalk';
import { indented } from '../json/indent.ts';
import { arrayItems, type JsonText, JsonView, kindOf, stringOf } from '../json/text.ts';
import { toTerminalLines } from './clean.ts';
import { readable } from './readable.ts';
import type { Sink } from './sink.ts';
import { defaultWidth } from './table-plan.ts';
import { wrapTo } from './text-width.ts';
import type { RecordWriter, WriterOptions } from './writer.ts';

/** Longer lines are hard to read, however wide the terminal. */
const widest = 100;

/**
 * A research answer for people: `Result` as text, then `Citations` with their numbers. An answer of another form is
 * shown as the JSON it is.
 */
export function createProseWriter(sink: Sink, options: WriterOptions): RecordWriter {
  const width = Math.min(options.width || defaultWidth, widest);
  const chalk = new Chalk({ level: options.color ? 1 : 0 });
  return {
    async write(records) {
      const texts = records.map((record) => {
        const answer = new JsonView(record).inner('answer');
        const findings = answer === undefined ? undefined : findingsOf(answer);
        if (findings === undefined) return `${indented(answer?.text ?? record)}\n`;
        const paragraphs = toTerminalLines(findings.result).flatMap((line) =>
          line === '' ? [''] : wrapTo(line, width, Number.POSITIVE_INFINITY),
        );
        // Not wrapped: an address in two pieces can't be followed.
        const sources = findings.citations.map(
          (citation, index) => `${chalk.dim(`[${index + 1}]`)} ${readable(citation)}`,
        );
        return `${[...paragraphs, ...(sources.length > 0 ? ['', ...sources] : [])].join('\n')}\n`;
      });
      if (texts.length > 0) await sink.write(texts.join('\n'));
    },
    async end() {},
  };
}

function findingsOf(answer: JsonView): { result: string; citations: readonly JsonText[] } | undefined {
  const result = stringOf(answer.member('Result'))?.trim();
  const citations = answer.member('Citations') ?? 'null';
  if (!result || !['array', 'null'].includes(kindOf(citations))) return undefined;
  return { result, citations: arrayItems(citations) };
}
