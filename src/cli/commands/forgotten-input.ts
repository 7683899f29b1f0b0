import { extname } from 'node:path';
import type { Context } from '../../context.ts';
import { LeadpipeError, UsageError } from '../../errors.ts';
import { isRegularFile } from '../../files/target.ts';
import { bytesOf } from '../../requests/file-bytes.ts';
import { canAsk, confirm } from '../ask.ts';
import { shellWord } from '../messages/proposed.ts';
import { isInput } from '../options/inputs.ts';

/**
 * Checks for a forgotten `--input`: an argument that names an existing file, or an `@file` that contains a table. Asks on a terminal. Elsewhere,
 * or after a no, throws UsageError: the name, or the whole file, would be bought as one text.
 */
export async function checkNotForgotten(context: Context, argument: string, what: string): Promise<void> {
  const file = argument.replace(/^@/, '');
  if (file === '' || isInput(file) || !(await isRegularFile(file))) return;
  const isNamed = argument.startsWith('@');
  if (isNamed && !(await hasTable(file))) return;
  const found = isNamed ? `${file} has a table in it` : `${argument} is a file`;
  const hint = `To look up each row of the file: --input ${shellWord(file)}`;
  if (canAsk(context)) {
    const question = isNamed ? 'Send the whole file as one text?' : `Look up the text "${argument}" itself?`;
    if (await confirm(context, `${found}. ${question}`)) return;
  }
  throw new UsageError(
    `${found}, and ${isNamed ? 'all of it would be sent as one text' : `only its name would be sent, as ${what}`}`,
    isNamed || (await hasTable(file))
      ? hint
      : `${hint}\nTo send what is in the file as one text: ${shellWord(`@${file}`)}`,
  );
}

/** False for a file that can't be read as a list, and for a single JSON object: both are texts. */
async function hasTable(file: string): Promise<boolean> {
  const { openInput } = await import('../../requests/rows.ts');
  try {
    const { columns, format, rows } = await openInput(bytesOf(file, '@file'), {
      name: file,
      field: 'text',
      wanted: [],
      what: file,
    });
    if (format === 'text') return false;
    if (columns !== undefined) return columns.length > 1 || extname(file) !== '';
    let count = 0;
    for await (const { record } of rows) if (record !== undefined && ++count > 1) break;
    return count > 1 && (await isNotSingleObject(file));
  } catch (error) {
    if (error instanceof LeadpipeError) return false;
    throw error;
  }
}

/** False for a file with a single JSON object, which may be an entity context. */
async function isNotSingleObject(file: string): Promise<boolean> {
  const [{ readNamedFile }, { isJson }] = await Promise.all([
    import('../options/inputs.ts'),
    import('../../json/valid.ts'),
  ]);
  const text = (await readNamedFile(file, '@file')).trim();
  return !(text.startsWith('{') && isJson(text));
}
