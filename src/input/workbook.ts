import { UsageError } from '../errors.ts';

/** Bytes: a workbook is read as a whole, and what it holds is ten times as much. */
const most = 100 * 1024 * 1024;

const zipMark = [0x50, 0x4b, 0x03, 0x04];

/** Pure: whether bytes begin as a workbook does. */
export function isWorkbook(bytes: Uint8Array): boolean {
  return zipMark.every((byte, at) => bytes[at] === byte);
}

/**
 * The rows of the first sheet of a workbook, as texts, and of those behind it that go on with it, under the same header; its
 * header is the first row. Throws UsageError.
 */
export async function readWorkbook(bytes: AsyncIterable<Uint8Array>, what: string): Promise<string[][]> {
  const pieces: Uint8Array[] = [];
  let length = 0;
  for await (const piece of bytes) {
    pieces.push(piece);
    length += piece.length;
    if (length > most) {
      throw new UsageError(
        `${what} has more than ${most} bytes, which is too much for a workbook`,
        'Save it as CSV (in Excel: "CSV UTF-8").',
      );
    }
  }
  // Most inputs are no workbooks.
  const { default: read } = await import('read-excel-file/node');
  const sheets = await read(Buffer.concat(pieces)).catch(() => {
    throw new UsageError(
      `${what} can't be read as an Excel workbook (.xlsx)`,
      'Save it as CSV (in Excel: "CSV UTF-8").',
    );
  });
  const [first = [], ...others] = sheets.map(({ data }) => data.map((row) => row.map(toText)));
  const header = JSON.stringify(first[0]);
  return first.concat(
    ...others.filter(([head]) => JSON.stringify(head) === header).map((rows) => rows.slice(1)),
  );
}

function toText(cell: unknown): string {
  if (cell === null || cell === undefined) return '';
  if (!(cell instanceof Date)) return String(cell);
  return cell.toISOString().replace(/T00:00:00\.000Z$/, '');
}
