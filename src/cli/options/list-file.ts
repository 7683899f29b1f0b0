import type { Context } from '../../context.ts';
import { UsageError } from '../../errors.ts';
import { stringOf } from '../../json/text.ts';
import { bytesOf } from '../../requests/file-bytes.ts';
import { formatOfName, openInput } from '../../requests/rows.ts';
import { memberIn, nameIn } from '../../requests/template.ts';
import { checkFileName, isInput, takeInput } from './inputs.ts';

/**
 * The items in a file of a list option, read as rows are: text with an item per line, CSV with a column of the given name, JSONL
 * with a field of that name. Throws UsageError, also for a row that can't be read: what is left out by mistake is bought.
 */
export async function readListFile(
  context: Context,
  path: string,
  option: string,
  column: string,
): Promise<string[]> {
  const isPiped = isInput(path);
  const bytes = isPiped ? takeInput(context, option) : bytesOf(checkFileName(option, path), option);
  const name = isPiped ? 'standard input' : path;
  const what = `${option}: ${name}`;
  const { columns, rows } = await openInput(bytes, {
    format: formatOfName(path),
    field: column,
    wanted: [column],
    what,
  });
  if (columns !== undefined && nameIn(columns, column) === undefined) {
    throw new UsageError(`${what} has no column "${column}"`);
  }
  const items: string[] = [];
  for await (const { line, record, flaw } of rows) {
    const item = record === undefined ? undefined : stringOf(memberIn(record, column));
    if (item === undefined) {
      throw new UsageError(
        `${option}: line ${line} of ${name} ${record === undefined ? flaw : `has no text "${column}"`}`,
      );
    }
    items.push(item);
  }
  return items;
}
