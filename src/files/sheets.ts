import { posix } from 'node:path';
import { unzipSync } from 'fflate';
import { UsageError } from '../errors.ts';
import { type CellFormatter, toCellFormatter } from './cell-formats.ts';
import { maxRowLength } from './csv.ts';
import { saveAs } from './reading.ts';
import { readXml, TooMuchError, xmlPieces } from './xml.ts';

/** A sheet of a workbook, as a person sees its tab. */
export interface Sheet {
  readonly name: string;
  readonly isHidden: boolean;
  /** The rows with a cell. Each call begins at the first one. Throws UsageError. */
  rows(): Generator<SheetRow, void>;
}

export interface SheetRow {
  /** From 1. */
  readonly line: number;
  /** The texts that the cells show, from column A to the last filled one. */
  readonly cells: readonly string[];
  /** Whether Excel does not show it. */
  readonly isHidden: boolean;
  /** Problems that the texts of the cells do not show. */
  readonly oddities: readonly Oddity[];
}

export interface Oddity {
  /** An integer that Excel has rounded; a formula without a stored result; an error value. */
  readonly is: 'rounded' | 'unstored' | 'error';
  /** Such as C5. */
  readonly cell: string;
  readonly text: string;
}

/** Maximum unpacked bytes of a part, and of all that are read. A sheet of a million rows has about half of the first. */
const maxUnpacked = 1024 * 1024 * 1024;
const maxUnpackedInAll = 2 * maxUnpacked;
/** Excel's own limits. */
const [maxRows, maxColumns] = [1_048_576, 16_384];
/** Maximum cells of a sheet, empty ones included: more would take minutes, and even a small file can have more. */
export const maxCells = 20_000_000;
const maxCharacters = 1024 * 1024 * 1024;
/** Maximum number of different texts in a workbook. */
const maxStrings = 10_000_000;

/**
 * The sheets of a workbook in the order of their tabs. A sheet is unpacked whole, and its rows are read one by one. `what` is its name in
 * messages. Throws UsageError.
 */
export function openWorkbook(bytes: Uint8Array, what: string): readonly Sheet[] {
  const reading = <T>(work: () => T): T => {
    try {
      return work();
    } catch (error) {
      if (error instanceof TooMuchError) throw new UsageError(`${what} has ${error.message}`, asCsv);
      throw error instanceof UsageError ? error : unreadable(what);
    }
  };
  return reading(() => {
    const archive = openArchive(bytes);
    const root = relationsOf(archive, '').find(({ type }) => type === 'officeDocument');
    const main = root?.target ?? 'xl/workbook.xml';
    if (!archive.has(main)) throw notWorkbook(what, archive.names());
    const relations = relationsOf(archive, main);
    const partOf = (type: string): Uint8Array | undefined => {
      const found = relations.find((one) => one.type === type);
      return found && archive.part(found.target);
    };
    const { tabs, is1904 } = readTabs(archive.part(main));
    let strings: string[] | undefined;
    let shows: CellFormatter[] | undefined;
    // Keep the last sheet unpacked: it is usually the next one to be read again.
    let unpacked: { readonly target: string; readonly xml: Uint8Array | undefined } | undefined;
    const spent = { elements: 0 };
    let before = 0;
    return tabs.map(({ name, isHidden, id }) => {
      const target = relations.find((one) => one.id === id && one.type === 'worksheet')?.target;
      return {
        name,
        isHidden,
        *rows() {
          // A sheet with nothing but a chart has no cells.
          if (target === undefined) return;
          if (unpacked?.target !== target) {
            unpacked = { target, xml: reading(() => archive.part(target)) };
            before = spent.elements;
          }
          spent.elements = before;
          const { xml } = unpacked;
          if (xml === undefined) return;
          strings ??= reading(() => readStrings(partOf('sharedStrings')));
          shows ??= reading(() => readFormats(partOf('styles'), is1904));
          const rows = readRows(xml, strings, shows, spent);
          for (let next = reading(() => rows.next()); !next.done; next = reading(() => rows.next())) {
            yield next.value;
          }
        },
      };
    });
  });
}

const asCsv = 'Save it as CSV (in Excel: "CSV UTF-8").';

function unreadable(what: string): UsageError {
  return new UsageError(`${what} can't be read as an Excel workbook (.xlsx)`, asCsv);
}

type Archive = ReturnType<typeof openArchive>;

function openArchive(bytes: Uint8Array) {
  /** The names as written, by normalised path: some programs write backslashes. */
  const names = new Map<string, string>();
  unzipSync(bytes, { filter: ({ name }) => void names.set(pathOf(name), name) as never });
  let sum = 0;
  return {
    has: (path: string): boolean => names.has(path),
    names: (): readonly string[] => [...names.keys()],
    part(path: string): Uint8Array | undefined {
      const name = names.get(path);
      if (name === undefined) return undefined;
      const filter = (file: { name: string; originalSize: number }): boolean => {
        if (file.name !== name) return false;
        sum += file.originalSize;
        const max = file.originalSize > maxUnpacked ? maxUnpacked : maxUnpackedInAll;
        if (file.originalSize <= max && sum <= maxUnpackedInAll) return true;
        throw new TooMuchError(`more than ${max} bytes when it is unpacked`);
      };
      return unzipSync(bytes, { filter })[name];
    },
  };
}

/** Other kinds of zip files, recognised by one of their parts. */
const others: readonly (readonly [part: string, words: string])[] = [
  ['xl/workbook.bin', 'a binary workbook (.xlsb)'],
  ['content.xml', 'an OpenDocument file (.ods)'],
  ['index/document.iwa', 'a Numbers or Pages file'],
  ['word/document.xml', 'a Word document (.docx)'],
];

function notWorkbook(what: string, names: readonly string[]): UsageError {
  const words = others.find(([part]) => names.includes(part))?.[1];
  if (words !== undefined) return new UsageError(`${what} is ${words}`, saveAs);
  const [first] = names;
  if (first === undefined || first === '[content_types].xml') return unreadable(what);
  return new UsageError(`${what} is a zip file with ${first}`, 'Unpack it, and use the list inside.');
}

/** Pure: a name in a zip file, normalised: slashes, none in front, small letters. */
function pathOf(name: string): string {
  return name.replaceAll('\\', '/').replace(/^\/+/, '').toLowerCase();
}

interface Relation {
  readonly id: string;
  /** The last word of its type: the rest differs between the transitional and the strict form. */
  readonly type: string;
  readonly target: string;
}

/** The parts that a part refers to. An empty path means the workbook as a whole. */
function relationsOf(archive: Archive, path: string): Relation[] {
  const [, folder = '', file = ''] = /^(.*\/)?([^/]*)$/.exec(path) ?? [];
  const found: Relation[] = [];
  readXml(archive.part(pathOf(`${folder}_rels/${file}.rels`)), {
    open(name, attribute) {
      if (name !== 'Relationship') return;
      const target = attribute('Target') ?? '';
      const [id = '', type = ''] = [attribute('Id'), attribute('Type')?.split('/').at(-1)];
      found.push({ id, type, target: pathOf(posix.resolve(`/${folder}`, target)) });
    },
  });
  return found;
}

function readTabs(xml: Uint8Array | undefined) {
  if (xml === undefined) throw new TypeError('no workbook');
  const tabs: { readonly name: string; readonly isHidden: boolean; readonly id: string }[] = [];
  let is1904 = false;
  readXml(xml, {
    open(name, attribute) {
      if (name === 'workbookPr') is1904 = isTrue(attribute('date1904'));
      if (name !== 'sheet') return;
      const isHidden = (attribute('state') ?? 'visible') !== 'visible';
      tabs.push({ name: attribute('name') ?? '', isHidden, id: attribute('id') ?? '' });
    },
  });
  return { tabs, is1904 };
}

function isTrue(text: string | undefined): boolean {
  return text === '1' || text === 'true' || text === 'on';
}

/** The texts that cells refer to by number. */
function readStrings(xml: Uint8Array | undefined): string[] {
  const strings: string[] = [];
  let text = '';
  let isText = false;
  let isReading = false;
  readXml(xml, {
    open(name) {
      if (name === 'si') text = '';
      else if (name === 'rPh') isReading = true;
      isText = name === 't' && !isReading;
    },
    text(piece) {
      if (isText) text = joined(text, piece);
    },
    close(name) {
      if (name === 'si' && strings.push(unescaped(text)) > maxStrings)
        throw new TooMuchError(`more than ${maxStrings} texts`);
      else if (name === 'rPh') isReading = false;
      isText = false;
    },
  });
  return strings;
}

/** Appends a piece to the text of a cell. Throws TooMuchError. */
function joined(text: string, part: string): string {
  if (text.length + part.length > maxRowLength)
    throw new TooMuchError(`a text of over ${maxRowLength} characters`);
  return text + part;
}

/** Reads the number format of each cell style. */
function readFormats(xml: Uint8Array | undefined, is1904: boolean): CellFormatter[] {
  const codes = new Map<number, string>();
  const shows = new Map<number, CellFormatter>();
  const styles: CellFormatter[] = [];
  let list = '';
  readXml(xml, {
    open(name, attribute) {
      if (name === 'numFmts' || name === 'cellXfs') list = name;
      const id = Number(attribute('numFmtId') ?? 0);
      if (list === 'numFmts' && name === 'numFmt') codes.set(id, toCode(attribute('formatCode')));
      if (list !== 'cellXfs' || name !== 'xf') return;
      const known = shows.get(id) ?? toCellFormatter(id, codes.get(id), is1904);
      shows.set(id, known);
      styles.push(known);
    },
    close(name) {
      if (name === list) list = '';
    },
  });
  return styles;
}

/** Excel allows no longer format, and a long one would be parsed for each cell. */
function toCode(code = ''): string {
  return code.length > 255 ? 'General' : code;
}

function* readRows(
  xml: Uint8Array,
  strings: readonly string[],
  shows: readonly CellFormatter[],
  spent: { elements: number },
): Generator<SheetRow, void> {
  const general = toCellFormatter(0, undefined, false);
  const merged = createMerged(xml);
  const found = { cells: 0, characters: 0 };
  let rows: SheetRow[] = [];
  let line = 0;
  let cells: string[] = [];
  let oddities: Oddity[] = [];
  let isHidden = false;
  let column = -1;
  let type = 'n';
  let style = 0;
  let value: string | undefined;
  let hasFormula = false;
  let isReading = false;
  let isValue = false;

  const textOf = (): string => {
    if (value === undefined || (value === '' && hasFormula && type !== 'str')) {
      if (hasFormula) oddities.push({ is: 'unstored', cell: nameOf(column, line), text: '' });
      return '';
    }
    switch (type) {
      case 's':
        return strings[Number(value)] ?? '';
      case 'inlineStr':
      case 'str':
        return unescaped(value);
      case 'b':
        return isTrue(value) ? 'true' : 'false';
      case 'e':
        oddities.push({ is: 'error', cell: nameOf(column, line), text: value });
        return value;
      case 'd':
        return value.replace(/T00:00:00(?:\.0+)?Z?$/, '').replace(/Z$/, '');
      default: {
        const number = Number(value);
        const text = (shows[style] ?? general)(number, value);
        if (isRounded(number)) oddities.push({ is: 'rounded', cell: nameOf(column, line), text });
        return text;
      }
    }
  };
  const source = {
    open(name: string, attribute: (name: string) => string | undefined) {
      if (name === 'row') {
        line = rowOf(attribute('r')) ?? line + 1;
        column = -1;
        cells = [];
        oddities = [];
        isHidden = isTrue(attribute('hidden')) || /^0+(?:\.0+)?$/.test(attribute('ht') ?? '');
      } else if (name === 'c') {
        column = columnOf(attribute('r')) ?? column + 1;
        if (column >= maxColumns)
          throw new TooMuchError(`a column ${column + 1}`, `and the last one of a sheet is ${maxColumns}`);
        type = attribute('t') ?? 'n';
        style = Number(attribute('s') ?? 0);
        value = undefined;
        hasFormula = false;
      } else if (name === 'v' || (name === 't' && !isReading)) {
        value ??= '';
        isValue = true;
      } else if (name === 'rPh') isReading = true;
      else if (name === 'f') hasFormula = true;
    },
    text(piece: string) {
      if (isValue) value = joined(value ?? '', piece);
    },
    close(name: string) {
      if (name === 'v' || name === 't') isValue = false;
      else if (name === 'rPh') isReading = false;
      else if (name === 'c') {
        const text = textOf();
        if (text === '') return;
        while (cells.length < column) cells.push('');
        cells[column] = text;
      } else if (name === 'row') {
        merged.fill(line, cells);
        found.cells += cells.length;
        for (const cell of cells) found.characters += cell.length;
        if (found.cells > maxCells)
          throw new TooMuchError(`more than ${maxCells} cells, with the empty ones`);
        if (found.characters > maxCharacters)
          throw new TooMuchError(`more than ${maxCharacters} characters in its cells`);
        if (cells.length > 0 || oddities.length > 0) rows.push({ line, cells, isHidden, oddities });
      }
    },
  };
  for (const _ of xmlPieces(xml, source, spent)) {
    yield* rows;
    rows = [];
  }
  yield* rows;
}

/** Whether it is a whole number of more digits than Excel keeps. */
function isRounded(value: number): boolean {
  return Math.abs(value) >= 1e15 && Number.isInteger(value);
}

/** Merged cells show the text of the first one, so each of their rows gets it. */
function createMerged(xml: Uint8Array) {
  const bytes = Buffer.from(xml.buffer, xml.byteOffset, xml.byteLength);
  // Merged areas are listed after the rows.
  const tail = bytes.toString('latin1', Math.max(0, bytes.lastIndexOf('sheetData>')));
  const areas = [...tail.matchAll(/mergeCell\s[^>]{0,200}?\bref="([A-Z]+)(\d+):[A-Z]+(\d+)"/g)]
    .map(([, column, first, last]) => ({
      column: columnOf(column) ?? maxColumns,
      first: Number(first),
      last: Number(last),
      text: '',
    }))
    .filter(({ column, first, last }) => last > first && column < maxColumns)
    .sort((a, b) => a.first - b.first);
  let next = 0;
  /** By column: areas do not overlap. */
  const open = new Map<number, (typeof areas)[number]>();
  return {
    fill(line: number, cells: string[]): void {
      for (let area = areas[next]; area !== undefined && area.first <= line; area = areas[++next]) {
        // One that begins in a row without cells has no text.
        area.text = area.first === line ? (cells[area.column] ?? '') : '';
        if (area.text !== '') open.set(area.column, area);
      }
      for (const [column, { first, last, text }] of open) {
        if (last < line) open.delete(column);
        else if (first < line && (cells[column] ?? '') === '') {
          while (cells.length < column) cells.push('');
          cells[column] = text;
        }
      }
    },
  };
}

/** The number of a row. Throws TooMuchError for one that no sheet has. */
function rowOf(name: string | undefined): number | undefined {
  if (name === undefined) return undefined;
  const number = Number(name);
  if (Number.isInteger(number) && number > 0 && number <= maxRows) return number;
  throw new TooMuchError(`a row ${name.slice(0, 30)}`, `and the last one of a sheet is ${maxRows}`);
}

/** The number of the column of a cell such as C5, from 0. */
function columnOf(name: string | undefined): number | undefined {
  const [letters = ''] = /^[A-Z]+/i.exec(name ?? '') ?? [];
  if (letters === '') return undefined;
  let number = 0;
  for (const letter of letters.slice(0, 4).toUpperCase()) number = number * 26 + letter.charCodeAt(0) - 64;
  return number - 1;
}

function nameOf(column: number, line: number): string {
  let letters = '';
  for (let rest = column + 1; rest > 0; rest = Math.floor((rest - 1) / 26)) {
    letters = String.fromCharCode(65 + ((rest - 1) % 26)) + letters;
  }
  return `${letters}${line}`;
}

/** Pure: decodes the escapes of characters that XML can't hold, such as _x000D_. */
function unescaped(text: string): string {
  if (!text.includes('_x')) return text.replace(/\r\n/g, '\n');
  return text
    .replace(/_x([0-9a-f]{4})_/gi, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)))
    .replace(/\r\n/g, '\n');
}
