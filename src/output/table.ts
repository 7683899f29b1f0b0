import { Chalk } from 'chalk';
import { JsonView } from '../json/text.ts';
import { cardLines } from './cards.ts';
import { toTerminalText } from './clean.ts';
import type { Sink } from './sink.ts';
import { plainTable, type TableColumn } from './table-columns.ts';
import { defaultWidth, gap, type PlannedColumn, planTable } from './table-plan.ts';
import { cutTo, padTo, textWidth } from './text-width.ts';
import type { RecordWriter, WriterOptions } from './writer.ts';

/**
 * A table that begins with its first row and never looks back: the widths are fixed before it. Where the columns
 * don't fit side by side, each record is a card.
 */
export function createTableWriter(sink: Sink, options: WriterOptions): RecordWriter {
  const columns = options.layout.table ?? plainTable(options.layout.columns);
  const width = options.width || defaultWidth;
  const chalk = new Chalk({ level: options.color ? 1 : 0 });
  let plan: PlannedColumn[] | 'cards' | undefined;

  function header(planned: readonly PlannedColumn[]): string {
    const names = planned.map((each) =>
      padTo(cutTo(toTerminalText(each.column.header), each.width), each.width),
    );
    const title = `${chalk.bold(lineOf(names).trimEnd())}\n`;
    // Without colours it may be read aloud, stroke by stroke.
    if (!options.color) return title;
    return `${title}${chalk.dim(lineOf(planned.map((each) => '─'.repeat(each.width))))}\n`;
  }

  function row(planned: readonly PlannedColumn[], record: JsonView): string {
    const cells = planned.map(({ column, width }, index) => {
      const cut = cutTo(column.text(record), width);
      return index === planned.length - 1 ? cut : padTo(cut, width);
    });
    return `${lineOf(cells).trimEnd()}\n`;
  }

  return {
    async write(records) {
      if (records.length === 0) return;
      const views = records.map((record) => new JsonView(record));
      let text = '';
      if (plan === undefined) {
        plan = planTable(columns, width, widest(columns, views), views.length) ?? 'cards';
        if (plan !== 'cards' && !options.continued) text = header(plan);
      }
      const planned = plan;
      for (const view of views) {
        if (planned === 'cards') {
          text += `${cardLines(columns, view, width, chalk).join('\n')}\n\n`;
        } else {
          text += row(planned, view);
        }
      }
      await sink.write(text);
    },
    async end() {},
  };
}

function lineOf(cells: readonly string[]): string {
  return cells.join(' '.repeat(gap));
}

function widest(columns: readonly TableColumn[], views: readonly JsonView[]): number[] {
  return columns.map((column) =>
    views.reduce(
      (most, view) => Math.max(most, textWidth(cutTo(column.text(view), 200))),
      textWidth(toTerminalText(column.header)),
    ),
  );
}
