import { strToU8, zipSync } from 'fflate';

/** A cell as it is in the XML of a sheet: `<c …>` without its name, or a text. */
export type MadeCell = string | { readonly xml: string; readonly attributes?: string } | null;

export interface MadeSheet {
  readonly name: string;
  readonly state?: 'hidden' | 'veryHidden';
  /** By the row's number, from 1; an array has its cells from column A on. */
  readonly rows: readonly (readonly MadeCell[])[];
  readonly firstRow?: number;
  readonly firstColumn?: string;
  /** The numbers of rows that a filter hides. */
  readonly hiddenRows?: readonly number[];
  /** Attributes of a hidden row. */
  readonly hides?: string;
  /** What follows the rows, such as mergeCells; and what comes before them. */
  readonly after?: string;
  readonly before?: string;
}

export interface MadeWorkbook {
  readonly sheets: readonly MadeSheet[];
  /** Number formats: a cell's `s` is its place here, from 1. */
  readonly formats?: readonly (string | number)[];
  readonly strings?: readonly string[];
  readonly is1904?: boolean;
  readonly isStrict?: boolean;
  /** The prefix of all names. */
  readonly prefix?: string;
}

const transitional = {
  main: 'http://schemas.openxmlformats.org/spreadsheetml/2006/main',
  related: 'http://schemas.openxmlformats.org/officeDocument/2006/relationships',
};
const strict = {
  main: 'http://purl.oclc.org/ooxml/spreadsheetml/main',
  related: 'http://purl.oclc.org/ooxml/officeDocument/relationships',
};

const escaped = (text: string): string => text.replace(/[&<>"]/g, (sign) => `&#${sign.charCodeAt(0)};`);

/** A workbook as other programs write them. */
export function makeWorkbook(made: MadeWorkbook): Buffer {
  const { sheets, formats = [], strings = [], is1904 = false, isStrict = false, prefix = '' } = made;
  const { main, related } = isStrict ? strict : transitional;
  const relation = (id: string, type: string, target: string): string =>
    `<Relationship Id="${id}" Type="${related}/${type}" Target="${target}"/>`;
  const relations = (...all: readonly string[]): string =>
    `<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">${all.join('')}</Relationships>`;
  const root = (name: string, content: string): string => {
    const named = prefix === '' ? content : content.replace(/<(\/?)(?=[a-zA-Z])/g, `<$1${prefix}:`);
    const own = prefix === '' ? name : `${prefix}:${name}`;
    const xmlns = prefix === '' ? 'xmlns' : `xmlns:${prefix}`;
    return `<?xml version="1.0" encoding="UTF-8"?>\n<${own} ${xmlns}="${main}" xmlns:r="${related}">${named}</${own}>`;
  };
  const custom = formats.flatMap((code, at) =>
    typeof code === 'string' ? [`<numFmt numFmtId="${164 + at}" formatCode="${escaped(code)}"/>`] : [],
  );
  const styles = formats.map((code, at) => `<xf numFmtId="${typeof code === 'string' ? 164 + at : code}"/>`);
  const tabs = sheets.map(
    ({ name, state }, at) =>
      `<sheet name="${escaped(name)}" sheetId="${at + 1}"${state === undefined ? '' : ` state="${state}"`} r:id="rId${at + 1}"/>`,
  );
  const parts: Record<string, string> = {
    '_rels/.rels': relations(relation('rId1', 'officeDocument', 'xl/workbook.xml')),
    'xl/workbook.xml': root(
      'workbook',
      `<workbookPr${is1904 ? ' date1904="1"' : ''}/><sheets>${tabs.join('')}</sheets>`,
    ),
    'xl/_rels/workbook.xml.rels': relations(
      ...sheets.map((_, at) => relation(`rId${at + 1}`, 'worksheet', `/xl/worksheets/sheet${at + 1}.xml`)),
      relation('styles', 'styles', 'styles.xml'),
      relation('strings', 'sharedStrings', 'sharedStrings.xml'),
    ),
    'xl/styles.xml': root(
      'styleSheet',
      `<numFmts>${custom.join('')}</numFmts><cellStyleXfs><xf numFmtId="14"/></cellStyleXfs><cellXfs><xf numFmtId="0"/>${styles.join('')}</cellXfs><dxfs><dxf><numFmt numFmtId="164" formatCode="0%"/></dxf></dxfs>`,
    ),
    'xl/sharedStrings.xml': root('sst', strings.map((text) => `<si>${text}</si>`).join('')),
    ...Object.fromEntries(
      sheets.map((sheet, at) => [`xl/worksheets/sheet${at + 1}.xml`, root('worksheet', sheetXml(sheet))]),
    ),
  };
  return Buffer.from(
    zipSync(Object.fromEntries(Object.entries(parts).map(([name, text]) => [name, strToU8(text)]))),
  );
}

function sheetXml({
  rows,
  firstRow = 1,
  firstColumn = 'A',
  hiddenRows = [],
  hides = 'hidden="1"',
  before = '',
  after = '',
}: MadeSheet): string {
  const all = rows.map((cells, at) => {
    const line = firstRow + at;
    const made = cells.map((cell, column) => {
      const name = `${String.fromCharCode(firstColumn.charCodeAt(0) + column)}${line}`;
      if (cell === null) return '';
      if (typeof cell === 'string')
        return `<c r="${name}" t="inlineStr"><is><t>${escaped(cell)}</t></is></c>`;
      return `<c r="${name}"${cell.attributes === undefined ? '' : ` ${cell.attributes}`}>${cell.xml}</c>`;
    });
    return cells.length === 0
      ? ''
      : `<row r="${line}"${hiddenRows.includes(line) ? ` ${hides}` : ''}>${made.join('')}</row>`;
  });
  return `${before}<sheetData>${all.join('')}</sheetData>${after}`;
}
