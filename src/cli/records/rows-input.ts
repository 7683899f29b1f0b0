import type { Context } from '../../context.ts';
import { UsageError } from '../../errors.ts';
import { bytesOf } from '../../input/file-bytes.ts';
import { formatOfName, type Input, type InputRow, openInput } from '../../input/rows.ts';
import { containerIn, nameIn, type Template, textAt } from '../../input/template.ts';
import { type JsonText, JsonView, objectMembers } from '../../json/text.ts';
import { createDigests, digestOf } from '../../operations/journal/digests.ts';
import { takeInput } from '../options/inputs.ts';
import type { RowsOptions, Shard } from '../options/rows.ts';

/** Pure: whether the rows of a list are meant, or the one argument. Throws UsageError for both, or none. */
export function sourceOf(
  options: RowsOptions,
  argument: string | undefined,
  name: string,
): { readonly input: string } | { readonly argument: string } {
  const { input } = options;
  if (input === undefined) {
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
  const bytes = name === '-' ? takeInput(context, '--input') : bytesOf(name, '--input');
  const input = await openInput(bytes, {
    format: inputFormat ?? formatOfName(name),
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

/** Throws UsageError, before anything is sent, where no row can say what to send. */
export function checkUsable(
  name: string,
  { columns, format }: Input,
  { record }: InputRow,
  { field, takesEntities }: { readonly field: string; readonly takesEntities: boolean },
  toText: (record: JsonText) => string,
): void {
  const enough = takesEntities ? [field, 'name'] : [field];
  if (columns !== undefined && enough.some((one) => nameIn(columns, one) !== undefined)) return;
  if (columns === undefined && record === undefined) return;
  if (toText(record ?? '{}') !== '') return;
  const what = name === '-' ? 'standard input' : name;
  const entities = takesEntities ? ', and its rows do not look like leads' : '';
  throw new UsageError(
    `${what} has no ${format === 'csv' ? 'column' : 'field'} "${field}"${entities}: leadpipe does not know what to send for a row`,
    'Name it with --template, for example: --template "{name}, {website}"',
  );
}

/** Throws UsageError for a template that takes what no row has: it would be sent without it. */
export function checkTemplate(
  { columns, format }: Input,
  first: JsonText | undefined,
  { paths, fill }: Template,
): void {
  if (columns === undefined && first === undefined) return;
  const names = columns ?? [...objectMembers(first ?? '{}').keys()];
  const [of, all] = format === 'csv' ? ['column', 'columns'] : ['field', 'fields'];
  const known = `The ${all} are ${names.join(', ').slice(0, 300)}.`;
  // Another record of JSON can have other fields.
  const isFixed = format !== 'jsonl';
  const unknown = paths.find(
    (path) =>
      nameIn(names, path) === undefined && !headsOf(path).some((head) => nameIn(names, head) !== undefined),
  );
  if (unknown !== undefined && (isFixed || fill(first ?? '{}') === '')) {
    throw new UsageError(
      `--template: there is no ${of} "${unknown}"`,
      format === 'text' ? `The input has plain lines: {${names[0]}} is the line.` : known,
    );
  }
  const view = new JsonView(first ?? '{}');
  for (const path of isFixed ? paths : []) {
    const plain = headsOf(path).find((head) => textAt(view, head) !== '');
    if (plain === undefined || nameIn(names, path) !== undefined) continue;
    if (containerIn(textAt(view, plain)) !== undefined) continue;
    throw new UsageError(
      `--template: there is no "${path}": the ${of} "${plain}" holds plain text`,
      `Write {${plain}} for the whole text.`,
    );
  }
}

/** `a.b` and `a` of `a.b.c`. */
function headsOf(path: string): string[] {
  const parts = path.split('.');
  return parts.slice(1).map((_, at) => parts.slice(0, at + 1).join('.'));
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
