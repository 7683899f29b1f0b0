import { describe, expect, it } from 'vitest';
import {
  balanceLayout,
  chosenLayout,
  memberLayout,
  taskStatusLayout,
  toFlatObject,
} from '../../src/columns/columns.ts';
import { entityLayout } from '../../src/columns/entity-layout.ts';
import type { Layout } from '../../src/columns/layout.ts';
import { JsonView } from '../../src/json/text.ts';
import { contact } from '../../src/operations/kinds/contact.ts';
import { research } from '../../src/operations/kinds/research.ts';
import { shownColumns } from '../../src/output/table-columns.ts';

const headers = (layout: Layout) => layout.columns.map(({ header }) => header);
const values = (layout: Layout, record: string) => {
  const view = new JsonView(record);
  return Object.fromEntries(layout.columns.map((column) => [column.header, view.find(column.from)]));
};
const base = ['name', 'description', 'score', 'score_reason', 'website', 'linkedin_url', 'links'];

describe('entities', () => {
  it.each<[string, string[], string[]]>([
    ['none requested', [], []],
    ['in their order', ['b', 'a'], ['b', 'b_reference', 'a', 'a_reference']],
    ['named as a column', ['name'], ['enrich_fields.name', 'name_reference']],
    [
      'as a reference',
      ['a', 'a_reference'],
      ['a', 'a_reference', 'enrich_fields.a_reference', 'a_reference_reference'],
    ],
    ['twice', ['a', 'a'], ['a', 'a_reference']],
    ['score_reason', ['score_reason'], ['enrich_fields.score_reason', 'score_reason_reference']],
  ])('enrich fields %s', (_name, fields, added) =>
    expect(headers(entityLayout(fields))).toEqual([...base, ...added]),
  );

  it('split a record into columns', () => {
    const record = `{"name":"A","description":null,"score":{"score":"0.90","reason":"r"},
      "links":{"website":"https://a","linkedin_url":"https://l","id":12345678901234567890},
      "enrich_fields":{"f":{"content":"c","reference":"u"},"g":1.10,"h":{"other":1},"i":{"reference":"only"}}}`;
    expect(values(entityLayout(['f', 'g', 'h', 'i', 'j']), record)).toEqual({
      name: '"A"',
      description: 'null',
      score: '"0.90"',
      score_reason: '"r"',
      website: '"https://a"',
      linkedin_url: '"https://l"',
      links: '{"website":"https://a","linkedin_url":"https://l","id":12345678901234567890}',
      f: '"c"',
      f_reference: '"u"',
      g: '1.10',
      g_reference: undefined,
      h: '{"other":1}',
      h_reference: undefined,
      i: undefined,
      i_reference: '"only"',
      j: undefined,
      j_reference: undefined,
    });
  });

  it.each([
    ['8.50', '8.50'],
    ['"high"', '"high"'],
    ['{"value":3}', '{"value":3}'],
    ['{"score":null}', 'null'],
  ])('a score of the form %s is %s', (score, shown) => {
    expect(values(entityLayout(), `{"score":${score}}`).score).toBe(shown);
  });

  it.each(['{}', '[]', '"text"', '1', 'null', '{"links":"x","score":[],"enrich_fields":[1]}'])(
    'of another form are tolerated: %s',
    (record) => expect(() => values(entityLayout(['f']), record)).not.toThrow(),
  );
});

describe('chosen columns', () => {
  it('are dot paths, each once', () => {
    const layout = chosenLayout(['links.website', 'name', 'name', 'a.0']);
    expect(headers(layout)).toEqual(['links.website', 'name', 'a.0']);
    expect(toFlatObject(layout.columns, '{"name":1.10,"a":[2]}')).toBe(
      '{"links.website":null,"name":1.10,"a.0":2}',
    );
  });

  it.each([
    ['a header with its name', 'Company=name', { Company: '"A"' }],
    ['spaces around them', 'Die Website = links.website', { 'Die Website': '"https://a"' }],
    ['a column over a member of the same name', 'score', { score: '"0.94"' }],
    ['a member that no column has', 'x=score.more', { x: '1' }],
    ['what a screen shows', 'link', { link: '"https://a"' }],
    ['a column with = in its name', 'a=b', { 'a=b': '1' }],
    ['such a column under another', 'Sum=a=b', { Sum: '1' }],
  ])('are %s', (_, given, expected) => {
    const layout = entityLayout(['a=b']);
    const record =
      '{"name":"A","score":{"score":"0.94","more":1},"links":{"website":"https://a"},"enrich_fields":{"a=b":1}}';
    expect(values(chosenLayout([given], layout, shownColumns(layout)), record)).toEqual(expected);
  });
});

describe('answers', () => {
  it('contact', () => {
    const record =
      '{"object":"contact_search_result","request":{"contact_type":"email","objective":"o"},"result":{"content":null,"reference":"r"},"created_at":"t"}';
    expect(values(contact.layout(), record)).toEqual({
      contact_type: '"email"',
      objective: '"o"',
      content: 'null',
      reference: '"r"',
      created_at: '"t"',
    });
  });

  it.each([
    ['{"Result":"r","Citations":["c"]}', '"r"', '["c"]'],
    ['{"Result":"r"}', '"r"', undefined],
    ['"just text"', '"just text"', undefined],
    ['{"answer":"No result"}', '{"answer":"No result"}', undefined],
    ['[1]', '[1]', undefined],
  ])('research %s', (answer, result, citations) => {
    expect(values(research.layout(), `{"success":true,"answer":${answer}}`)).toEqual({ result, citations });
  });

  it('others', () => {
    const status = ['leads_search_id', 'status', 'ready_count', 'verified_count', 'stop_reason'];
    expect(headers(taskStatusLayout)).toEqual(status);
    expect(headers(balanceLayout)).toEqual(['available_credits', 'updated_at', 'next_credit_refresh_at']);
    const dotted = '{"answer":{"a.b":12345678901234567890,"a":{"b":2}}}';
    expect(values(memberLayout(['a.b'], 'answer'), dotted)).toEqual({ 'a.b': '12345678901234567890' });
  });
});
