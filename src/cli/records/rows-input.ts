import { toChosen } from '../../columns/chosen-names.ts';
import type { Context } from '../../context.ts';
import { UsageError } from '../../errors.ts';
import { nameIn } from '../../files/reading.ts';
import { withoutGuards } from '../../files/table-records.ts';
import { isRegularFile } from '../../files/target.ts';
import { behind } from '../../files/text-begin.ts';
import { type JsonText, JsonView, objectMembers, objectOf } from '../../json/text.ts';
import type { ListOf } from '../../operations/kinds/layouts.ts';
import type { RowSource } from '../../operations/kinds/list-rows.ts';
import { listed } from '../../requests/closed-list.ts';
import { isColumnName, isKnownColumn } from '../../requests/column-meanings.ts';
import { bytesOf } from '../../requests/file-bytes.ts';
import { type ToRowText, toIdentityTemplate, unusedIn } from '../../requests/row-texts.ts';
import { type Input, type InputRow, openInput } from '../../requests/rows.ts';
import {
  containerAt,
  hasPath,
  headsOf,
  pathsIn,
  type Template,
  textAt,
  toTemplate,
} from '../../requests/template.ts';
import { shellWord } from '../messages/proposed.ts';
import { takeInput } from '../options/inputs.ts';
import { type RecordOptions, toNames } from '../options/record-options.ts';
import type { RowsOptions } from '../options/rows-options.ts';

/** The rows of an input. The first ones were read before anything is sent. */
export interface RowInput
  extends Pick<
    Input,
    | 'columns'
    | 'delimiter'
    | 'format'
    | 'hasMark'
    | 'isOneColumn'
    | 'note'
    | 'noteAtEnd'
    | 'rawHeaders'
    | 'warnings'
  > {
  readonly what: string;
  readonly head: readonly InputRow[];
  readonly source: RowSource;
  /** The text to send for a row; empty if there is none. */
  readonly toText: ToRowText;
  /** Columns that a contact lookup does not use, if its text has no company or website. */
  unused(record: JsonText): readonly string[];
  /** The names in --template that no row so far had. */
  unfound(): readonly string[];
}

const maxLooked = 100;
const asLines = 'To send it too: --input-format text.';

/** Pure: the CSV style of the input, so that the output opens in the same programs. */
export function csvLike({ delimiter, format, hasMark }: Pick<RowInput, 'delimiter' | 'format' | 'hasMark'>) {
  return { delimiter: delimiter === ';' ? delimiter : undefined, mark: hasMark && format === 'csv' };
}

type InputOptions = RowsOptions & Pick<RecordOptions, 'columns' | 'csvRaw'> & { readonly input: string };

/** Opens the rows of a list. Throws UsageError if no row has a text to send. */
export async function openRowsInput(
  context: Context,
  options: InputOptions,
  list: ListOf,
): Promise<RowInput> {
  const template = options.template === undefined ? undefined : toTemplate(options.template, '--template');
  const textIn = (record: JsonText): string => {
    if (template !== undefined) return template.fill(record);
    const text = textAt(new JsonView(record), list.field);
    return text === '' ? (list.toText?.(record) ?? '') : text;
  };
  const wanted = template?.paths ?? [list.field];
  const opened = await openHead(context, options, list, wanted, ({ record }, columns) => {
    const text = record === undefined ? '' : textIn(record);
    return columns !== undefined || (template === undefined ? text !== '' : template.unfound().length === 0);
  });
  // Only CSV has apostrophes as guards before formulas.
  const guards = options.csvRaw === true ? opened.delimiter : undefined;
  const toText: ToRowText = (record) => textIn(guards === undefined ? record : withoutGuards(record, guards));
  if (template !== undefined) checkTemplate(opened, list, template);
  else checkUsable(opened, list, toText);
  return {
    ...opened,
    toText,
    unused(record) {
      const isOfUser = template === undefined && textAt(new JsonView(record), list.field) !== '';
      return list.kind !== 'contact' || isOfUser ? [] : unusedIn(record, toText(record));
    },
    unfound: () => (opened.head.length === 0 ? [] : (template?.unfound() ?? [])),
  };
}

type OpenedRows = Omit<RowInput, 'toText' | 'unused' | 'unfound'>;

/** Opens an input, and reads its first rows; from a pipe, only up to a row that `isEnough`. Throws UsageError. */
async function openHead(
  context: Context,
  {
    input: name,
    inputFormat: format,
    sheet,
    table,
    headerRow,
    csvRaw,
    columns = [],
    ...options
  }: InputOptions,
  { field, fields = [], into }: ListOf,
  sent: readonly string[],
  isEnough: (row: InputRow, columns: Input['columns']) => boolean,
): Promise<OpenedRows> {
  const isInput = name === '-';
  // These names help to find the header row.
  const filled = options.onlyMissing ? [into, ...fields] : [];
  const chosen = columns.length === 0 ? [] : toNames(columns).map((one) => toChosen(one).name);
  const wanted = [...sent, ...chosen, options.into ?? [], filled].flat();
  const what = isInput ? 'standard input' : name;
  const open = (): Promise<Input> => {
    const bytes = isInput ? takeInput(context, '--input') : bytesOf(name, '--input');
    const reading = { field, wanted, isColumnName, what, sheet, table, headerRow, isRaw: csvRaw };
    return openInput(bytes, { name, format, ...reading });
  };
  const opened = await open();
  const { look, take } = replaying(opened.rows[Symbol.asyncIterator]());
  // A pipe can be read only once.
  const isRepeatable = !isInput && (await isRegularFile(name));
  const head: InputRow[] = [];
  for await (const row of look()) {
    head.push(row);
    if (head.length === maxLooked || (!isRepeatable && isEnough(row, opened.columns))) break;
  }
  const lookAgain = async function* (): AsyncGenerator<InputRow> {
    yield* (await open()).rows;
  };
  const source = { isRepeatable, look: isRepeatable ? lookAgain : look, take };
  const { rows: _, ...found } = opened;
  const ofColumn = `The first line of ${what} is its header, and is not sent. ${asLines}`;
  const isExplicit = nameIn(sent, opened.columns?.[0] ?? '') !== undefined;
  return { ...found, note: opened.isOneColumn && !isExplicit ? ofColumn : opened.note, what, head, source };
}

/** Rows that can be looked at before they are consumed. Rows that were looked at stay in memory. */
function replaying(rows: AsyncIterator<InputRow>): Pick<RowSource, 'look' | 'take'> {
  let held: InputRow[] = [];
  let isOver = false;
  return {
    async *look() {
      for (let at = 0; ; at++) {
        if (at === held.length) {
          const next = isOver ? undefined : await rows.next();
          isOver ||= next?.done === true;
          if (next === undefined || next.done) return;
          held.push(next.value);
        }
        yield held[at] as InputRow;
      }
    },
    async *take() {
      const first = held;
      held = [];
      yield* behind(first, rows);
    },
  };
}

const maxUnused = 8;

/** Pure: the unused columns of a row, after these words; empty if there are none. */
export function toUnused({ unused }: RowInput, row: InputRow | undefined, words: string): string {
  const names = unused(row?.record ?? '{}');
  const named = names.slice(0, maxUnused).map((name) => name.slice(0, 40));
  const more = names.length > maxUnused ? ` and ${names.length - maxUnused} more` : '';
  return names.length === 0 ? '' : `${words}${named.join(', ')}${more}`;
}

/** Pure: all names in the first rows. */
export function namesIn({ columns, head }: Pick<RowInput, 'columns' | 'head'>): string[] {
  if (columns !== undefined) return [...columns];
  return [...new Set(head.flatMap(({ record }) => [...objectMembers(record ?? '{}').keys()]))];
}

/** Pure: the names for a template; for a column of objects or lists, the paths into the first one. */
function pathsOf(input: Pick<RowInput, 'columns' | 'head'>): string[] {
  const views = input.head.flatMap(({ record }) => (record === undefined ? [] : [new JsonView(record)]));
  return namesIn(input).flatMap((name) => {
    const filled = views.find((view) => textAt(view, name) !== '');
    return filled === undefined ? [name] : pathsIn(filled, name);
  });
}

/** Throws UsageError, before anything is sent, if no row has a text to send. */
function checkUsable(input: OpenedRows, list: Example, toText: ToRowText): void {
  const { field, toExample } = list;
  const { columns, format, head, isOneColumn, what } = input;
  // A usable column may be empty in the first rows.
  const filled = objectOf((columns ?? []).map((name) => [name, '"x"']));
  const records = head.flatMap(({ record }) => record ?? []);
  if ([filled, ...records].some((record) => toText(record) !== '')) return;
  if (records.length === 0 && (columns === undefined || head.length === 0)) return;
  const own = namesIn(input);
  const [unit, units] = format === 'csv' ? ['column', 'columns'] : ['field', 'fields'];
  const about = toIdentityTemplate(own);
  const example = about === undefined ? undefined : toExample?.(about);
  const lines = isOneColumn ? `\nThe first line is its header, and is not sent. ${asLines}` : '';
  const others = toExample === undefined ? `, and no ${unit} that says what a row is about` : '';
  throw new UsageError(
    `${what} has no ${unit} "${field}"${others}: leadpipe does not know what to send for a row`,
    example === undefined
      ? `Name the ${units} to send with --template, in braces. ${toFirstRows(input, list)}${lines}`
      : `Make a question of each row, for example: --template ${shellWord(example)}${lines}`,
  );
}

/** Maximum number of names in an example template. */
const maxNames = 5;

type Example = Pick<ListOf, 'field' | 'toExample'>;

/** Pure: for a table, its first three rows, with a template if the first is the header and one if it is data; for JSON, the fields. */
function toFirstRows(input: OpenedRows, list: Example): string {
  const { columns, head, isOneColumn, rawHeaders } = input;
  const names = namesIn(input);
  if (columns === undefined || rawHeaders === undefined) {
    return `${toListed(input)} For example: ${toTemplateOption(pathsOf(input), list)}`;
  }
  const cells = head.map(({ record }) => names.map((name) => textAt(new JsonView(record ?? '{}'), name)));
  // With --header-row 0, there is no header row.
  const isNamed = rawHeaders.some((name) => name !== '');
  const rows = [...(isNamed ? [rawHeaders] : []), ...cells].slice(0, 3);
  const advice = isNamed ? `If the first row is the header: ` : 'For example: ';
  // Numbers don't say what a row is about.
  const isText = names.map((_, at) => cells.some((row) => !/^[\d\s.,%+-]*$/.test(row[at] ?? '')));
  const isUsed = (_: string, at: number): boolean => isText[at] === true || !isText.includes(true);
  return [
    'Its first rows are:',
    ...rows.map((row) => `  ${row.join(', ').replace(/\s+/g, ' ').slice(0, 200)}`),
    `${advice}${toTemplateOption(names.filter(isUsed), list)}`,
    ...(isNamed && !isOneColumn ? [`If there is no header: ${toNoHeader(names, list, isUsed)}`] : []),
  ].join('\n');
}

function toListed(input: OpenedRows): string {
  return `The ${input.format === 'csv' ? 'columns' : 'fields'} are ${listed(pathsOf(input))}.`;
}

function toNoHeader(
  names: readonly string[],
  list: Example,
  isUsed: (name: string, at: number) => boolean = () => true,
): string {
  const numbered = names.map((_, at) => `column ${at + 1}`).filter(isUsed);
  return `--header-row 0 ${toTemplateOption(numbered, list)}`;
}

/** A target is one column; a name with a brace can't be used in a template. */
function toTemplateOption(names: readonly string[], { field, toExample }: Example): string {
  const possible = names.filter((name) => !/[{}]/.test(name)).slice(0, field === 'target' ? 1 : maxNames);
  const about = possible.map((name) => `{${name}}`).join(', ');
  return `--template ${shellWord(toExample?.(about) ?? about)}`;
}

/** Throws UsageError for a template with a name that no row has: everything would be sent without it. */
function checkTemplate(input: OpenedRows, list: Example, { paths }: Template): void {
  const { columns, format, head, rawHeaders } = input;
  const records = head.flatMap(({ record }) => record ?? []);
  if (columns === undefined && records.length === 0) return;
  const names = namesIn(input);
  const view = new JsonView(records[0] ?? '{}');
  const isThere = (path: string): boolean => {
    if (nameIn(names, path) !== undefined) return true;
    if (format === 'jsonl') return records.some((record) => hasPath(new JsonView(record), path));
    // A path into the JSON of a cell. If it is empty in the first rows, a later row may have it.
    return headsOf(path)
      .filter((one) => nameIn(names, one) !== undefined)
      .some((one) => textAt(view, one) === '' || containerAt(view, one) !== undefined);
  };
  const unknown = paths.find((path) => !isThere(path));
  if (unknown === undefined) return;
  const mayBeData = rawHeaders?.some((name) => name !== '') && !rawHeaders.some(isKnownColumn);
  throw new UsageError(
    `--template: there is no ${format === 'csv' ? 'column' : 'field'} "${unknown}"`,
    format === 'text'
      ? `The input has plain lines: {${names[0]}} is the line.`
      : `${toListed(input)}${mayBeData ? `\nIf there is no header: ${toNoHeader(names, list)}` : ''}`,
  );
}
