import fc from 'fast-check';
import { marked } from 'marked';
import { describe, expect, it } from 'vitest';
import { memberLayout } from '../../src/columns/columns.ts';
import { isMarkdownTable, readMarkdown } from '../../src/files/markdown-table.ts';
import { research as researchKind } from '../../src/operations/kinds/research.ts';
import type { WriterOptions } from '../../src/output/form.ts';
import { written as writtenAs } from './gathering-sink.ts';

async function written(options: WriterOptions, ...records: string[]): Promise<string> {
  return (await writtenAs('md', options, ...records.map((record) => [record]))).text;
}

const table = (...names: string[]): WriterOptions => ({ layout: memberLayout(names), shape: 'list' });
const prose: WriterOptions = { layout: researchKind.layout(), shape: 'single' };
const research = (result: string, citations: unknown = []): string =>
  JSON.stringify({ success: true, answer: { Result: result, Citations: citations } });

/** As a reader sees it: the cells of each row, without the tags of the table. */
function cellsOf(html: string): string[][] {
  const rows = html.split('<tr>').slice(1);
  return rows.map((row) =>
    [...row.matchAll(/<t[hd][^>]*>([\s\S]*?)<\/t[hd]>/g)].map(([, cell = '']) => cell),
  );
}

/** What is shown of a link is where it leads. */
function expectOpenLinks(html: string): void {
  const text = (part: string): string =>
    part.replaceAll('&lt;', '<').replaceAll('&gt;', '>').replaceAll('&quot;', '"').replaceAll('&amp;', '&');
  for (const [, to = '', shown = ''] of html.matchAll(/<a href="([^"]*)"[^>]*>(.*?)<\/a>/g)) {
    expect(decodeURI(text(to))).toBe(decodeURI(text(shown)));
  }
}

describe('a table', () => {
  it.each<[name: string, value: unknown, cell: string]>([
    ['a text', 'Acme & Co', 'Acme & Co'],
    ['a bar', 'a|b\\|c', 'a\\|b\\\\\\|c'],
    ['lines', 'a\r\n b\n\nc', 'a<br> b<br><br>c'],
    ['other ends of lines', 'a\u2028b\u2029', 'a&#8232;b&#8233;'],
    ['space at its ends', '\t a ', '&#9; a&#32;'],
    ['HTML', '<img src=x onerror=alert(1)>', '&lt;img src=x onerror=alert(1)>'],
    ['an entity', '&lt;b&gt;', '&amp;lt;b&amp;gt;'],
    ['a link', '[Acme](https://evil.example)', '\\[Acme\\](https://evil.example)'],
    ['emphasis', '*a* _b_ snake_case ~~c~~ `d`', '\\*a\\* \\_b\\_ snake_case \\~\\~c\\~\\~ \\`d\\`'],
    ['an address', 'https://a.example/x_y?z=1', '<https://a.example/x_y?z=1>'],
    ['a control', 'a\u001b[31m\u202eb', 'a\\[31mb'],
    ['nothing', null, ''],
    ['truth', true, 'true'],
    ['an object', { links: ['https://a.example'], n: 1 }, '{"links":\\["https://a.example"\\],"n":1}'],
  ])('has %s', async (_, value, cell) => {
    const text = await written(table('a', 'b|'), JSON.stringify({ a: value, 'b|': 1 }));
    expect(text).toBe(`| a | b\\| |\n| --- | --- |\n| ${cell} | 1 |\n`);
  });

  it('is read as it was, but for the ends of lines', async () => {
    const word = fc.constantFrom(
      'a',
      'é',
      ' ',
      '|',
      '\\',
      '*',
      '_',
      '`',
      '[',
      ']',
      '<',
      '>',
      '&',
      '&lt;',
      '&#1;',
      '<br>',
      '-',
      '\n',
      '\r\n',
      '\t',
      '\u00a0',
      '\u2028',
      'https://a.example/x_y',
    );
    const cell = fc.array(word, { maxLength: 6 }).map((words) => words.join(''));
    const rows = fc.array(fc.tuple(cell, cell), { minLength: 1, maxLength: 4 });
    await fc.assert(
      fc.asyncProperty(rows, fc.tuple(cell, cell), async (all, names) => {
        const [one, other] = [`a${names[0]}`, `b${names[1]}`];
        const plain = (text: string): string => text.replaceAll('\r\n', '\n');
        const text = await written(
          table(one, other),
          ...all.map((cells) =>
            JSON.stringify(
              Object.fromEntries([
                [one, cells[0]],
                [other, cells[1]],
              ]),
            ),
          ),
        );
        const read = readMarkdown(
          (async function* () {
            yield* text.match(/[\s\S]{1,7}/g) ?? [];
          })(),
        );
        const found: (readonly string[])[] = [];
        for await (const { cells, flaw } of read) found.push(flaw === undefined ? cells : [flaw]);
        expect(isMarkdownTable(text)).toBe(true);
        expect(found).toEqual([[one, other], ...all].map((cells) => cells.map(plain)));
      }),
    );
  });

  it('has every digit of a number, and its header where nothing was found', async () => {
    expect(await written(table('id'), '{"id":12345678901234567890}')).toBe(
      '| id |\n| --- |\n| 12345678901234567890 |\n',
    );
    expect(await written(table('a', 'b'))).toBe('| a | b |\n| --- | --- |\n');
  });

  it('keeps its cells, and hides no link or HTML, whatever is in them', async () => {
    const part = fc.constantFrom(
      ...[
        '|',
        '\\',
        '`',
        '[',
        ']',
        '(',
        ')',
        '!',
        '<',
        '>',
        '&',
        '*',
        '_',
        '~',
        '\n',
        '\r',
        '\u2028',
        ' ',
        '#',
        '-',
      ],
      ...['a', 'https://evil.example', 'javascript:x', '<a href="x">', '<!--', '&lt;', '```', 'ä', '👩'],
    );
    const text = fc.array(part, { maxLength: 12 }).map((parts) => parts.join(''));
    await fc.assert(
      fc.asyncProperty(fc.array(fc.tuple(text, text), { minLength: 1, maxLength: 4 }), async (rows) => {
        const records = rows.map(([a, b]) => JSON.stringify({ a, b }));
        const html = await marked.parse(await written(table('a', 'b'), ...records));
        const cells = cellsOf(html);
        expect(cells.map((row) => row.length)).toEqual([2, ...rows.map(() => 2)]);
        expect(html).not.toMatch(/<(?!\/?(?:table|thead|tbody|tr|th|td|br|a)\b)|href="(?!https?:)/);
        expectOpenLinks(html);
      }),
      { numRuns: 300 },
    );
  });
});

describe('an answer of research', () => {
  it('is prose with its numbered sources', async () => {
    const text = await written(
      prose,
      research('# Found\n\nIt is **so** [1].\n\n- a_b\n', ['https://a.example', 'B [x]']),
    );
    expect(text).toBe(
      '# Found\n\nIt is **so** \\[1\\].\n\n- a_b\n\n## Sources\n\n1. <https://a.example>\n2. B \\[x\\]\n',
    );
  });

  it('of another form is the JSON that it is', async () => {
    const text = await written(prose, '{"success":true,"answer":{"x":"```\\n<b>"}}');
    expect(text).toBe('```json\n{\n  "x": "```\\n<b>"\n}\n```\n');
    expect(await marked.parse(text)).not.toContain('<b>');
  });

  it('hides no link, no image, no HTML and none of its sources', async () => {
    const hostile = [
      '![](https://track.example/p.png) [here](javascript:alert(1)) \\[x](y)',
      '<script>alert(1)</script> <a href="https://evil.example">Acme</a>',
      '```\nnever closed',
      '[1]: https://evil.example',
    ].join('\n\n');
    const html = await marked.parse(await written(prose, research(hostile, ['https://a.example'])));
    expect(html).not.toMatch(/<(?:img|script|pre)|href="(?!https:)/);
    expectOpenLinks(html);
    expect(html).toContain('<a href="https://a.example">https://a.example</a>');
  });
});
