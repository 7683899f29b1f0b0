import { readFileSync } from 'node:fs';
import { parse } from 'csv-parse/sync';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { chosenLayout, memberLayout } from '../../src/columns/columns.ts';
import { entityLayout } from '../../src/columns/entity-layout.ts';
import { enrich } from '../../src/operations/kinds/enrich.ts';
import { extract } from '../../src/operations/kinds/extract.ts';
import { type Format, formats } from '../../src/output/writer.ts';
import { written } from './gathering-sink.ts';

const list = { layout: entityLayout(), shape: 'list' } as const;
/** The text that a list with these columns is, or with those of an entity, in one batch. */
const listed = async (format: Format, records: string[], layout = list.layout, more = {}): Promise<string> =>
  (await written(format, { layout, shape: 'list', ...more }, records)).text;

describe('JSONL', () => {
  it('is each record as it came, one write per batch', async () => {
    const batches = [['{"id": 12345678901234567890,\n "b":1.10}', '1'], [], ['"\u202e"']];
    const { writes } = await written('jsonl', list, ...batches);
    expect(writes).toEqual(['{"id": 12345678901234567890, "b":1.10}\n1\n', '"\\u202e"\n']);
  });

  it('with chosen columns is flat objects', async () => {
    const record = '{"links":{"id":12345678901234567890},"b":1.10}';
    expect(await listed('jsonl', [record], chosenLayout(['b', 'links.id', 'no']))).toBe(
      '{"b":1.10,"links.id":12345678901234567890,"no":null}\n',
    );
  });

  it('without records is empty', async () => expect((await written('jsonl', list)).writes).toEqual([]));
});

describe('JSON', () => {
  it('is an array that grows', async () => {
    const { writes } = await written('json', list, ['{"id":12345678901234567890}', '1.10'], [], ['3']);
    expect(writes).toEqual(['[\n  {"id":12345678901234567890},\n  1.10', ',\n  3', '\n]\n']);
  });

  it.each([
    ['of nothing', {}, [], '[]\n'],
    ['of a single answer', { shape: 'single' }, ['{"a":1.10}'], '{"a":1.10}\n'],
    ['of a single answer that is none', { shape: 'single' }, [], ''],
  ] as const)('%s', async (_, options, records, text) => {
    expect(await listed('json', [...records], list.layout, options)).toBe(text);
  });
});

describe('CSV', () => {
  const header = 'name,description,score,score_reason,website,linkedin_url,links\r\n';

  it('has its header once, with the first batch', async () => {
    const first = ['{"name":"a,b"}', '{"name":"say \\"x\\"","score":1.10}'];
    const { writes } = await written('csv', list, first, ['{"links":{"id":12345678901234567890}}']);
    expect(writes).toEqual([
      `${header}"a,b",,,,,,\r\n"say ""x""",,1.10,,,,\r\n`,
      ',,,,,,"{""id"":12345678901234567890}"\r\n',
    ]);
  });

  it('quotes a cell with any line end, whatever its own is', async () => {
    for (const lineEnd of ['\r\n', '\n'] as const) {
      for (const a of ['x\ny', 'x\ry', 'x\r\ny']) {
        const text = await listed('csv', [JSON.stringify({ a, b: 1 })], memberLayout(['a', 'b']), {
          lineEnd,
        });
        expect(text).toBe(`a,b${lineEnd}"${a}",1${lineEnd}`);
      }
    }
  });

  it.each([
    ['has its header when nothing was found', [], {}, header],
    // Rows that are added to a file are under its header, too, until they are added.
    ['has the line ends of the file', ['{"name":"a"}'], { lineEnd: '\n' }, `${header.trimEnd()}\na,,,,,,\n`],
    [
      'has its delimiter',
      ['{"name":"a;b"}'],
      { delimiter: ';' },
      `${header.replaceAll(',', ';')}"a;b";;;;;;\r\n`,
    ],
    ['has its mark', [], { mark: true }, `\ufeff${header}`],
  ])('%s', async (_, records, options, text) => {
    expect(await listed('csv', records, list.layout, options)).toBe(text);
  });

  it('quotes what another reader would split, so that it sees the same cells', async () => {
    const row = ['a;b', 'c\td', 'e|f', ' ', "g'h"];
    const record = JSON.stringify(Object.fromEntries(row.map((text, at) => [String(at + 1), text])));
    for (const csvRaw of [true, false]) {
      const text = await listed('csv', [record], memberLayout(['1', '2', '3', '4', '5']), { csvRaw });
      expect(text.split('\r\n')[1]).toBe(`"a;b","c\td","e|f", ,g'h`);
      expect(parse(text, { record_delimiter: '\r\n', delimiter: [',', ';', '\t', '|'] })[1]).toEqual(row);
    }
  });

  it('has no blank line for an empty cell that is alone', async () => {
    expect(await listed('csv', ['{}'], chosenLayout(['a']))).toBe('a\r\n""\r\n');
  });

  it.each([
    [false, "'=h\r\n'=c\r\n"],
    [true, '=h\r\n=c\r\n'],
  ])('neutralises headers and cells, unless raw (%s)', async (csvRaw, text) => {
    expect(await listed('csv', ['{"=h":"=c"}'], memberLayout(['=h']), { csvRaw })).toBe(text);
  });

  it('reads back as what it was', async () => {
    const names = ['a', 'b', 'c'];
    const letters = fc.constantFrom('"', ',', '\n', '\r', '\t', ';', ' ', "'", 'x', '漢');
    const text = fc.oneof(
      fc.string({ unit: 'grapheme', maxLength: 12 }),
      fc.string({ unit: letters, maxLength: 12 }),
    );
    const number = fc.tuple(fc.bigInt(), fc.nat(999)).map(([whole, part]) => `${whole}.${part}`);
    const value = fc.oneof(
      text.map((each) => JSON.stringify(each)),
      number,
    );
    const record = fc.tuple(value, value, value);
    await fc.assert(
      fc.asyncProperty(fc.array(record, { minLength: 1, maxLength: 5 }), async (rows) => {
        const records = rows.map(([a, b, c]) => `{"a":${a},"b":${b},"c":${c}}`);
        const csv = await listed('csv', records, memberLayout(names), { csvRaw: true });
        const expected = rows.map((row) =>
          row.map((each) => (each.startsWith('"') ? JSON.parse(each) : each)),
        );
        expect(parse(csv, { record_delimiter: '\r\n' })).toEqual([names, ...expected]);
      }),
      { numRuns: 200 },
    );
  });
});

describe('the rows of a database', () => {
  it('are written as the service sent them, below the table and its columns', async () => {
    const layout = { ...memberLayout(['id', 'text']), records: 'leads' } as const;
    const first = ['{"id":12345678901234567890,"text":"a\\nb\u2028"}', '{"id":\n 1.10}'];
    const { writes } = await written('sqlite', { layout, shape: 'list' }, first, ['{"text":[1]}']);
    expect(writes).toEqual([
      '["leads"]\n["id","text"]\n[12345678901234567890,"a\\nb\\u2028"]\n[1.10,null]\n',
      '[null,[1]]\n',
    ]);
  });

  it('are the table and its columns where nothing was found', async () => {
    const { writes } = await written('sqlite', { layout: memberLayout(['id']), shape: 'list' });
    expect(writes).toEqual(['["records"]\n["id"]\n']);
  });
});

describe('much at once', () => {
  it('is never held in one piece: rows that each have columns of their own', async () => {
    const records = Array.from({ length: 800 }, (_, row) => `{"a${row}":1,"b${row}":2,"c${row}":3}`);
    const layout = await extract.layout()(records);
    const { writes, text } = await written('csv', { layout, shape: 'list' }, records);
    expect(text.length).toBeGreaterThan(800 * 2400);
    expect(Math.max(...writes.map(({ length }) => length))).toBeLessThan(1_100_000);
    const rows = text.split('\r\n');
    expect(rows).toHaveLength(802);
    expect(rows[800]).toBe(`${','.repeat(2397)}1,2,3`);
  });

  it.each<[Format, 'list' | 'single']>([
    ['jsonl', 'list'],
    ['json', 'single'],
  ])('is never held in one piece: one long record as %s', async (format, shape) => {
    // An odd number of code units in front: a piece would end within a character.
    const record = `{"a":"${'👩\u2028'.repeat(600_000)}"}`;
    const { writes, text } = await written(format, { layout: chosenLayout(['a']), shape }, [record]);
    expect(Math.max(...writes.map(({ length }) => length))).toBeLessThan(4_000_000);
    expect(writes.every((each) => each.isWellFormed())).toBe(true);
    expect(text === `${record.replaceAll('\u2028', '\\u2028')}\n`).toBe(true);
  });

  it('has 20,000 members in each of its objects', async () => {
    const members = Array.from({ length: 20_000 }, (_, at) => `"k${at}":${at}`).join(',');
    const record = `{"name":"n","links":{${members}},"answer":{${members}}}`;
    for (const format of formats) expect(await listed(format, [record])).not.toBe('');
    const sheet = await written(
      'table',
      { layout: enrich.layout({ enrich_fields: { properties: { k7: {} } } } as never), shape: 'single' },
      [record],
    );
    expect(sheet.text).toMatch(/^k7 +7\nk0 +0\n/);
    expect(sheet.text.slice(-40)).toMatch(/\nk49… +4999\n…\n$/);
    expect((await extract.layout()([`{${members}}`])).columns).toHaveLength(20_000);
  });

  it('is nested more deeply than a stack is', async () => {
    const deep = `{"name":${'['.repeat(100_000)}1${']'.repeat(100_000)}}`;
    for (const format of formats) {
      for (const shape of ['list', 'single']) {
        expect(await listed(format, [deep], list.layout, { shape })).not.toBe('');
      }
    }
  });
});

it('each line of JSONL is the record', async () => {
  const record = fc.dictionary(fc.string({ unit: 'binary' }), fc.jsonValue());
  await fc.assert(
    fc.asyncProperty(fc.array(record, { minLength: 1 }), async (records) => {
      const sources = records.map((each) => JSON.stringify(each, null, 1));
      const lines = (await listed('jsonl', sources)).split('\n');
      expect(lines.pop()).toBe('');
      expect(lines.map((line) => JSON.parse(line))).toEqual(sources.map((each) => JSON.parse(each)));
    }),
  );
});

it('JSONL and JSON load no library', () => {
  const seen = new Set<string>();
  const visit = (url: URL): void => {
    if (seen.has(url.href)) return;
    seen.add(url.href);
    for (const [, clause, from] of readFileSync(url, 'utf8').matchAll(
      /^import ([^;]*?) from '([^']*)';$/gm,
    )) {
      if (clause?.startsWith('type ')) continue;
      expect(from, url.pathname).toMatch(/^\.|^node:/);
      if (from?.startsWith('.')) visit(new URL(from, url));
    }
  };
  for (const name of [
    'output/writer',
    'output/json',
    'columns/columns',
    'output/sink',
    'output/file-sink',
    'output/clean',
  ]) {
    visit(new URL(`../../src/${name}.ts`, import.meta.url));
  }
  expect(seen.size).toBeGreaterThan(10);
});
