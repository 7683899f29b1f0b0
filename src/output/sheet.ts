import { Chalk } from 'chalk';
import Table from 'cli-table3';
import { JsonView } from '../json/text.ts';
import { toTerminalText } from './clean.ts';
import { readableLines } from './readable.ts';
import type { Sink } from './sink.ts';
import { defaultWidth } from './table-plan.ts';
import { cutTo, textWidth, wrapWords } from './text-width.ts';
import type { RecordWriter, WriterOptions } from './writer.ts';

const gap = 2;
/** Nobody reads more of an answer in a table, and the whole of it is in every other format. */
const mostLines = 500;
const none = '–';

/** A single answer: a line per column, its name on the left and its value, wrapped, on the right. */
export function createSheetWriter(sink: Sink, options: WriterOptions): RecordWriter {
  const { layout } = options;
  const width = options.width || defaultWidth;
  const chalk = new Chalk({ level: options.color ? 1 : 0 });

  return {
    async write(records) {
      if (records.length === 0) return;
      let text = '';
      for (const record of records) {
        const view = new JsonView(record);
        const columns = layout.sheet?.(view) ?? layout.columns;
        const names = columns.map(({ header }) => cutTo(toTerminalText(header), Math.floor(width * 0.4)));
        const valueWidth = Math.max(1, width - gap - Math.max(0, ...names.map(textWidth)));
        const table = borderless();
        columns.forEach((column, index) => {
          const lines = readableLines(column.value(view)).flatMap((line) =>
            line === '' ? [''] : wrapWords(line, valueWidth, mostLines),
          );
          const shown = lines.length > mostLines ? [...lines.slice(0, mostLines), '…'] : lines;
          table.push([chalk.bold(names[index] as string), shown.join('\n') || none]);
        });
        text += `${withoutPadding(table.toString())}\n`;
      }
      await sink.write(text);
    },
    async end() {},
  };
}

function borderless(): InstanceType<typeof Table> {
  const no = '';
  return new Table({
    chars: {
      ...{ top: no, 'top-mid': no, 'top-left': no, 'top-right': no },
      ...{ bottom: no, 'bottom-mid': no, 'bottom-left': no, 'bottom-right': no },
      ...{ left: no, 'left-mid': no, mid: no, 'mid-mid': no, right: no, 'right-mid': no },
      middle: ' '.repeat(gap),
    },
    style: { 'padding-left': 0, 'padding-right': 0, head: [], border: [] },
  });
}

/** The library measures with older tables of widths than ours: only its padding on the right can be too wide. */
function withoutPadding(text: string): string {
  return text.replace(/ +$/gm, '');
}
