import type { Column } from '../../columns/layout.ts';
import { noResultTexts } from '../../contract/types.ts';
import { nameIn } from '../../files/reading.ts';
import {
  allMembers,
  isFilled,
  type JsonText,
  JsonView,
  kindOf,
  objectMembers,
  objectOf,
  type Path,
  stringOf,
} from '../../json/text.ts';
import { decidingIn, type Join, notFound, type Parts, uniqueNames, whyNone } from './row-parts.ts';

/** What is known of an input whose missing answers are filled in. */
export interface FillInput {
  /** Whether its records are rows of a table, all with these columns. */
  readonly isTable: boolean;
  readonly names: readonly string[];
  /** The first records. */
  readonly head: readonly JsonText[];
}

/** How answers are filled in where they are missing. What stands in a record is never written over, but for the note that says why there is none. */
export interface Fill extends Join {
  /** Columns of the records that those of the answer stand for. */
  readonly replaces: readonly string[];
  /** Whether a column for the answer is there. */
  readonly isThere: boolean;
  /** Whether nothing is bought for a record: its answer is there, or the service had none. */
  isKept(record: JsonText): boolean;
}

/** `deciding` parts are the answer itself: a record that has all of them is filled. */
export function fillWith(
  toValue: (answer: JsonView) => JsonText | undefined,
  parts: Parts,
  into: string,
  { isTable, names, head }: FillInput,
): Fill {
  const own = (name: string): string => nameIn(names, name) ?? name;
  const [member, error] = [own(into), own(`${into}_error`)];
  const deciding = decidingIn(parts);
  const isThere = [into, ...deciding.map(([header]) => header)].some(
    (name) => nameIn(names, name) !== undefined,
  );
  /** JSON has an answer as one object under its name, unless it has texts there. */
  const isNested =
    !isTable &&
    (nameIn(names, into) === undefined
      ? !deciding.some(([header]) => nameIn(names, header) !== undefined)
      : !head.some((record) => isScalar(new JsonView(record).member(member))));
  /** Where the part stands in a record. */
  const pathsOf = ([header, paths]: Parts[number]): readonly Path[] =>
    isNested ? paths.map((path) => [member, ...path]) : [[own(header)]];

  function isKept(record: JsonText): boolean {
    const view = new JsonView(record);
    const note = stringOf(view.member(error))?.trim() ?? '';
    return lastNotes.includes(note) || deciding.every((part) => isFilled(view.find(pathsOf(part))));
  }

  return {
    isThere,
    isKept,
    ...(isNested ? nested() : flat()),
  };

  function nested(): Join & Pick<Fill, 'replaces'> {
    const replaces = [member, error];
    const others = new Set(names.filter((name) => !replaces.includes(name)));
    const header = uniqueNames(
      others,
      parts.map(([name]) => name),
    );
    const columns: Column[] = parts.map((part) => ({
      header: header(part[0]),
      ...(part[2]?.keeps === undefined ? {} : { keeps: part[2].keeps }),
      from: pathsOf(part),
    }));
    columns.push({ header: error, inTable: 'spare', from: [[error]] });
    return {
      columns,
      members: replaces,
      replaces,
      toRecords({ record = '{}' }, outcome) {
        const value = outcome.answer === undefined ? undefined : toValue(new JsonView(outcome.answer));
        const old = new JsonView(record).member(member);
        const why = whyNone(deciding, value, outcome);
        return [
          withSet(record, [
            [member, merged(old, value)],
            [error, why === undefined ? undefined : JSON.stringify(why)],
          ]),
        ];
      },
    };
  }

  function flat(): Join & Pick<Fill, 'replaces'> {
    const added = [...parts.map(([header]) => header), `${into}_error`].filter(
      (header) => nameIn(names, header) === undefined,
    );
    return {
      columns: added.map((header) => ({ header, from: [[header]] })),
      members: added,
      replaces: [],
      toRecords({ record = '{}' }, outcome) {
        const view = new JsonView(record);
        const value = outcome.answer === undefined ? undefined : toValue(new JsonView(outcome.answer));
        const found = value === undefined ? undefined : new JsonView(value);
        const changes = parts
          .filter((part) => !isFilled(view.find(pathsOf(part))))
          .map(([header, paths]) => [own(header), found?.find(paths)] as const)
          .filter(([, text]) => isFilled(text));
        const why = whyNone(deciding, value, outcome);
        // An empty cell, where the table has the column.
        const note = why ?? (view.member(error) === undefined ? undefined : '');
        const last = note === undefined ? [] : [[error, JSON.stringify(note)] as const];
        return [withSet(record, [...changes, ...last])];
      },
    };
  }
}

/** The notes of rows for which the service had no answer: they are not asked for again. */
const lastNotes: readonly string[] = [notFound, ...Object.values(noResultTexts)];

function isScalar(value: JsonText | undefined): boolean {
  return isFilled(value) && !['object', 'array'].includes(kindOf(value ?? 'null'));
}

/** Pure: an answer with what stood there before. */
function merged(old: JsonText | undefined, value: JsonText | undefined): JsonText {
  if (value === undefined) return old ?? 'null';
  const members = objectMembers(old ?? 'null');
  const filled = new Map([...members].filter(([, one]) => isFilled(one)));
  if (filled.size === 0 || kindOf(value) !== 'object')
    return isFilled(old) && filled.size > 0 ? (old ?? value) : value;
  return objectOf(new Map([...members, ...objectMembers(value), ...filled]));
}

/** Pure: the record with these members in their place, or at its end. Undefined removes one. */
function withSet(record: JsonText, changes: readonly (readonly [string, JsonText | undefined])[]): JsonText {
  const changed = new Map(changes);
  const kept = allMembers(record).map(
    ([name, value]) => [name, changed.has(name) ? changed.get(name) : value] as const,
  );
  const there = new Set(kept.map(([name]) => name));
  return objectOf(
    [...kept, ...changes.filter(([name]) => !there.has(name))].flatMap(([name, value]) =>
      value === undefined ? [] : [[name, value] as const],
    ),
  );
}
