import { UsageError } from '../../errors.ts';
import { type JsonText, kindOf, objectMembers } from '../../json/text.ts';
import { pathLayout } from '../../output/columns.ts';
import type { Column, Layout, LayoutOf } from '../../output/layout.ts';
import { nearest } from '../../requests/closed-list.ts';
import type { RecordOptions } from '../options/options.ts';

/** What --columns says, and what became of it. */
export interface Chosen {
  readonly layout: Layout;
  /** Pure: a line for each path that no record had, once there were records. */
  unfound(): string[];
}

/** How deep the paths are that can be meant instead of one that nothing has. */
const deepest = 2;

/**
 * Of --columns: paths, and, where a record has no such path, the headers of `usual`, which is printed without it. Throws
 * UsageError.
 */
export function toChosen({ columns }: RecordOptions, usual?: Layout | LayoutOf): Chosen | undefined {
  if (columns === undefined) return undefined;
  const paths = columns.flatMap((one) => one.split(',')).map((path) => path.trim());
  if (paths.includes('')) {
    throw new UsageError(
      '--columns has an empty name',
      'For example: --columns name,score.score,links.website',
    );
  }
  const layout = pathLayout(paths);
  const unfound = new Set(layout.columns);
  let first: JsonText | undefined;
  let known = typeof usual === 'object' ? byHeader(usual) : new Map<string, Column>();
  return {
    layout: {
      ...layout,
      async learn(records, signal) {
        if (typeof usual === 'function') known = byHeader(await usual(records, signal));
      },
      columns: layout.columns.map((column) => ({
        ...column,
        value(record) {
          first ??= record.text;
          const own = known.get(column.header);
          const [one, other] = own?.overPath ? [own, column] : [column, own];
          const value = one.value(record) ?? other?.value(record);
          if (own !== undefined || value !== undefined) unfound.delete(column);
          return value;
        },
      })),
    },
    unfound() {
      if (first === undefined) return [];
      // A comma would make two paths of it.
      const paths = [...pathsOf(first, deepest)].filter((path) => !path.includes(','));
      return [...unfound].map(({ header }) => {
        const near = nearPath(header, paths);
        return `--columns: no record has "${header}"${near === undefined ? '' : `; did you mean ${near}?`}`;
      });
    },
  };
}

function byHeader({ columns }: Layout): Map<string, Column> {
  return new Map(columns.map((column) => [column.header, column]));
}

/** Also one that is named by its last part alone, as it is in the CSV of leads. */
function nearPath(path: string, known: readonly string[]): string | undefined {
  const lastOf = (one: string): string => one.slice(one.lastIndexOf('.') + 1);
  const parts = [...new Set(known.map(lastOf))];
  const part = parts.includes(path) ? path : nearest(path, parts);
  return nearest(path, known) ?? known.find((one) => lastOf(one) === part);
}

function* pathsOf(record: JsonText, depth: number): Generator<string, void> {
  for (const [name, value] of objectMembers(record)) {
    yield name;
    if (depth === 1 || kindOf(value) !== 'object') continue;
    for (const path of pathsOf(value, depth - 1)) yield `${name}.${path}`;
  }
}
