import { expect, it } from 'vitest';
import type { RecordFormat } from '../../src/files/reading.ts';
import { type InputRow, openInput } from '../../src/requests/rows.ts';

const piece = 'x'.repeat(1 << 16);

/** A row, one that is far too long, and a last one. */
async function* withLongLine(first: string, open: string, close: string, last: string, pieces: number) {
  yield `${first}\n${open}`;
  for (let count = 0; count < pieces; count++) yield piece;
  yield `${close}\n${last}\n`;
}

it.each<[RecordFormat, number, string, string, string, string]>([
  // 600 MB: V8 has no string that long.
  ['text', 9200, 'one', '', '', 'three'],
  // As many as are refused: the lines of both formats are read in the same way.
  ['jsonl', 70, '{"objective":"one"}', '{"objective":"', '"}', '{"objective":"three"}'],
])(
  'a line of %s that is too long, by %d pieces, fails, and the others are read',
  async (format, pieces, ...lines) => {
    const text = withLongLine(...lines, pieces);
    const { rows } = await openInput(text, {
      format,
      name: '',
      field: 'objective',
      wanted: [],
      what: 'the input',
    });
    const found: InputRow[] = [];
    for await (const row of rows) found.push(row);
    expect(found.map(({ number, line, flaw }) => [number, line, flaw?.replace(/\d{6,}/, 'so many')])).toEqual(
      [
        [1, 1, undefined],
        [2, 2, 'has so many characters: at most 4194304 are allowed'],
        [3, 3, undefined],
      ],
    );
  },
);
