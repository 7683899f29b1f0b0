import type { Cell } from './workbook-columns.ts';

/* The parts of a workbook, as few as all readers accept (ECMA-376, the transitional form). */

const head = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n';
const main = 'http://schemas.openxmlformats.org/spreadsheetml/2006/main';
const packaged = 'http://schemas.openxmlformats.org/package/2006';
const related = 'http://schemas.openxmlformats.org/officeDocument/2006/relationships';
const type = 'application/vnd.openxmlformats-officedocument.spreadsheetml';

/** Written before the number of sheets is known: every part is a sheet, except these. */
export const contentTypes =
  `${head}<Types xmlns="${packaged}/content-types">` +
  '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>' +
  `<Default Extension="xml" ContentType="${type}.worksheet+xml"/>` +
  `<Override PartName="/xl/workbook.xml" ContentType="${type}.sheet.main+xml"/>` +
  `<Override PartName="/xl/styles.xml" ContentType="${type}.styles+xml"/></Types>`;

export const rootRelations = `${head}<Relationships xmlns="${packaged}/relationships"><Relationship Id="rId1" Type="${related}/officeDocument" Target="xl/workbook.xml"/></Relationships>`;

const font = (before: string, after = '') =>
  `<font>${before}<sz val="11"/>${after}<name val="Calibri"/></font>`;
const format = (number: number, fontId = 0) =>
  `<xf numFmtId="${number}" fontId="${fontId}" fillId="0" borderId="0" xfId="0" applyNumberFormat="1" applyFont="1" applyAlignment="1"><alignment vertical="top"/></xf>`;

/** Cell formats: general; text (49: it stays text when it is edited); a whole number (1: without an exponent); the header; a link. */
export const styles =
  `${head}<styleSheet xmlns="${main}">` +
  `<fonts count="3">${font('')}${font('<b/>')}${font('<u/>', '<color rgb="FF0563C1"/>')}</fonts>` +
  '<fills count="2"><fill><patternFill patternType="none"/></fill><fill><patternFill patternType="gray125"/></fill></fills>' +
  '<borders count="1"><border><left/><right/><top/><bottom/><diagonal/></border></borders>' +
  '<cellStyleXfs count="1"><xf numFmtId="0" fontId="0" fillId="0" borderId="0"/></cellStyleXfs>' +
  `<cellXfs count="5">${format(0)}${format(49)}${format(1)}${format(49, 1)}${format(49, 2)}</cellXfs>` +
  // Without it, pandas warns.
  '<cellStyles count="1"><cellStyle name="Normal" xfId="0" builtinId="0"/></cellStyles></styleSheet>';

export function workbookXml(sheets: readonly number[]): string {
  const rows = sheets.map(
    (number) =>
      `<sheet name="leadpipe${number === 1 ? '' : ` ${number}`}" sheetId="${number}" r:id="sheet${number}"/>`,
  );
  return `${head}<workbook xmlns="${main}" xmlns:r="${related}"><sheets>${rows.join('')}</sheets></workbook>`;
}

/** The relations of a workbook to its sheets and styles, or of a sheet to its links. */
export function relations(
  links: readonly (readonly [at: string, address: string])[],
  sheets: readonly number[] = [],
): string {
  const relation = (id: string, kind: string, target: string, more = ''): string =>
    `<Relationship Id="${id}" Type="${related}/${kind}" Target="${target}"${more}/>`;
  const rows = [
    ...links.map(([at, address]) => relation(at, 'hyperlink', escapeXml(address), ' TargetMode="External"')),
    ...sheets.map((number) => relation(`sheet${number}`, 'worksheet', `worksheets/sheet${number}.xml`)),
    sheets.length === 0 ? '' : relation('styles', 'styles', 'styles.xml'),
  ];
  return `${head}<Relationships xmlns="${packaged}/relationships">${rows.join('')}</Relationships>`;
}

/** The beginning of a sheet. The header stays visible when the rows are scrolled. */
export function sheetHead(widths: readonly number[]): string {
  const columns = widths.map(
    (width, index) => `<col min="${index + 1}" max="${index + 1}" width="${width}" customWidth="1"/>`,
  );
  return (
    `${head}<worksheet xmlns="${main}" xmlns:r="${related}"><sheetViews><sheetView workbookViewId="0">` +
    '<pane ySplit="1" topLeftCell="A2" activePane="bottomLeft" state="frozen"/></sheetView></sheetViews>' +
    `${columns.length === 0 ? '' : `<cols>${columns.join('')}</cols>`}<sheetData>`
  );
}

/** The end of a sheet, with a filter over all of its rows. */
export function sheetEnd(
  range: string | undefined,
  links: readonly (readonly [at: string, address: string])[],
): string {
  const filter = range === undefined ? '' : `<autoFilter ref="${range}"/>`;
  const rows = links.map(([at]) => `<hyperlink ref="${at}" r:id="${at}"/>`).join('');
  return `</sheetData>${filter}${rows && `<hyperlinks>${rows}</hyperlinks>`}</worksheet>`;
}

/** The numbers of the formats in `styles`. */
const styleOf = { text: 1, integer: 2, header: 3, link: 4 } as const;

/** A cell at a place such as A1. */
export function cellXml(at: string, { kind, text }: Cell, isLink: boolean): string {
  if (text === '') return '';
  switch (kind) {
    case 'truth':
      return `<c r="${at}" t="b"><v>${text === 'true' ? 1 : 0}</v></c>`;
    case 'number':
      return `<c r="${at}"${/^-?\d+$/.test(text) ? ` s="${styleOf.integer}"` : ''}><v>${text}</v></c>`;
    default: {
      const style = styleOf[isLink ? 'link' : kind];
      return `<c r="${at}" s="${style}" t="inlineStr"><is><t xml:space="preserve">${escapeXml(text)}</t></is></c>`;
    }
  }
}

/** A, B, … Z, AA, … */
export function columnName(index: number): string {
  const letter = String.fromCharCode(65 + (index % 26));
  return index < 26 ? letter : columnName(Math.floor(index / 26) - 1) + letter;
}

/** Also escapes `_x0041_`, which Excel would read as an A. */
function escapeXml(text: string): string {
  return text
    .replace(/_(?=x[\da-f]{4}_)/gi, '_x005F_')
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;');
}
