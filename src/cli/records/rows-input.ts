import { extname } from 'node:path';
import type { Context } from '../../context.ts';
import { UsageError } from '../../errors.ts';
import { decoded } from '../../files/decoded.ts';
import { bytesOf } from '../../input/file-bytes.ts';
import { type Input, type InputRow, openInput } from '../../input/rows.ts';
import type { JsonText } from '../../json/text.ts';
import { createDigests, digestOf } from '../../operations/journal/digests.ts';
import type { RowsOptions, Shard } from '../options/rows.ts';

/** Pure: whether the rows of a list are meant, or the one argument. Throws UsageError for both, or none. */
export function sourceOf(
  options: RowsOptions,
  argument: string | undefined,
  name: string,
): { readonly input: string } | { readonly argument: string } {
  const { input } = options;
  if (input === undefined) {
    checkWithoutRows(options);
    if (argument !== undefined) return { argument };
    throw new UsageError(
      `the ${name.replaceAll('-', ' ')} is missing`,
      'Write it in quotes after the command, or name a file with many: --input <file>.',
    );
  }
  if (argument === undefined) return { input };
  throw new UsageError(
    `with --input, the ${name.replaceAll('-', ' ')} of each row comes from the file: leave out the argument`,
  );
}

export async function readInput(
  context: Context,
  { input: name, inputFormat }: RowsOptions & { readonly input: string },
  field: string,
  wanted: readonly string[],
): Promise<{ readonly input: Input; readonly first: InputRow | undefined }> {
  const what = name === '-' ? 'standard input' : name;
  const bytes = name === '-' ? context.stdin.stream : bytesOf(name, '--input');
  const input = await openInput(decoded(bytes, what), {
    format: inputFormat ?? formatOf(name),
    field,
    wanted,
    what,
  });
  const rows = input.rows[Symbol.asyncIterator]();
  const first = await rows.next();
  // What found nothing is an input as well: a pipeline of every day must not fail on a quiet one.
  if (first.done) return { input, first: undefined };
  const all = (async function* () {
    yield first.value;
    yield* { [Symbol.asyncIterator]: () => rows };
  })();
  return { input: { ...input, rows: all }, first: first.value };
}

function formatOf(name: string): Input['format'] | undefined {
  const extension = extname(name).toLowerCase();
  if (['.csv', '.tsv'].includes(extension)) return 'csv';
  if (['.jsonl', '.ndjson'].includes(extension)) return 'jsonl';
  return extension === '.txt' ? 'text' : undefined;
}

/** Throws UsageError, before anything is sent, where no row can say what to send. */
export function checkUsable(
  name: string,
  { columns, format }: Input,
  { record }: InputRow,
  { field, takesEntities }: { readonly field: string; readonly takesEntities: boolean },
  toText: (record: JsonText) => string,
): void {
  const what = name === '-' ? 'standard input' : name;
  if (
    format === 'csv'
      ? toText(record ?? '{}') !== '' || columns?.includes(field)
      : record === undefined || toText(record) !== ''
  )
    return;
  const entities = takesEntities ? ', and its rows do not look like leads' : '';
  throw new UsageError(
    `${what} has no ${format === 'csv' ? 'column' : 'field'} "${field}"${entities}: leadpipe does not know what to send for a row`,
    'Name it with --template, for example: --template "{name}, {website}"',
  );
}

/** How many different requests the rows make; `flawed` is told of those that make none. */
export async function countRows<Body extends object>(
  rows: AsyncIterable<InputRow>,
  toBody: (record: JsonText) => Body,
  shard: Shard | undefined,
  flawed: (line: number, why: string) => void = () => {},
): Promise<number> {
  const seen = createDigests();
  let count = 0;
  for await (const { record, number, line, flaw } of rows) {
    if (shard !== undefined && number % shard.of !== shard.index % shard.of) continue;
    try {
      if (record === undefined) throw new UsageError(flaw ?? "can't be read");
      const digest = digestOf(JSON.stringify(toBody(record)));
      if (seen.get(digest) !== undefined) continue;
      seen.set(digest, { state: 'sent', offset: 0, length: 0 });
      count++;
    } catch (error) {
      if (!(error instanceof UsageError)) throw error;
      flawed(line, error.message);
    }
  }
  return count;
}

/** Throws UsageError for what goes with rows alone: one purchase would not do what it says. */
function checkWithoutRows(options: RowsOptions): void {
  const names = [
    'inputFormat',
    'template',
    'into',
    'unordered',
    'errors',
    'retryUnknown',
    'run',
    'shard',
  ] as const;
  const given = names.find((name) => options[name] !== undefined);
  if (given === undefined) return;
  const flag = given.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
  throw new UsageError(
    `--${flag} works only with --input`,
    'Give the list: --input <file>, or - for standard input.',
  );
}
