import { readFileSync } from 'node:fs';
import { parse } from 'csv-parse/sync';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { entityLayout, memberLayout, pathLayout } from '../../src/output/columns.ts';
import { createWriter, type Format, type WriterOptions } from '../../src/output/writer.ts';
import { gatheringSink } from './gathering-sink.ts';

const list = { layout: entityLayout(), shape: 'list' } as const;

async function written(format: Format, options: WriterOptions, ...batches: string[][]) {
  const sink = gatheringSink();
  const writer = await createWriter(format, sink, options);
  for (const batch of batches) await writer.write(batch);
  await writer.end();
  return sink;
}

describe('JSONL', () => {
  it('is each record as it came, one write per batch', async () => {
    const sink = await written(
      'jsonl',
      list,
      ['{"id": 12345678901234567890,\n "b":1.10}', '1'],
      [],
      ['"\u202e"'],
    );
    expect(sink.writes).toEqual(['{"id": 12345678901234567890, "b":1.10}\n1\n', '"\\u202e"\n']);
  });

  it('with chosen columns is flat objects', async () => {
    const options = { layout: pathLayout(['b', 'links.id', 'no']), shape: 'list' } as const;
    const sink = await written('jsonl', options, ['{"links":{"id":12345678901234567890},"b":1.10}']);
    expect(sink.text).toBe('{"b":1.10,"links.id":12345678901234567890,"no":null}\n');
  });

  it('of nothing is nothing', async () => expect((await written('jsonl', list)).writes).toEqual([]));
});

describe('JSON', () => {
  it('is an array that grows', async () => {
    const sink = await written('json', list, ['{"id":12345678901234567890}', '1.10'], [], ['3']);
    expect(sink.writes).toEqual(['[\n  {"id":12345678901234567890},\n  1.10', ',\n  3', '\n]\n']);
  });

  it('goes on where it was', async () => {
    expect((await written('json', { ...list, continued: true }, ['2'])).text).toBe(',\n  2\n]\n');
  });

  it('of nothing is an empty array', async () => expect((await written('json', list)).text).toBe('[]\n'));

  it('of a single answer is that', async () => {
    const single = { layout: entityLayout(), shape: 'single' } as const;
    expect((await written('json', single, ['{"a":1.10}'])).text).toBe('{"a":1.10}\n');
    expect((await written('json', single)).text).toBe('');
  });
});

describe('CSV', () => {
  const header = 'name,description,score,score_reason,website,linkedin_url,links\r\n';

  it('has its header once, with the first batch', async () => {
    const sink = await written(
      'csv',
      list,
      ['{"name":"a,b"}', '{"name":"say \\"x\\"","score":1.10}'],
      ['{"links":{"id":12345678901234567890}}'],
    );
    expect(sink.writes).toEqual([
      `${header}"a,b",,,,,,\r\n"say ""x""",,1.10,,,,\r\n`,
      ',,,,,,"{""id"":12345678901234567890}"\r\n',
    ]);
  });

  it('quotes a cell with any line end, whatever its own is', async () => {
    const layout = memberLayout(['a', 'b']);
    for (const lineEnd of ['\r\n', '\n'] as const) {
      for (const text of ['x\ny', 'x\ry', 'x\r\ny']) {
        const options = { layout, shape: 'list', lineEnd } as const;
        const sink = await written('csv', options, [JSON.stringify({ a: text, b: 1 })]);
        expect(sink.text).toBe(`a,b${lineEnd}"${text}",1${lineEnd}`);
      }
    }
  });

  it('has its header when nothing was found', async () =>
    expect((await written('csv', list)).text).toBe(header));

  it('that goes on has none, and the line ends of the file', async () => {
    const options = { ...list, continued: true, lineEnd: '\n' } as const;
    expect((await written('csv', options, ['{"name":"a"}'])).text).toBe('a,,,,,,\n');
    expect((await written('csv', options)).text).toBe('');
  });

  it('has no blank line for an empty cell that is alone', async () => {
    expect((await written('csv', { layout: pathLayout(['a']), shape: 'list' }, ['{}'])).text).toBe(
      'a\r\n""\r\n',
    );
  });

  it('neutralises headers and cells, unless raw', async () => {
    const layout = memberLayout(['=h']);
    expect((await written('csv', { layout, shape: 'list' }, ['{"=h":"=c"}'])).text).toBe("'=h\r\n'=c\r\n");
    expect((await written('csv', { layout, shape: 'list', csvRaw: true }, ['{"=h":"=c"}'])).text).toBe(
      '=h\r\n=c\r\n',
    );
  });

  it('reads back as what it was', async () => {
    const names = ['a', 'b', 'c'];
    const text = fc.oneof(
      fc.string({ unit: 'grapheme', maxLength: 12 }),
      fc.string({
        unit: fc.constantFrom('"', ',', '\n', '\r', '\t', ';', ' ', "'", 'x', '漢'),
        maxLength: 12,
      }),
    );
    const number = fc.tuple(fc.bigInt(), fc.nat(999)).map(([whole, part]) => `${whole}.${part}`);
    const value = fc.oneof(
      text.map((each) => JSON.stringify(each)),
      number,
    );
    const record = fc.array(value, { minLength: 3, maxLength: 3 });
    await fc.assert(
      fc.asyncProperty(fc.array(record, { minLength: 1, maxLength: 5 }), async (rows) => {
        const records = rows.map(
          (row) => `{${row.map((each, index) => `"${names[index]}":${each}`).join(',')}}`,
        );
        const sink = await written(
          'csv',
          { layout: memberLayout(names), shape: 'list', csvRaw: true },
          records,
        );
        const expected = rows.map((row) =>
          row.map((each) => (each.startsWith('"') ? JSON.parse(each) : each)),
        );
        expect(parse(sink.text, { record_delimiter: '\r\n' })).toEqual([names, ...expected]);
      }),
      { numRuns: 300 },
    );
  });
});

it('numbers are the same characters in every format', async () => {
  const record = '{"name":"n","links":{"id":12345678901234567890},"score":{"score":1.10}}';
  for (const format of ['jsonl', 'json', 'csv'] as const) {
    const { text } = await written(format, list, [record]);
    expect(text).toContain('12345678901234567890');
    expect(text).toContain('1.10');
  }
});

it('each line of JSONL is the record', async () => {
  const record = fc.dictionary(fc.string({ unit: 'binary' }), fc.jsonValue());
  await fc.assert(
    fc.asyncProperty(fc.array(record, { minLength: 1 }), async (records) => {
      const sources = records.map((each) => JSON.stringify(each, null, 1));
      const lines = (await written('jsonl', list, sources)).text.split('\n');
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
    'writer',
    'jsonl',
    'json',
    'columns',
    'sink',
    'file-sink',
    'clean',
    'csv-cell',
    'progress',
  ]) {
    visit(new URL(`../../src/output/${name}.ts`, import.meta.url));
  }
  expect(seen.size).toBeGreaterThan(10);
});
