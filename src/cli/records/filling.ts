import { UsageError } from '../../errors.ts';
import type { JsonText } from '../../json/text.ts';
import type { ListOf } from '../../operations/kinds/layouts.ts';
import type { ListRows } from '../../operations/kinds/list-rows.ts';
import type { Fill } from '../../operations/kinds/row-fill.ts';
import { countOf, plural } from '../../operations/wording.ts';
import { contactCandidatesIn } from '../../requests/column-meanings.ts';
import { shellWord } from '../messages/proposed.ts';
import type { RowsOptions } from '../options/rows-options.ts';
import type { RecordColumns } from './list-columns.ts';
import { namesIn, type RowInput } from './rows-input.ts';

/** The effect of `--only-missing` on the rows of a list, and the notes about it. */
export interface Filling {
  readonly fill?: Fill | undefined;
  /** Which rows are taken, and which of them are kept. */
  readonly rows?: Pick<ListRows, 'source' | 'isKept'>;
  /** A note before the first row. */
  readonly note?: string | undefined;
  /** A note after the last row. */
  readonly noteAtEnd?: () => string | undefined;
}

/** How answers are filled in. Throws UsageError if a table has no column for them: all rows would be bought. */
export function toFilling(
  { local, onlyMissing }: RowsOptions & { readonly local?: true },
  { fields = [], fill: toFill }: ListOf,
  into: string,
  input: RowInput,
  { leadHeaders = [] }: RecordColumns,
): Filling {
  const { columns, format, head, source, what } = input;
  const names = namesIn(input);
  const records = head.flatMap(({ record }) => record ?? []);
  const fill = toFill?.(into, { isTable: format === 'csv', names, headers: leadHeaders, head: records });
  if (fill === undefined) return {};
  const there = fill.there.map((name) => `"${name}"`).join(', ');
  if (!onlyMissing) {
    const hasEmpty = there !== '' && records.some((record) => !fill.isKept(record));
    const note = `${what} has rows without ${there}: add --only-missing to buy only these rows, and to fill in that column.`;
    return { note: hasEmpty ? note : undefined };
  }
  if (columns !== undefined && columns.length > 0 && there === '') {
    const wanted = fields.length === 0 ? [into] : fields;
    throw toNoColumn(what, wanted, contactCandidatesIn(columns, into), fields.length === 0);
  }
  let [lost, marked] = [0, 0];
  return {
    fill,
    rows: {
      isKept(record: JsonText) {
        const isKept = fill.isKept(record);
        if (!isKept && fill.hasPlaceholder(record)) marked++;
        if (!isKept && fill.isLost(record)) lost++;
        return isKept;
      },
      source: {
        ...source,
        // Rows may have been looked at before they are taken.
        take() {
          [lost, marked] = [0, 0];
          return source.take();
        },
      },
    },
    noteAtEnd() {
      const rows = (count: number): string => `${countOf(count, 'row')} ${plural(count, 'has', 'have')}`;
      const words =
        marked === 0 ? '' : `${rows(marked)} a word such as "n/a" or "-" in ${there}: it counts as missing. `;
      const again =
        lost === 0 || local
          ? ''
          : `${rows(lost)} an answer that was lost before: ${plural(lost, 'it', 'they')} may be charged twice.`;
      return `${words}${again}`.trim() || undefined;
    },
  };
}

function toNoColumn(
  what: string,
  wanted: readonly string[],
  candidates: readonly string[],
  canBeNamed: boolean,
): UsageError {
  const named = candidates.map((name) => `--into ${shellWord(name)}`).join(' or ');
  const toName = named === '' ? 'Name the column with --into' : `If it is another column: ${named}`;
  return new UsageError(
    `--only-missing: ${what} has no column ${wanted.map((name) => `"${name}"`).join(', ')} that could be filled in`,
    canBeNamed
      ? `${toName}. To buy all rows, leave out --only-missing.`
      : 'To buy all rows, leave out --only-missing.',
  );
}
