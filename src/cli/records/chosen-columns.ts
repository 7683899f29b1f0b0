import { toChosen, toColumnWord } from '../../columns/chosen-names.ts';
import type { Layout, LayoutOf } from '../../columns/layout.ts';
import { UsageError } from '../../errors.ts';
import { shownColumns } from '../../output/table-columns.ts';
import { listed, nearest } from '../../requests/closed-list.ts';
import { headsOf } from '../../requests/template.ts';
import { shellWord } from '../messages/proposed.ts';
import { type RecordOptions, toNames } from '../options/record-options.ts';

/**
 * Throws UsageError for a name of --columns that no record can have, before anything is bought. If the service may send unknown members, only
 * a name that resembles a known one is refused.
 */
export function checkChosenColumns(
  columns: NonNullable<RecordOptions['columns']>,
  layout: Layout | LayoutOf,
): void {
  if (typeof layout === 'function') return;
  const all = [...layout.columns, ...shownColumns(layout), ...(layout.offered ?? [])];
  const headers = [...new Set(all.map(({ header }) => header))];
  const known = new Set(headers);
  for (const given of toNames(columns)) {
    const { header, name } = toChosen(given, known);
    if (known.has(header) && !known.has(name) && !name.includes('.')) {
      throw new UsageError(
        `--columns: there is no column "${name}". The new name goes on the left: "${name}=${header}"`,
      );
    }
    const near = nearest(name, headers);
    const isPossible =
      layout.members === undefined
        ? near === undefined || name.includes('.')
        : [name, ...headsOf(name)].some((head) => known.has(head) || layout.members?.includes(head));
    if (known.has(name) || isPossible) continue;
    throw new UsageError(
      `--columns: there is no column "${name}"${near === undefined ? '' : `. Did you mean "${near}"?`}`,
      `The columns are ${listed(headers)}.`,
    );
  }
}

/** Maximum number of names in a message. */
const maxNamed = 5;

/** Pure: the warning about names that no record had, with similar names and, if it is stored, the command that prints the result again. */
export function toNoSuchColumnWarning(
  { columns = [] }: RecordOptions,
  names: readonly string[],
  headers: readonly string[],
  operationId: string | undefined,
): string {
  const listed = names.slice(0, maxNamed);
  const nearTo = new Map(listed.map((name) => [name, nearest(name, headers)]));
  const known = new Set(headers);
  const corrected = toNames(columns).map((one) => {
    const { header, name } = toChosen(one, known);
    const near = nearTo.get(name);
    if (near === undefined) return one;
    return header === name ? toColumnWord(near) : `${toColumnWord(header)}=${toColumnWord(near)}`;
  });
  const near = [...nearTo.values()].filter((one) => one !== undefined);
  const meant = near.length === 0 ? '' : ` Did you mean ${quoted(near)}?`;
  const more = near.length === 0 ? '' : ` --columns ${shellWord(corrected.join(','))}`;
  const again =
    operationId === undefined
      ? ''
      : ` To print it again, for free: leadpipe history show ${operationId}${more}`;
  const others = names.length > maxNamed ? ` and ${names.length - maxNamed} more` : '';
  const end = meant === '' && again === '' ? '' : '.';
  return `--columns: no record has ${quoted(listed)}${others}${end}${meant}${again}`;
}

function quoted(names: readonly string[]): string {
  return names.map((name) => `"${name}"`).join(', ');
}
