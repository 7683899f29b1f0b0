import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { answerKinds, toOwners } from '../helpers/answer-kinds.ts';
import { historyOf, recordsIn, runInProcess } from '../helpers/fake-context.ts';
import { contacts, cwd, ending, env, leadpipe, paid, read, serve, service, write } from '../helpers/lists.ts';
import { makeWorkbook } from '../helpers/workbooks.ts';

/** The commands whose answer becomes a part of its row. */
const inTheirRows = Object.entries(answerKinds).flatMap(([name, { items }]) => (items ? [] : [name]));

const onDisk = (name: string): string[] => readFileSync(join(cwd, name), 'utf8').trimEnd().split(/\r?\n/);

describe('--only-missing', () => {
  it.each([
    [
      'email',
      ['contact', 'email'],
      'objective,Email,note\nAda,a@x.example,1\nBo,,2\nCy, ,3\n',
      ['Bo', 'Cy'],
      [
        'objective,Email,note,email_reference,email_error',
        'Ada,a@x.example,1,,',
        'Bo,bo@example.com,2,,',
        'Cy,cy@example.com,3,,',
      ],
    ],
    [
      'what an earlier run has written',
      ['contact', 'email', '--into', 'work'],
      'objective,work,work_reference,work_error\nAda,,,not found\nBo,,,line 3 is too long\nCy,,old,No result generated from enrich\nDee,d@x,,\n',
      ['Bo'],
      [
        'objective,work,work_reference,work_error',
        'Ada,,,not found',
        'Bo,bo@example.com,,',
        'Cy,,old,No result generated from enrich',
        'Dee,d@x,,',
      ],
    ],
    [
      'the fields',
      ['enrich', '--field', 'city', '--field', 'size'],
      'entity_context,City,size\nAda,Rome,7\nBo,Rome,\nCx,,8\nDx,,\n',
      ['Bo', 'Cx', 'Dx'],
      ['entity_context,City,size,enrich_error', 'Ada,Rome,7,', 'Bo,Rome,3,', 'Cx,Berlin,8,', 'Dx,Berlin,,'],
    ],
  ])('fills in %s, and writes nothing over', async (_, words, csv, sent, lines) => {
    write('list.csv', csv);
    const args = [...words, '--input', 'list.csv', '--only-missing'];
    const dry = await leadpipe([...args, '--dry-run']);
    expect(dry.stderr).toContain(`${sent.length} row${sent.length === 1 ? '' : 's'} would be sent`);
    const { code, stderr } = await leadpipe([...args, '-o', 'out.csv']);
    expect({ code, paid: paid() }).toEqual({ code: 0, paid: sent });
    const left = lines.length - 1 - sent.length;
    expect(stderr).toContain(`${left} row${left === 1 ? ' left as it was' : 's left as they were'}`);
    // What is passed on was not bought.
    expect(stderr).toMatch(RegExp(`out\\.csv: ${sent.length} (?:emails? found|answers?) · `));
    expect((await historyOf(env)).records.at(-1)).toMatchObject({ leads: null, found: sent.length });
    expect(onDisk('out.csv')).toEqual(lines);
    // Nothing is missing any more, but what only lacks a field.
    expect((await leadpipe([...words, '--input', 'out.csv', '--only-missing', '--dry-run'])).stderr).toMatch(
      /^(No|1) row would be sent/m,
    );
  });

  it('says nothing of an earlier purchase where nothing is bought', async () => {
    write('whole.csv', 'objective,email\nAda,a@x\nBo,\n');
    const args = ['--input', 'whole.csv', '--only-missing'];
    await contacts(...args, '-o', 'out.csv');
    write('whole.csv', 'objective,email\nAda,a@x\nBo,b@x\n');
    const { code, stderr } = await contacts(...args, '-o', 'again.csv');
    expect({ code, paid: paid() }).toEqual({ code: 0, paid: ['Bo'] });
    expect(stderr).not.toContain('already bought');
  });

  it('continues with the answers of JSON, in their form', async () => {
    const lines = [
      '{"objective":"Ada","email":{"content":"a@x","reference":null},"id":12345678901234567890}',
      '{"objective":"Bo","email":{"content":null,"reference":"r"},"email_error":"its answer was lost"}',
      '{"objective":"Cy","email":null,"email_error":"not found","x":1.10}',
      '{"objective":"Dee"}',
    ];
    write('list.jsonl', lines.join('\n'));
    const { stdout } = await contacts('--input', 'list.jsonl', '--only-missing');
    expect(paid()).toEqual(['Bo', 'Dee']);
    expect(stdout.trimEnd().split('\n')).toEqual([
      lines[0],
      '{"objective":"Bo","email":{"content":"bo@example.com","reference":"r"}}',
      lines[2],
      '{"objective":"Dee","email":{"content":"dee@example.com","reference":null}}',
    ]);
    await contacts('--input', 'list.jsonl', '--only-missing', '-o', 'out.csv');
    expect(onDisk('out.csv')).toEqual([
      'objective,id,email,email_reference,email_error,other',
      'Ada,12345678901234567890,a@x,,,',
      'Bo,,bo@example.com,r,,',
      'Cy,,,,not found,"{""x"":1.10}"',
      'Dee,,dee@example.com,,,',
    ]);
    write('flat.jsonl', '{"objective":"Ada","email":"a@x"}\n{"objective":"Eve","email":null}\n');
    expect((await contacts('--input', 'flat.jsonl', '--only-missing')).stdout).toContain(
      '{"objective":"Eve","email":"eve@example.com"}',
    );
  });

  describe.each([
    [
      ['contact', 'email'],
      '{"objective":"Ann","email":"ann@x"}\n{"objective":"Bo","email":"bo@x"}\n{"objective":"Cy","email":""}\n{"objective":"Di"}\n',
      'objective,email,email_reference,email_error,other',
      ['csv', 'json', 'jsonl', 'md', 'xlsx', 'db'],
    ],
    [
      ['contact', 'email'],
      '{"objective":"Cy","email":"n/a"}\n{"objective":"Di"}\n',
      'objective,email,email_reference,email_error,other',
      ['json', 'md', 'db', 'csv', 'jsonl', 'xlsx'],
    ],
    [
      ['research'],
      '{"query":"Ann","research":"It is."}\n{"query":"Cy","research":null}\n{"query":"Di"}\n',
      'query,research,research_citations,research_error,other',
      ['xlsx', 'jsonl', 'csv', 'db', 'md', 'json'],
    ],
    [
      ['enrich', '--field', 'city', '--field', 'shoe'],
      '{"entity_context":"Ann","city":"Rome","shoe":"9"}\n{"entity_context":"Cy"}\n{"entity_context":"Di","city":""}\n',
      'entity_context,city,shoe,enrich_error,other',
      ['db', 'xlsx', 'md', 'jsonl', 'json', 'csv'],
    ],
  ])('%j with answers as texts', (words, list, header, forms) => {
    const fill = async (input: string, output: string): Promise<string> => {
      expect(await leadpipe([...words, '--input', input, '--only-missing', '-o', output])).toMatchObject({
        code: 0,
      });
      return output;
    };

    // The first form is made of the list, too; each is made of the one before.
    it(`buys nothing twice by way of ${forms.join(', ')}`, async () => {
      await serve({ nothing: true });
      write('crm.jsonl', list);
      let last = await fill('crm.jsonl', 'one.jsonl');
      expect(service.requests()).toBe(2);
      await fill(await fill(last, `two.${forms[0]}`), 'three.csv');
      await fill(await fill('crm.jsonl', `own.${forms[0]}`), 'other.csv');
      for (const form of forms) last = await fill(last, `of-${last.split('.').at(-1)}.${form}`);
      await fill(last, 'last.csv');
      expect(service.requests()).toBe(4);
      const [first, ...rows] = onDisk('three.csv');
      expect(first).toBe(header);
      expect(rows.filter((row) => row.endsWith(',not found,'))).toHaveLength(2);
      // Nothing is in the last column.
      expect(rows.filter((row) => !row.endsWith(','))).toEqual([]);
      expect(onDisk('other.csv')).toEqual(onDisk('three.csv'));
    });

    it('has the same columns for what is found', async () => {
      write('crm.jsonl', list);
      await fill('crm.jsonl', 'one.jsonl');
      await fill('one.jsonl', 'two.csv');
      await fill('crm.jsonl', 'own.csv');
      expect(onDisk('two.csv')[0]).toBe(header);
      expect(onDisk('own.csv')).toEqual(onDisk('two.csv'));
    });
  });

  it.each([
    ['Email Address', ['contact', 'email']],
    ['Email 1', ['contact', 'email']],
    ['E-mail', ['contact', 'email']],
    ['Phone Number', ['contact', 'phone']],
    ['Mobile', ['contact', 'phone']],
  ])('takes the column %s for that of %j', async (column, words) => {
    write('list.csv', `${column},Name,Company\na@x.example,Ada,Acme\n,Bo,Acme\n`);
    const args = [...words, '--input', 'list.csv'];
    await leadpipe([...args, '--only-missing', '-o', 'out.csv']);
    expect(paid()).toEqual(['Bo, Acme']);
    const [header, ...rows] = onDisk('out.csv');
    expect(header).toMatch(new RegExp(`^${column},Name,Company,(\\w+_reference,)?\\w+_error$`));
    expect(rows).toEqual([
      expect.stringMatching(/^a@x\.example,Ada,Acme,/),
      expect.stringMatching(/^[^,]+,Bo,Acme,/),
    ]);
    // Without it, one line says so, and all rows are bought.
    const all = await leadpipe([...args, '-o', 'all.csv']);
    const note = `list.csv has rows without "${column}": add --only-missing to buy only these rows, and to fill in that column`;
    expect(all.stderr.split(note)).toHaveLength(2);
    expect(paid()).toEqual(['Ada, Acme', 'Bo, Acme', 'Bo, Acme']);
  });

  it('says nothing of answers behind --first: their rows are in the input', async () => {
    write('list.csv', 'objective\nAda\nBo\nCy\n');
    await contacts('--input', 'list.csv', '-o', 'out.csv', '--first', '2');
    const fewer = await contacts('--input', 'list.csv', '-o', 'out.csv', '--first', '1');
    expect(fewer).toMatchObject({ code: 0, stderr: expect.not.stringContaining('no longer in the input') });
    expect(paid()).toEqual(['Ada', 'Bo']);
  });

  it('says nothing of itself where no row lacks an answer, or a list is resumed', async () => {
    write('list.csv', 'objective,email\nAda,a@x\n');
    expect((await contacts('--input', 'list.csv')).stderr).not.toContain('--only-missing');
    write('list.csv', 'objective,email\nAda,\nBo,\n');
    await contacts('--input', 'list.csv', '-o', 'out.csv', '--first', '1');
    expect(await leadpipe(['resume'])).toMatchObject({
      code: 0,
      stderr: expect.not.stringContaining('--only-missing'),
    });
    expect(paid()).toEqual(['Ada', 'Ada', 'Bo']);
  });

  const marks = ['-', '--', 'n/a', 'N/A', 'none', 'null', 'Null', 'not found', 'NONE '];
  it.each([
    ['csv', `objective,email\n${marks.map((mark) => `${mark}x,${mark}`).join('\n')}\nAda,a@x\nNone,non@e\n`],
    [
      'json',
      JSON.stringify([
        ...marks.map((mark) => ({ objective: `${mark}x`, email: mark })),
        { objective: 'Ada', email: 'a@x' },
        { objective: 'None', email: 'null@e' },
      ]),
    ],
    [
      'jsonl',
      [
        ...marks.map((mark) => ({ objective: `${mark}x`, email: { content: mark } })),
        { objective: 'Ada', email: { content: 'a@x' } },
      ]
        .map((row) => JSON.stringify(row))
        .join('\n'),
    ],
  ])('counts words that mean "nothing" as missing, in %s', async (form, text) => {
    write(`list.${form}`, text);
    const says = `${marks.length} rows have a word such as "n/a" or "-" in "email": it counts as missing.`;
    const args = ['--input', `list.${form}`, '--only-missing'];
    const dry = await contacts(...args, '--dry-run');
    expect(dry.stderr.split(says)).toHaveLength(2);
    expect(await contacts(...args, '-o', 'out.csv')).toMatchObject(ending(0, says));
    expect(paid()).toEqual(marks.map((mark) => `${mark}x`.trim()).sort());
    expect(onDisk('out.csv').filter((row) => /@example\.com/.test(row))).toHaveLength(marks.length);
    expect((await contacts('--input', 'out.csv', '--only-missing', '--dry-run')).stderr).toContain(
      'No row would be sent',
    );
  });

  it('does not buy such a word again where it is the answer', async () => {
    await serve({ nothing: 'N/A' });
    write('list.csv', 'objective,email\nAda,\n');
    expect(await contacts('--input', 'list.csv', '--only-missing', '-o', 'out.csv')).toMatchObject({
      code: 0,
    });
    expect(onDisk('out.csv')[1]).toBe('Ada,N/A,,not found');
    await contacts('--input', 'out.csv', '--only-missing');
    expect(service.requests()).toBe(1);
  });

  it.each([
    [
      'contact email',
      'objective',
      'email',
      ['{"content":null}', '{"content":" "}', '[""]', '[null,{}]', '[[]]'],
    ],
    ['research', 'query', 'research', ['{"content":null}', '{"Result":[""]}', '[""]']],
    ['enrich --field city', 'entity_context', 'city', ['[""]', '{"content":null}', '{"a":{"b":""}}']],
  ])('%s takes for missing what says nothing', async (words, field, name, empty) => {
    // The first answer is a text, so the others may be values of any kind.
    const said = ['"said"', '[0]', '[false]', '["",{"a":"b"}]'];
    const values = [...said, ...empty];
    write('list.jsonl', values.map((value, at) => `{"${field}":"${at}","${name}":${value}}`).join('\n'));
    const args = [...words.split(' '), '--input', 'list.jsonl', '--only-missing', '-f', 'jsonl'];
    const records = recordsIn((await leadpipe(args)).stdout);
    expect(service.requests()).toBe(empty.length);
    expect(records.slice(0, said.length)).toEqual(
      said.map((value, at) => ({ [field]: String(at), [name]: JSON.parse(value) })),
    );
  });

  it('writes no cell for what says nothing, so that it is still missing in CSV', async () => {
    await serve({ lost: new Set(['Bo']) });
    write('list.jsonl', '{"objective":"Ann","email":"a@x"}\n{"objective":"Bo","email":{"content":null}}\n');
    expect((await contacts('--input', 'list.jsonl', '--only-missing', '-o', 'out.csv')).code).toBe(3);
    expect(onDisk('out.csv')[2]).toMatch(/^Bo,,,"its answer was lost/);
  });

  it('leaves alone a field of the row that is called like one of the answer beside it', async () => {
    const row = '{"entity_context":"Ann","city":"Rome","enrich":null,"enrich_error":"its answer was lost"}';
    write('list.jsonl', `${row}\n{"entity_context":"Bo","city":"Rome"}\n`);
    await leadpipe('enrich --field city --input list.jsonl --only-missing -o out.csv'.split(' '));
    expect(paid()).toEqual(['Ann', 'Bo']);
    expect(onDisk('out.csv')).toEqual([
      'entity_context,city,city_2,enrich_error,other',
      'Ann,Rome,Berlin,,',
      'Bo,Rome,Berlin,,',
    ]);
  });

  it('keeps what a lead was enriched with beside an answer of the same name', async () => {
    const own = '"links":{},"enrich_fields":{"email":{"content":"own@x","reference":null}}';
    for (const email of ['', ',"email":"ann@x"', ',"email":{"content":"ann@x"}']) {
      await serve({});
      write('leads.jsonl', `{"name":"Ann",${own}${email}}\n`);
      await contacts('--input', 'leads.jsonl', '--only-missing', '-o', 'out.csv');
      expect(service.requests()).toBe(email === '' ? 1 : 0);
      const [header = '', row = ''] = onDisk('out.csv');
      expect(header).toMatch(/,email,email_reference,email_2,email_reference_2,email_error,other$/);
      expect(row).toMatch(/,own@x,,ann@(x|example\.com),,,$/);
    }
  });

  it('knows an answer in either form, in whatever record it comes', async () => {
    const lines = [
      '{"objective":"Ann"}',
      '{"objective":"Bo","email":"bo@x"}',
      '{"objective":"Cy","email":{"content":"cy@x","reference":"r"}}',
      '{"objective":"Di","email":["di@x"]}',
    ];
    for (const order of [lines, lines.toReversed()]) {
      await serve({});
      // From a pipe, the first record alone is known when the form is chosen.
      const args = ['contact', 'email', '--input', '-', '--only-missing'];
      const { stdout } = await leadpipe([...args, '-f', 'jsonl'], order.join('\n'));
      expect(paid()).toEqual(['Ann']);
      for (const line of lines.slice(1)) expect(stdout.split('\n')).toContain(line);
      const csv = (await leadpipe([...args, '-f', 'csv'], order.join('\n'))).stdout.split('\r\n');
      expect(csv[0]).toBe('objective,email,email_reference,email_error,other');
      expect(csv).toEqual(expect.arrayContaining(['Bo,bo@x,,,', 'Cy,cy@x,r,,']));
    }
  });

  it.each([
    [['contact', 'email', '--into', 'mial'], 'list.csv has no column "mial"', 'Name the column with --into.'],
    [
      ['contact', 'phone'],
      'has no column "phone"',
      'If it is another column: --into "Company Phone" or --into "Tél. portable". To buy all rows',
    ],
    [
      ['enrich', '--field', 'city', '--field', 'size'],
      'list.csv has no column "city", "size"',
      'To buy all rows',
    ],
    [['extract', 'x_followers'], toOwners(inTheirRows), ''],
  ])('%j is refused', async (words, ...why) => {
    write('list.csv', 'objective,entity_context,email,Company Phone,Tél. portable\nAda,Ada,,,\n');
    expect(await leadpipe([...words, '--input', 'list.csv', '--only-missing'])).toMatchObject(
      ending(2, ...why),
    );
    expect(service.requests()).toBe(0);
  });

  it('buys again what failed, and is the same list with and without it', async () => {
    const lost = new Set(['Bo']);
    await serve({ lost });
    write('list.csv', 'objective,email\nAda,\nBo,\nCy,c@x\n');
    expect(await contacts('--input', 'list.csv', '--only-missing', '-o', 'out.csv')).toMatchObject({
      code: 3,
    });
    expect(onDisk('out.csv').slice(1)).toEqual([
      'Ada,ada@example.com,,',
      expect.stringMatching(/^Bo,,,"its answer was lost/),
      'Cy,c@x,,',
    ]);
    lost.clear();
    write('again.csv', read('out.csv'));
    const twice = '1 row has an answer that was lost before: it may be charged twice.';
    expect(await contacts('--input', 'again.csv', '--only-missing', '-o', 'new.csv')).toMatchObject(
      ending(0, twice),
    );
    expect(paid()).toEqual(['Ada', 'Bo', 'Bo']);
    // All rows, into the file of the first run: what it has bought is known.
    expect(await contacts('--input', 'list.csv', '-o', 'out.csv', '--retry-unknown')).toMatchObject({
      code: 0,
    });
    expect(paid()).toEqual(['Ada', 'Bo', 'Bo', 'Bo', 'Cy']);
  });
});

describe('--first', () => {
  const rows = ['Ada', 'Bo', 'Cy', 'Dee', 'Eve'];
  const list = `objective\n${rows.join('\n')}\n`;

  it('buys the first rows, and the same command without it the rest alone', async () => {
    write('list.csv', list);
    const args = ['--input', 'list.csv', '-o', 'out.csv'];
    for (const time of ['first', 'again']) {
      const some = await contacts(...args, '--first', '2');
      expect(some, time).toMatchObject(
        ending(0, /out\.csv( \(replaced\))?: 2 emails found/, 'run the same command without --first'),
      );
      expect(onDisk('out.csv').slice(1)).toEqual(['Ada,ada@example.com,,', 'Bo,bo@example.com,,']);
      expect(paid()).toEqual(['Ada', 'Bo']);
    }
    const of = { state: 'partial', found: 2, credits_at_most: null, rows_done: 2 };
    expect((await historyOf(env)).records).toMatchObject([{ ...of, rows_total: null }]);
    expect((await shown()).stdout).toContain('2 rows so far');
    // On a terminal the rows are counted, for its progress.
    await runInProcess(['contact', 'email', ...args, '--first', '2'], { env, cwd, stderrIsTerminal: true });
    expect((await historyOf(env)).records).toMatchObject([{ ...of, rows_total: 5 }]);
    expect((await shown()).stdout).toContain('2 of 5 rows');
    expect(await contacts(...args, '--first', '3')).toMatchObject(ending(0, '2 already bought'));
    expect(await contacts(...args)).toMatchObject(
      ending(0, 'Resuming op_', 'out.csv (replaced): 5 emails found'),
    );
    expect({ paid: paid(), requests: service.requests() }).toEqual({ paid: rows, requests: 5 });
    expect(onDisk('out.csv')).toHaveLength(6);
    expect((await leadpipe(['resume'])).stderr).toContain('nothing to resume');
    // Of a list that has no more rows, it is all.
    expect((await contacts('--input', 'list.csv', '-o', 'all.csv', '--first', '5')).stderr).not.toContain(
      'not finished',
    );
    expect((await historyOf(env)).records).toMatchObject([
      {},
      { state: 'complete', rows_done: 5, rows_total: 5 },
    ]);

    function shown() {
      return runInProcess('history', { env, stdoutIsTerminal: true, columns: 120 });
    }
  });

  it.each([
    ['by `resume`', ['-o', 'out.xlsx'], ['resume']],
    [
      'by a run of that name, with another output',
      ['--run', 'x'],
      ['contact', 'email', '--input', 'list.csv', '--run', 'x', '-o', 'out.csv'],
    ],
    [
      'where it is added to a file',
      ['-o', 'out.csv', '--append'],
      ['contact', 'email', '--input', 'list.csv', '-o', 'out.csv', '--append'],
    ],
  ])('leaves a list that is finished %s', async (_, place, rest) => {
    write('list.csv', list);
    const isAdded = place.includes('--append');
    expect(await contacts('--input', 'list.csv', ...place, '--first', '2')).toMatchObject({
      code: isAdded ? 3 : 0,
    });
    expect(await leadpipe(rest)).toMatchObject({ code: 0 });
    expect({ paid: paid(), requests: service.requests() }).toEqual({ paid: rows, requests: 5 });
    if (isAdded) expect(onDisk('out.csv')).toHaveLength(6);
  });

  it('says how the rest is bought, where standard input can be read no more', async () => {
    expect(
      (await leadpipe(['contact', 'email', '--input', '-', '--first', '1'], 'Ada\nBo\n')).stderr,
    ).toContain('With -o or --run, the same command without --first would buy only the rest.');
    write('list.txt', 'Ada\nBo\n');
    expect((await contacts('--input', 'list.txt', '--first', '1')).stderr).toMatch(
      /run `leadpipe resume op_\w+`/,
    );
  });

  it('leaves the list unfinished where the first rows have no result', async () => {
    write('list.txt', 'Acme\nBeta\n');
    const args = ['enrich', '--input', 'list.txt', '--field', 'city', '--local', '-o', 'out.jsonl'];
    const { code, stderr } = await leadpipe([...args, '--first', '1']);
    expect({ code, stderr }).toMatchObject({ code: 3, stderr: expect.stringContaining('without --first') });
    expect(stderr).not.toContain('finished');
  });

  it('says nothing of answers behind the first rows: they are of this list', async () => {
    write('list.txt', 'Ada\nBo\nCy\n');
    const line = ['--input', 'list.txt', '-o', 'out.csv'];
    expect((await contacts(...line, '--first', '2')).code).toBe(0);
    const { code, stderr } = await contacts(...line, '--first', '1');
    expect({ code, isTold: stderr.includes('no longer has') }).toEqual({ code: 0, isTold: false });
  });

  it('finds a list that has sent other rows than the first ones', async () => {
    write('list.csv', 'objective\nCy\n');
    await contacts('--input', 'list.csv', '-o', 'out.csv', '--errors', 'e.csv');
    write('list.csv', 'objective\nCy\nDee\n');
    await contacts('--input', 'list.csv', '-o', 'out.csv', '--first', '1');
    write('list.csv', 'objective\nAda\nCy\n');
    await contacts('--input', 'list.csv', '-o', 'out.csv', '--first', '1');
    await contacts('--input', 'list.csv', '-o', 'out.csv');
    expect(paid()).toEqual(['Ada', 'Cy', 'Cy']);
  });
});

describe('the worst case of --dry-run matches what is sent', () => {
  const named = [
    ['', 'Ada', 'Acme'],
    ['b@x', 'Bo', ''],
    ['', 'Cy', 'Corp'],
    ['', 'Cy', 'Corp'],
    ['', '', ''],
    ['', 'Dee', ''],
  ] as const;
  const objects = named.map(([email, name, company]) => ({ id: 7, email, name, company }));
  const csv = ['id,email,name,company', ...named.map((row) => ['7', ...row].join(','))].join('\r\n');

  it.each([
    ['list.csv', csv],
    ['list.json', JSON.stringify(objects, null, 2)],
    ['list.jsonl', objects.map((one) => JSON.stringify(one)).join('\n')],
    [
      'list.xlsx',
      makeWorkbook({
        sheets: [
          { name: 'L', rows: [['id', 'email', 'name', 'company'], ...named.map((row) => ['7', ...row])] },
        ],
      }),
    ],
    ['list.txt', named.map(([, name, company]) => `${name} ${company}`).join('\n')],
  ])('for %s', async (name, content) => {
    write(name, content);
    await leadpipe(['config', 'set', 'price.contact.email', '3']);
    const isText = name.endsWith('.txt');
    const missing = [
      { more: ['--only-missing'], sent: 3 },
      { more: ['--only-missing', '--first', '2'], sent: 2 },
    ];
    const cases = [{ more: [], sent: 4 }, { more: ['--first', '3'], sent: 3 }, ...(isText ? [] : missing)];
    for (const { more, sent } of cases) {
      await serve({});
      const args = ['contact', 'email', '--input', name, ...more];
      const dry = await leadpipe([...args, '--dry-run']);
      expect(dry.stderr, more.join(' ')).toContain(`${sent} rows would be sent`);
      expect(service.requests()).toBe(0);
      expect(await leadpipe([...args, '--max-credits', String(3 * sent - 1)])).toMatchObject(
        ending(5, `can cost ${3 * sent} credits`),
      );
      expect(service.requests()).toBe(0);
      await leadpipe([...args, '--max-credits', String(3 * sent)]);
      expect(service.requests(), more.join(' ')).toBe(sent);
    }
  });
});

describe('an input column with the name of one of our columns, in any case', () => {
  it.each([
    [
      'objective,Email\nAda,x\n',
      ['contact', 'email'],
      'objective,Email,email_2,email_reference_2,email_error_2',
    ],
    [
      'objective,EMAIL_error,email_2\nAda,x,y\n',
      ['contact', 'email'],
      'objective,EMAIL_error,email_2,email_3,email_reference_3,email_error_3',
    ],
    [
      'entity_context,Size\nAda,9\n',
      ['enrich', '--field', 'city', '--field', 'size'],
      'entity_context,Size,city_2,size_2,enrich_error_2',
    ],
    ['objective,mail\nAda,x\n', ['contact', 'email'], 'objective,mail,email,email_reference,email_error'],
  ])('of %j gives all of ours the same number', async (csv, words, header) => {
    write('list.csv', csv);
    await leadpipe([...words, '--input', 'list.csv', '-o', 'out.csv']);
    expect(onDisk('out.csv')[0]).toBe(header);
    const [record] = recordsIn((await leadpipe([...words, '--input', 'list.csv', '-f', 'jsonl'])).stdout);
    const number = /_\d$/.exec(header)?.[0] ?? '';
    expect(Object.keys(record as object).at(-1)).toBe(
      `${words[0] === 'enrich' ? 'enrich' : 'email'}${number}`,
    );
  });
});

it.each([
  [['contact', 'email'], 'objective', ['jsonl', 'json', 'csv'], 'email_error'],
  [['research'], 'query', ['jsonl'], 'research_error'],
  [['enrich', '--field', 'shoe'], 'entity_context', ['jsonl', 'csv'], 'enrich_error'],
  [['extract', 'x_followers'], 'target', ['jsonl', 'csv'], 'extract_error'],
])('a row for which %j finds nothing says so', async (words, field, formats, name) => {
  write('list.csv', `${field}\nNobody\n`);
  await serve({ nothing: true });
  for (const format of formats) {
    const { code, stdout } = await leadpipe([...words, '--input', 'list.csv', '-f', format]);
    expect(code).toBe(0);
    if (format === 'csv') expect(stdout.trimEnd().split('\r\n')[0]?.split(',').at(-1)).toBe(name);
    expect(stdout.trimEnd()).toMatch(
      format === 'csv' ? /not found$/ : new RegExp(`"${name}":\\s?"not found"`),
    );
  }
  await leadpipe([...words, '--input', 'list.csv', '-o', 'out.xlsx']);
  const { stdout } = await contacts('--input', 'out.xlsx', '--template', `{${name}}`, '--dry-run');
  expect(stdout).toContain('not found');
});

it.each(['', 'objective\n'])('an input without rows (%j) leaves a filled output as it is', async (empty) => {
  write('list.csv', 'objective\nAda\n');
  await contacts('--input', 'list.csv', '-o', 'out.csv');
  const before = read('out.csv');
  write('list.csv', empty);
  expect(await contacts('--input', 'list.csv', '-o', 'out.csv')).toMatchObject(
    ending(0, 'out.csv was not changed'),
  );
  expect(read('out.csv')).toBe(before);
});
