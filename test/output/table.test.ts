import Xterm from '@xterm/headless';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { chosenLayout, memberLayout } from '../../src/columns/columns.ts';
import { entityLayout } from '../../src/columns/entity-layout.ts';
import type { Column, Layout } from '../../src/columns/layout.ts';
import { contact as contactKind } from '../../src/operations/kinds/contact.ts';
import { research as researchKind } from '../../src/operations/kinds/research.ts';
import { listTable, memberColumn, plainTable } from '../../src/output/table-columns.ts';
import { cellWidth, cutTo, textWidth, wrapTo, wrapValue } from '../../src/output/text-width.ts';
import { written } from './gathering-sink.ts';

interface Shown {
  layout?: Layout;
  width?: number;
  shape?: 'list' | 'single';
  mustBeTable?: boolean;
}

async function shown(
  records: unknown[],
  { layout = entityLayout(), width = 80, shape = 'list', mustBeTable = false }: Shown = {},
) {
  const batch = records.map((record) => JSON.stringify(record));
  return (await written('table', { layout, shape, width, mustBeTable }, batch)).text;
}

const entities = [
  {
    name: 'Solaris Ledger GmbH',
    links: {
      linkedin_url: 'https://www.linkedin.com/company/solaris',
      website: 'https://www.solaris.example/',
    },
    description: 'Seed-stage fintech in Berlin that\nreconciles ledgers of mid-market banks.',
    score: { score: '0.93', reason: 'seed stage' },
  },
  {
    name: '株式会社ペイメントクラウド東京',
    links: { blog: 'http://pay.example/ja' },
    description: '東京を拠点とする決済インフラのスタートアップ。',
    score: 8.25,
  },
  { name: '👩‍👩‍👧‍👦 Family Pay 🇩🇪', links: {}, description: 'red \u001b[31m and \u202e rtl' },
];

describe('a table', () => {
  it('at 100 columns has up to two lines for each', async () => {
    expect(await shown(entities, { width: 100 })).toBe(
      [
        'name                   score  link                         description',
        '─────────────────────  ─────  ───────────────────────────  ─────────────────────────────────────────',
        'Solaris Ledger GmbH     0.93  solaris.example              Seed-stage fintech in Berlin that',
        '                                                           reconciles ledgers of mid-market banks.',
        '株式会社ペイメントク    8.25  pay.example/ja               東京を拠点とする決済インフラのスタートア',
        'ラウド東京                                                 ップ。',
        '👩‍👩‍👧‍👦 Family Pay 🇩🇪                                           red [31m and rtl',
        '',
      ].join('\n'),
    );
  });

  it.each([100, 120, 200])('of leads is the same for 3 as for 300, in %i columns', async (width) => {
    const some = entities.slice(0, 1);
    const many = Array.from({ length: 300 }, (_, at) => ({
      ...entities[at % 3],
      description: 'x '.repeat(at),
    }));
    const [few = '', lots = ''] = await Promise.all([shown(some, { width }), shown(many, { width })]);
    expect(lots.slice(0, lots.indexOf('Solaris'))).toBe(few.slice(0, few.indexOf('Solaris')));
  });

  it('has the LinkedIn page of a person before the website of the company', async () => {
    const links = { website: 'https://acme.example', linkedin_url: 'https://www.linkedin.example/in/ada' };
    const of = async (width: number) => (await shown([{ name: 'Ada', links }], { width })).split('\n');
    expect((await of(120))[2]).toMatch(/^Ada +linkedin\.example\/in\/ada$/);
    expect(await of(60)).toEqual(['Ada', 'link: linkedin.example/in/ada', 'link: acme.example', '']);
  });

  it.each([
    [{ website: ['https://acme.example'] }],
    [['https://acme.example']],
    [{ social: { x: 'https://acme.example' } }],
    [[{ type: 'website', url: 'https://acme.example' }]],
  ])('has the link in %j', async (links) => {
    const of = async (width: number) => (await shown([{ name: 'Ada', links }], { width })).split('\n');
    expect((await of(120))[2]).toMatch(/^Ada +acme\.example$/);
    expect(await of(60)).toEqual(['Ada', 'link: acme.example', '']);
  });

  it('never breaks a word, and cuts between two', async () => {
    const description = `Reconciliation ${'internationalisation '.repeat(9)}`;
    const record = { name: `Donau${'dampf'.repeat(9)} GmbH`, description };
    const rows = (await shown([record], { width: 104 })).split('\n').slice(2, 4);
    expect(rows[0]).toMatch(/^Donaudampf\S*… +Reconciliation internationalisation$/);
    expect(rows[1]?.trim()).toBe('internationalisation internationalisation…');
  });

  it('is as narrow as its content, also in a narrow terminal', async () => {
    const table = ['list', 'leads', 'runs'].map((name) => memberColumn(name, { min: 4, max: 40 }));
    const layout = { ...memberLayout(['list', 'leads', 'runs']), table: () => table };
    for (const width of [40, 200]) {
      expect(await shown([{ list: 'company', leads: 12, runs: 3 }], { layout, width })).toBe(
        'list     leads  runs\n───────  ─────  ────\ncompany     12     3\n',
      );
    }
  });

  it('on cards an address is whole, for the terminal to wrap', async () => {
    const path = 'a-long-way-'.repeat(8);
    const links = {
      website: `https://solaris.example/${path}`,
      blog: 'https://blog.example',
      x: 'https://x.example',
    };
    expect((await shown([{ name: 'Solaris', links }], { width: 60 })).split('\n')).toEqual([
      'Solaris',
      'link:',
      `solaris.example/${path}`,
      'link: blog.example',
      'link: x.example',
      '',
    ]);
  });

  it('gives width to cells of the first rows before later rows, and the rest to running text', async () => {
    const [first = ''] = (
      await shown([{ id: '1', bio: 'x', url: 'https://github.example/mayapemberton' }], {
        layout: memberLayout(['id', 'bio', 'url']),
        width: 70,
      })
    )
      .split('\n')
      .slice(2);
    expect(first).toMatch(/github\.example\/mayapemberton$/);
    const leads = [1, 2, 3, 4, 5].map((n) => ({
      name: `Spreewerft ${n}`,
      links: { website: 'https://spreewerft-finance.example' },
      description: 'long '.repeat(50),
    }));
    expect((await shown(leads, { width: 120 })).split('\n')[2]).toMatch(
      /^Spreewerft 1 +spreewerft-finance\.example +long .*long$/,
    );
  });

  it('has its header once, and the same widths to the end', async () => {
    const options = { layout: entityLayout(), shape: 'list', width: 120 } as const;
    const batches = ['a', 'a name that is longer than all'].map((name) => [
      JSON.stringify({ name, description: 'd' }),
    ]);
    const [one, other] = (await written('table', options, ...batches)).writes;
    expect([one, other].map((text) => text?.split('\n').length)).toEqual([4, 3]);
    expect(other?.indexOf('d')).toBe(one?.indexOf('description'));
  });

  it('without records is empty', async () => expect(await shown([])).toBe(''));

  it('shows enrich fields before the description, and uses cards if they do not fit', async () => {
    const fields = ['headcount', 'stage', 'city', 'country', 'ceo'];
    const record = {
      ...entities[0],
      enrich_fields: Object.fromEntries(fields.map((field) => [field, { content: `${field}!` }])),
    };
    const at = (width: number, count: number) =>
      shown([record], { layout: entityLayout(fields.slice(0, count)), width });
    expect((await at(120, 2)).split('\n')[0]).toMatch(/^name +score +link +headcount +stage +description$/);
    expect((await at(90, 3)).split('\n')[0]).toMatch(/^name +score +link +headcount +stage +city$/);
    expect(await at(80, 5)).toContain('\nceo: ceo!\n');
    // A long field has its room before the description, and a number leaves it to others.
    const long = 'Point Nine, Cherry, a syndicate of forty angels from seven countries';
    const investors = {
      ...entities[0],
      enrich_fields: { staff: { content: 21 }, investors: { content: long } },
    };
    const layout = entityLayout(['staff', 'investors']);
    const wide = (await shown([investors], { layout, width: 100 })).split('\n');
    expect(wide[0]).toMatch(/ staff {2}investors$/);
    expect(wide.slice(2).join(' ').replace(/\s+/g, ' ')).toMatch(/ angels .*from seven countries/);
    expect(wide[1]?.split('  ')[3]).toHaveLength(12);
  });

  it('is better than cards in 60 columns where its long texts have as many lines as they need', async () => {
    const check = memberColumn('check', { min: 16, max: 16, role: 'title' });
    const result = memberColumn('result', { min: 7, max: 7, role: 'detail' });
    const found = {
      ...memberColumn('found', { min: 20, max: Number.POSITIVE_INFINITY, role: 'body' }),
      lines: 20,
    };
    const layout = { ...memberLayout(['check']), table: () => [check, result, found] };
    const record = { check: 'settings', result: 'ok', found: 'word '.repeat(40) };
    const at = async (width: number) => (await shown([record], { layout, width })).split('\n');
    expect((await at(60))[0]).toMatch(/^check +result +found$/);
    expect((await at(60)).join('').split('word')).toHaveLength(41);
    expect((await at(50))[0]).toBe('settings  ok');
  });

  it('keeps IDs whole beside a long text', async () => {
    const rows = [1, 2, 3, 4, 5].map((id) => ({ login: `user${id}`, id, bio: 'long '.repeat(50) }));
    const text = await shown(
      rows.map((row) => ({ ...row, id: `123456789012345678${row.id}` })),
      { layout: memberLayout(['login', 'id', 'bio']) },
    );
    expect(text).toMatch(/user1 +1234567890123456781 {2}long long/);
  });

  it('has room for handles first, then for numbers and addresses, and last for headers and IDs', async () => {
    const items = [1, 2, 3, 4, 5, 6].map((at) => ({
      id: `107244886092643060${at}`,
      username: 'the_honest_offside_weekly',
      name: 'The Honest Offside Weekly',
      url: `https://x.example/honestoffsi${at}`,
      followers_count: 120_000 + at,
    }));
    const names = Object.keys(items[0] as object);
    const [header, , first] = (await shown(items, { layout: memberLayout(names), width: 80 })).split('\n');
    expect(first).toMatch(
      /^the_honest_offside_weekly +The Honest Offside +x\.example\/honestoffsi1 +120001$/,
    );
    expect(header).toMatch(/^username +name +url +follo…$/);
    const wide = (await shown(items, { layout: memberLayout(names), width: 140 })).split('\n');
    expect(wide[0]).toMatch(/^ *id .* followers_count$/);
  });

  it('leaves a text that is JSON as it is', async () => {
    const links = '{"website":"https://www.a.example"}';
    expect(await shown([{ name: 'A', links }], { layout: memberLayout(['name', 'links']) })).toContain(links);
  });

  it('of a list has the answer after the name, and other columns if they fit', async () => {
    const own = memberLayout(['id', 'name', 'note', 'links']).columns;
    const [email, error] = memberLayout(['email', 'email_error']).columns as [Column, Column];
    const bought = [email, { ...error, inTable: 'spare' as const }];
    const layout = {
      columns: [...own, ...bought],

      table: () => listTable(plainTable(own), bought),
    };
    const record = {
      id: '7',
      name: 'Ada Lovelace',
      note: 'n'.repeat(40),
      links: '{"website":"https://www.ada.example"}',
      email: 'ada.lovelace.of.london@analytical-engines.example',
    };
    const at = async (width: number) => (await shown([record], { layout, width })).split('\n');
    expect((await at(80))[0]).toMatch(/^name +email +id$/);
    expect((await at(95))[0]).toMatch(/^name +email +id +note/);
    expect((await at(200))[0]).toMatch(/^name +email +email\S+ +id +note$/);
    for (const width of [80, 95, 200]) expect((await at(width))[2]).toContain(` ${record.email}`);
    // A cell of JSON says nothing, but a card has room for it.
    expect(await at(60)).toContain('links: {"website":"https://www.ada.example"}');
    expect((await at(60)).slice(0, 3)).toEqual(['Ada Lovelace', `email: ${record.email}`, 'id: 7']);
  });

  it('of a list gives an optional column the width it was kept for, beside a long text', async () => {
    const own = memberLayout(['name', 'website']).columns;
    const bought = memberLayout(['research']).columns;
    const layout = { columns: [...own, ...bought], table: () => listTable(plainTable(own), bought) };
    const record = {
      name: 'Ada',
      website: 'https://www.analytical-engines.example',
      research: 'word '.repeat(99),
    };
    const [header = '', rule = ''] = (await shown([record], { layout, width: 80 })).split('\n');
    expect(header).toMatch(/^name +research +website$/);
    expect(rule.split('  ').at(-1)).toHaveLength(13);
  });

  const scores = ['medium', 'very high', '85 %', '7.5 / 10', 'likely', '–', '0.93'];
  const widths = [70, 80, 100, 200];
  it.each(widths)('cuts no score, in whatever words, in %i columns', async (width) => {
    const leads = scores.map((score) => ({
      ...entities[0],
      name: `A ${'name '.repeat(9)}`,
      score: { score },
    }));
    const lines = (await shown(leads, { width })).split('\n').slice(2);
    for (const score of scores) expect(lines.filter((line) => line.includes(` ${score} `))).toHaveLength(1);
    // One that comes later may be longer.
    const batches = [{ score: 1 }, { score: 'exceptional' }].map((one) => [JSON.stringify(one)]);
    const { text } = await written('table', { layout: entityLayout(), shape: 'list', width }, ...batches);
    expect(text.replace(/\s+/g, '')).toContain('exceptional');
  });

  it.each(widths)('cuts no email address and no phone number, in %i columns', async (width) => {
    const items = [1, 2, 3].map((at) => ({
      bio: 'Rockets, mostly. '.repeat(9),
      email: `mechthild.von.zu.${at}@mail.example`,
      phone: `+49 (0)30 1234-5${at}`,
      site: `https://a.example/${'way/'.repeat(20)}`,
    }));
    const layout = memberLayout(Object.keys(items[0] as object));
    const extracted = await shown(items, { layout, width });
    for (const { email, phone } of items) {
      expect(extracted).toContain(email);
      expect(extracted).toContain(phone);
    }
    // The rows of a list come one by one, and the first may have nothing.
    const join = contactKind.rows({ contact_type: 'email' }).join('email', new Set());
    const own = memberLayout(['name', 'notes']).columns;
    const table = () => listTable(plainTable(own), join.columns);
    const rows = [null, items[0]?.email, `${'long.'.repeat(14)}name@mail.example`].map((content) => [
      JSON.stringify({
        name: 'Ada',
        notes: 'note '.repeat(20),
        email: { content, reference: content && items[0]?.site },
      }),
    ]);
    const options = { layout: { columns: join.columns, table }, shape: 'list', width } as const;
    const { text } = await written('table', options, ...rows);
    expect(text).toContain(` ${items[0]?.email}`);
    expect(text.split('long.')).toHaveLength(15);
  });

  it('cuts a link that was bought after everything else', async () => {
    const join = contactKind.rows({ contact_type: 'phone' }).join('phone', new Set());
    const table = () => listTable(plainTable(memberLayout(['name', 'notes']).columns), join.columns);
    const reference = 'https://www.oxbowe-family-dentistry.example/team';
    const rows = [{ content: null }, { content: '+49 30 1', reference }].map((phone) => [
      JSON.stringify({ name: 'Ada', notes: 'note '.repeat(20), phone }),
    ]);
    const options = { layout: { columns: join.columns, table }, shape: 'list', width: 80 } as const;
    const { text } = await written('table', options, ...rows);
    const [header = '', , ...lines] = text.split('\n');
    const at = header.indexOf('phone_reference');
    const shownLink = lines.map((line) => line.slice(at, at + 15).trim()).join('');
    expect(shownLink).toBe('oxbowe-family-dentistry.example/team');
  });

  it.each([20, 40, 69])('is a table in %i columns where one was asked for', async (width) => {
    const [header = '', rule] = (await shown(entities, { width, mustBeTable: true })).split('\n');
    expect(header).toMatch(/^name +score/);
    expect(rule).toMatch(/^─+ {2}─+/);
    expect((await shown(entities, { width })).split('\n')[0]).not.toBe(header);
    const many = memberLayout(Array.from({ length: 1000 }, (_, at) => `c${at}`));
    expect(await shown([{ c0: 'x' }], { layout: many, width, mustBeTable: true })).toMatch(/^c0/);
  });

  it('takes its widths from the first rows, and no more than that', async () => {
    let asked = 0;
    const column = { header: 'a', from: () => `"${'x'.repeat(asked++ < 150 ? 1 : 9)}"` };
    const other = { header: 'b', from: () => '"y"' };
    const layout = { columns: [column, other] };
    const rows = Array.from({ length: 1000 }, () => ({}));
    const lines = (await shown(rows, { layout })).split('\n');
    expect(asked).toBe(1200);
    expect(new Set(lines.slice(2, -1).map((line) => line.indexOf('y'))).size).toBe(1);
  });

  it('of more columns than fit asks each record for each of them once', async () => {
    let asked = 0;
    const columns = Array.from({ length: 1000 }, (_, at) => ({
      header: `c${at}`,
      from: () => (asked++ % 1000 === 7 ? '"only"' : undefined),
    }));
    const text = await shown([{}, {}, {}], { layout: { columns } });
    expect(text).toBe(Array(3).fill('c7: only\n').join('\n'));
    expect(asked).toBe(3000);
  });

  it('has no more lines on a card for a link that pretends to be many', async () => {
    const links = { website: `https://x.example${' · e\u0301'.repeat(1000)}` };
    const text = await shown([{ name: 'n', links }], { width: 60 });
    expect(text.split('\n').length).toBeLessThan(6);
  });

  it('takes a megabyte in a cell as lightly as a line', async () => {
    const text = await shown([{ name: '漢'.repeat(1_000_000), description: 'e\u0301'.repeat(1_000_000) }]);
    expect(text.split('\n').every((line) => cellWidth(line) <= 80)).toBe(true);
  });
});

describe('a single answer', () => {
  it('is cut after the maximum number of lines, and says so', async () => {
    const layout = memberLayout(['text', 'lines', 'list', 'unseen', 'number']);
    const answer = {
      text: 'e\u0301 漢 word '.repeat(200_000),
      lines: 'x\n'.repeat(600_000),
      list: Array.from({ length: 100_000 }, () => 'x'),
      unseen: '\u200b'.repeat(1_200_000),
    };
    const text = await shown([answer], { layout, shape: 'single' });
    const lines = text.split('\n');
    expect(lines).toHaveLength(3 * 501 + 3);
    for (const end of [500, 1001, 1502]) expect(lines[end]).toBe('        …');
    expect(lines.slice(1503)).toEqual(['unseen  …', 'number  –', '']);
    for (const line of lines) expect(cellWidth(line)).toBeLessThanOrEqual(80);
  });

  it('keeps its paragraphs, and its citations apart', async () => {
    const answer = {
      answer: { Result: 'One.\n\nTwo 東京.', Citations: ['https://a.example', { title: 'B' }] },
    };
    const layout = chosenLayout(['answer.Result', 'answer.Citations']);
    expect(await shown([answer], { layout, shape: 'single' })).toBe(
      [
        'answer.Result     One.',
        '',
        '                  Two 東京.',
        'answer.Citations  https://a.example',
        '                  title: B',
        '',
      ].join('\n'),
    );
  });
});

describe('no line is wider than the terminal', () => {
  const obeyed = /[\0-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]/;
  const piece = fc.oneof(
    fc.string({ unit: 'binary', maxLength: 8 }),
    fc.string({ unit: 'grapheme', maxLength: 30 }),
    fc.string({ unit: 'grapheme-ascii', maxLength: 60 }),
    fc.constantFrom(
      ...[
        '漢字',
        '👩‍👩‍👧‍👦',
        '🇩🇪',
        'e\u0301\u0301',
        '\u0600',
        'ｱﾞ',
        '각',
        'ᄀ',
        'नि',
        '1️⃣',
        '\ufe0f',
        '‼',
        '©',
      ],
      ...['\u001b[2K', '\u202e', '\t', '\n', ' '],
    ),
  );
  const addresses = [`https://a.example/${'way/'.repeat(30)}end`, `${'ada.'.repeat(30)}l@mail.example`];
  const text = fc.oneof(
    { weight: 6, arbitrary: fc.array(piece, { maxLength: 12 }).map((pieces) => pieces.join('')) },
    { weight: 1, arbitrary: fc.constantFrom(...addresses) },
  );
  const record = fc.record({
    name: text,
    score: fc.oneof(fc.double(), fc.record({ score: text, reason: text })),
    links: fc.dictionary(text, text, { maxKeys: 3 }),
    description: text,
    enrich_fields: fc.record({ a: fc.record({ content: text }), 漢: fc.record({ content: text }) }),
  });
  const layouts = [
    entityLayout(),
    entityLayout(['a', '漢']),
    chosenLayout(['name', 'links', 'enrich_fields.漢.content']),
  ];

  it('of rows, cards and sheets', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(1, 20, 69, 70, 100, 200),
        fc.array(record, { minLength: 1, maxLength: 6 }),
        fc.constantFrom(...layouts),
        fc.constantFrom<'list' | 'single'>('list', 'single'),
        fc.boolean(),
        async (width, records, layout, shape, mustFit) => {
          if (shape === 'single' && width < 20) return;
          const mustBeTable = mustFit && width > 1;
          for (const line of (await shown(records, { layout, width, shape, mustBeTable })).split('\n')) {
            // Only a single address is left for the terminal to wrap.
            if (!addresses.some((one) => line === one || line === one.replace(/^https:\/\//, ''))) {
              expect(cellWidth(line), JSON.stringify(line)).toBeLessThanOrEqual(width);
            }
            expect(line).not.toMatch(obeyed);
          }
        },
      ),
      { numRuns: 150 },
    );
  });

  it('of prose', async () => {
    const research = fc.record({ Result: text, Citations: fc.array(fc.oneof(text, fc.object())) });
    await fc.assert(
      fc.asyncProperty(research, fc.constantFrom(2, 20, 80, 200), async (answer, width) => {
        const text = (
          await shown([{ answer }], { layout: researchKind.layout(), width, shape: 'single' })
        ).trimEnd();
        expect(text.replaceAll('\n', '')).not.toMatch(obeyed);
        // An answer in another form is JSON.
        if (answer.Result.trim() === '') return;
        for (const line of text.split('\n')) {
          if (!addresses.includes(line)) expect(cellWidth(line), line).toBeLessThanOrEqual(width);
        }
      }),
      { numRuns: 200 },
    );
  });

  it('a label of a megabyte is measured as far as it can be shown', () => {
    const lines = [...wrapValue(`${'e\u0301'.repeat(1_000_000)}: `, 'x', 80, 2, false)];
    expect(lines.map((line) => cellWidth(line))).toEqual([80, 80]);
  });

  it('cut and wrapped text has the width that was asked for', () => {
    fc.assert(
      fc.property(
        text,
        fc.integer({ min: 2, max: 40 }),
        fc.integer({ min: 1, max: 4 }),
        (any, width, lines) => {
          expect(textWidth(any)).toBe(cellWidth(any));
          expect(textWidth(cutTo(any, width))).toBeLessThanOrEqual(width);
          const wrapped = [...wrapTo(any, width, lines)];
          expect(wrapped.length).toBeLessThanOrEqual(lines);
          for (const line of wrapped) expect(textWidth(line)).toBeLessThanOrEqual(width);
        },
      ),
      { numRuns: 500 },
    );
  });

  it('every character has the same width beside others', () => {
    const wrong: string[] = [];
    for (let code = 0x20; code < 0xffff; code++) {
      const text = `x${String.fromCharCode(code, code)}漢`;
      if (textWidth(text) !== cellWidth(text)) wrong.push(code.toString(16));
    }
    expect(wrong).toEqual([]);
  });

  /** Measured: tmux 3.3a, the headless build of xterm.js 6, wcwidth's tables (for Python: 0.7.0; from Gujarati to Burmese 0.9.1). */
  it.each<[text: string, tmux: number, xterm: number, wcwidth: number, ours: number]>([
    ['नि', 2, 2, 2, 2],
    ['क्षि', 3, 3, 2, 3],
    ['हिन्दी', 5, 5, 4, 5],
    ['नमस्ते', 4, 4, 4, 4],
    ['विज्ञान', 6, 6, 5, 6],
    ['বাংলা', 5, 5, 4, 5],
    ['ক্ষ', 2, 2, 2, 2],
    ['தமிழ்', 4, 4, 4, 4],
    ['తెలుగు', 5, 5, 5, 5],
    ['ತಂತ್ರಜ್ಞಾನ', 8, 8, 7, 8],
    ['മലയാളം', 6, 6, 6, 6],
    ['ភាសាខ្មែរ', 8, 8, 8, 8],
    ['ક્ષ', 2, 2, 2, 2],
    ['କ୍ଷ', 2, 2, 2, 2],
    ['క్ష', 2, 2, 2, 2],
    ['ക്ഷ', 2, 2, 2, 2],
    ['မန္တလေး', 6, 6, 5, 6],
    ['ภาษาไทย', 7, 7, 7, 7],
    ['한국어', 6, 6, 6, 6],
    ['👩‍👩‍👧‍👦', 2, 4, 2, 2],
    ['👨‍💻', 2, 2, 2, 2],
    ['🏳️‍🌈', 1, 2, 2, 2],
    ['👍🏽', 4, 2, 2, 2],
    ['🇩🇪', 2, 2, 2, 2],
    // No two agree, or what would be too narrow: a row that is a column short does no harm, and one that is too long breaks.
    ['👩🏽‍🚀', 4, 3, 2, 2],
    ['❤️', 1, 1, 2, 2],
    ['1️⃣', 1, 1, 2, 2],
  ])('%s is as wide as most terminals draw it', async (text, _tmux, xterm, _wcwidth, ours) => {
    expect(textWidth(text)).toBe(ours);
    const terminal = new Xterm.Terminal({ cols: 80, rows: 2, allowProposedApi: true });
    await new Promise<void>((resolve) => terminal.write(text, resolve));
    expect(terminal.buffer.active.cursorX).toBe(xterm);
    // The table pads it by the same width.
    const [, , row = ''] = (
      await shown([{ name: text, score: 'x' }, { name: 'y'.repeat(9) }], {
        layout: memberLayout(['name', 'score']),
      })
    ).split('\n');
    expect(row).toBe(`${text}${' '.repeat(9 - ours)}  x`);
  });

  it.each([
    ['abcdef', 6, 'abcdef'],
    ['abcdefg', 6, 'abcde…'],
    ['漢字漢字', 6, '漢字…'],
    ['漢字漢', 6, '漢字漢'],
    ['👩‍👩‍👧‍👦👩‍👩‍👧‍👦', 3, '👩‍👩‍👧‍👦…'],
    ['a word', 3, 'a…'],
    ['x', 0, ''],
  ])('%s in %i columns is %s', (any, width, cut) => expect(cutTo(any, width)).toBe(cut));
});
