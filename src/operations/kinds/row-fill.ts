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
  stringOf,
} from '../../json/text.ts';
import { contactColumnIn } from '../../requests/column-meanings.ts';
import { isEmptyWord } from '../../requests/row-texts.ts';
import {
  decidingIn,
  type Join,
  lostAnswer,
  missingReason,
  notFound,
  type Parts,
  uniqueNames,
} from './row-parts.ts';

/** An input whose missing answers are filled in. */
export interface FillInput {
  /** Whether its records are rows of a table, all with these columns. */
  readonly isTable: boolean;
  readonly names: readonly string[];
  /** Headers of columns that are no members of the records. */
  readonly headers: readonly string[];
  /** The first records. */
  readonly head: readonly JsonText[];
}

/** Fills in missing answers. The values of a record are never overwritten, except the note that says why an answer is missing. */
export interface Fill extends Join {
  /** Members of the records that the columns of the answer stand for. */
  readonly replaces: readonly string[];
  /** The columns of the answer that the input has already. */
  readonly there: readonly string[];
  /** Whether nothing is bought for a record: its answer is there, or the service had none. */
  isKept(record: JsonText): boolean;
  /** Whether the answer of a record was lost: it may have been charged. */
  isLost(record: JsonText): boolean;
  /** Whether a record has a placeholder such as `n/a` instead of an answer. */
  hasPlaceholder(record: JsonText): boolean;
}

/** `deciding` parts are the answer itself: a record that has all of them is filled. */
export function fillWith(
  toValue: (answer: JsonView) => JsonText | undefined,
  parts: Parts,
  into: string,
  { isTable, names, headers, head }: FillInput,
): Fill {
  const own = (name: string): string => nameIn(names, name) ?? contactColumnIn(names, name) ?? name;
  const [member, error] = [own(into), own(`${into}_error`)];
  const deciding = decidingIn(parts);
  const flatNames = parts.map(([header]) => own(header));
  /** The form of the answer for records that have neither form. */
  const isNestedByDefault = !isTable && isNestedIn(head, member, flatNames);
  const replaces = isTable ? [] : [...new Set([member, error, ...(isNestedByDefault ? [] : flatNames)])];
  const others = names.filter((name) => !replaces.includes(name));
  const members = [...new Set([...(isTable ? [] : [member]), ...flatNames, error])].filter(
    (name) => !others.includes(name),
  );
  const free = uniqueNames([...others, ...headers], flatNames);
  const columns: Column[] = parts.map((part) => ({
    header: isTable ? own(part[0]) : free(own(part[0])),
    ...(part[2]?.keeps === undefined ? {} : { keeps: part[2].keeps }),
    from: (record) => partOf(record, part),
  }));
  columns.push({ header: error, inTable: 'spare', from: [[error]] });

  return {
    there: [...new Set([into, ...deciding.map(([header]) => header)].map(own))].filter((name) =>
      names.includes(name),
    ),
    isKept(record) {
      const view = new JsonView(record);
      return lastNotes.includes(noteOf(view)) || deciding.every((part) => partOf(view, part) !== undefined);
    },
    isLost: (record) => noteOf(new JsonView(record)).startsWith(lostAnswer),
    hasPlaceholder(record) {
      const view = new JsonView(record);
      return deciding.some((part) => isPlaceholder(foundAt(view, part)));
    },
    columns: isTable ? columns.filter(({ header }) => !names.includes(header)) : columns,
    members,
    replaces,
    toRecords({ record = '{}' }, outcome) {
      const view = new JsonView(record);
      const value = outcome.answer === undefined ? undefined : toValue(new JsonView(outcome.answer));
      // An answer that counts as missing is "not found", so that it is not bought again each time.
      const why = missingReason(deciding, value, outcome, isAnswer);
      // In a table, a note that is no longer true becomes an empty cell.
      const note = why ?? (isNested(view) || view.member(error) === undefined ? undefined : '');
      const filled = isNested(view)
        ? [[member, merged(view.member(member), value)] as const]
        : missingIn(view, value);
      return [withSet(record, [...filled, [error, note === undefined ? undefined : JSON.stringify(note)]])];
    },
  };

  /** Why the answer of a record is missing. */
  function noteOf(record: JsonView): string {
    return stringOf(record.member(error))?.trim() ?? '';
  }

  /** JSON may have an answer as one object under its name; in a table each part has a column. Any record of JSON may have either form. */
  function isNested(record: JsonView): boolean {
    const whole = record.member(member);
    if (isTable || isFilled(whole)) return !isTable && kindOf(whole ?? 'null') === 'object';
    return isNestedByDefault && !deciding.some(([header]) => isFilled(flatPart(record, header)));
  }

  /** A member that all records have beside the object is no part of the answer. */
  function flatPart(record: JsonView, header: string): JsonText | undefined {
    return members.includes(own(header)) ? record.member(own(header)) : undefined;
  }

  function partOf(record: JsonView, part: Parts[number]): JsonText | undefined {
    const value = foundAt(record, part);
    // In a cell, {"content":null} would be a text that says something.
    return isAnswer(value) ? value : undefined;
  }

  function foundAt(record: JsonView, [header, paths]: Parts[number]): JsonText | undefined {
    return isNested(record) ? record.inner(member)?.find(paths) : record.member(own(header));
  }

  /** The parts of an answer that a flat record lacks. */
  function missingIn(
    record: JsonView,
    value: JsonText = 'null',
  ): (readonly [string, JsonText | undefined])[] {
    const found = new JsonView(value);
    return parts
      .filter((part) => partOf(record, part) === undefined)
      .map(([header, paths]) => [own(header), found.find(paths)] as const)
      .filter(([, text]) => isFilled(text));
  }
}

/** Pure: whether these records have their answers as objects, or no answers at all. `flatNames` are the names of the parts elsewhere. */
function isNestedIn(records: readonly JsonText[], member: string, flatNames: readonly string[]): boolean {
  const views = records.map((record) => new JsonView(record));
  const wholes = views.flatMap((view) => view.member(member) ?? []);
  if (wholes.some((whole) => isFilled(whole) && kindOf(whole) !== 'object')) return false;
  const isNestedInRecords = flatNames.includes(member)
    ? wholes.some((whole) => kindOf(whole) === 'object')
    : wholes.length > 0;
  return (
    isNestedInRecords ||
    !views.some((view) => flatNames.some((name) => name !== member && view.member(name) !== undefined))
  );
}

/** The notes of rows for which the service had no answer: they are not asked for again. */
const lastNotes: readonly string[] = [notFound, ...Object.values(noResultTexts)];

/** Pure: whether a value is a placeholder for a missing answer. */
function isPlaceholder(value: JsonText | undefined): boolean {
  const text = stringOf(value ?? 'null')?.trim() ?? '';
  return isEmptyWord(text) || /^(?:none|null|not found)$/i.test(text);
}

function isAnswer(value: JsonText | undefined): boolean {
  return isFilled(value) && !isPlaceholder(value);
}

/** Pure: an answer merged with the earlier value; existing answers stay. */
function merged(old: JsonText | undefined, value: JsonText | undefined): JsonText {
  if (value === undefined) return old ?? 'null';
  const members = objectMembers(old ?? 'null');
  const filled = new Map([...members].filter(([, one]) => isAnswer(one)));
  if (filled.size === 0 || kindOf(value) !== 'object')
    return isAnswer(old) && filled.size > 0 ? (old ?? value) : value;
  return objectOf(new Map([...members, ...objectMembers(value), ...filled]));
}

/** Pure: the record with these members replaced, or added at the end. The value undefined removes a member. */
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
