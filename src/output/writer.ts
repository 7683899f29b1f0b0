import { createYielder } from '../event-loop.ts';
import type { WriterForm, WriterOptions } from './form.ts';

/** Formats that can be streamed. Workbooks and databases need all of their rows first. */
export const printedFormats = ['table', 'cards', 'jsonl', 'json', 'csv', 'md'] as const;
export const formats = [...printedFormats, 'xlsx', 'sqlite'] as const;
export type Format = (typeof formats)[number];

/** Loads only the format that is wanted. */
export async function createForm(format: Format, options: WriterOptions): Promise<WriterForm> {
  switch (format) {
    case 'jsonl':
      return (await import('./json.ts')).createJsonForm({ ...options, onTerminal: false }, false);
    case 'json':
      return (await import('./json.ts')).createJsonForm(options, options.shape === 'list');
    case 'csv':
      return (await import('./csv.ts')).createCsvForm(options);
    case 'md':
      return (await import('./markdown.ts')).createMarkdownForm(options);
    case 'xlsx':
      return (await import('./workbook.ts')).createWorkbookRows(options);
    case 'sqlite':
      return (await import('./database-part.ts')).createDatabaseRows(options);
    case 'table':
    case 'cards':
      return withSigns(await createScreenForm(format, options), options.signs);
  }
}

async function createScreenForm(format: 'table' | 'cards', options: WriterOptions): Promise<WriterForm> {
  if (options.shape === 'list')
    return (await import('./table.ts')).createTableForm(options, format === 'cards');
  return (await import('./single-answer.ts')).createAnswerForm(options);
}

function withSigns(form: WriterForm, signs: WriterOptions['signs']): WriterForm {
  if (signs === undefined) return form;
  return {
    *lines(records) {
      for (const piece of form.lines(records)) yield signs(piece);
    },
    end: () => signs(form.end?.() ?? ''),
  };
}

/** Text is written at this number of characters: a page of a search is nearly always one write. */
const minWriteLength = 1 << 20;
/** As above, for text that is slow to make. */
const minSlowWriteLength = 1 << 12;

/**
 * Writes text piece by piece. Short pieces are written together; no more text is made until `write` resolves (back-pressure). Throws what
 * `write` throws and, between two pieces, the outcome of the signal.
 */
export async function writePieces(
  write: (text: string) => Promise<void>,
  pieces: Iterable<string>,
  signal?: AbortSignal,
): Promise<void> {
  const yielder = createYielder(signal);
  let text = '';
  for (const piece of pieces) {
    text += piece;
    const isDue = yielder.isDue();
    if (text.length >= (isDue ? minSlowWriteLength : minWriteLength)) {
      await write(text);
      text = '';
    }
    if (isDue) await yielder.yield();
  }
  if (text !== '') await write(text);
}
