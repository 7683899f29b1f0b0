import { describe, expect, it } from 'vitest';
import { openFileRecords } from '../../src/files/file-records.ts';
import { isKnownColumn } from '../../src/requests/column-meanings.ts';

/** How many records of which format, or why there are none. */
async function read(text: string, extension = ''): Promise<string> {
  async function* bytes() {
    yield text;
  }
  const reading = {
    extension,
    field: 'objective',
    wanted: ['objective'],
    isKnown: isKnownColumn,
    what: 'list',
  };
  try {
    const { format, rows } = await openFileRecords(bytes(), reading);
    let count = 0;
    for await (const { flaw } of rows) count += flaw === undefined ? 1 : 1000;
    return `${format} ${count}`;
  } catch (error) {
    return (error as Error).message.replace('list is not a list: it looks like ', '');
  }
}

const wrapped = `Dear all, we met many companies last week in Berlin and
wrote down what they do. Acme builds rockets for small satellites,
and it is looking for money. Beta sells software to hospitals
in Italy and Spain, but its founders want to leave. Nothing else
was of interest to us, so we went home after the second day.
`;
const paragraphs = `Acme builds rockets. It is from Rome. It has ten people.

Beta sells software. Its founders left. Nobody knows why.

Ce is new. It makes bread. People like it.
`;
const html = '<table>\n<tr><td>Name</td></tr>\n<tr><td>Acme</td></tr>\n</table>\n';

const sylk = 'ID;PWXL;N;E\nP;PGeneral\nC;Y1;X1;K"objective"\nC;X2;K"city"\nC;Y2;X1;K"Ada"\nE\n';
const dif =
  'TABLE\n0,1\n"EXCEL"\nVECTORS\n0,2\n""\nTUPLES\n0,2\n""\nDATA\n0,0\n""\n-1,0\nBOT\n1,0\n"Ada"\n-1,0\nEOD\n';
const fixed =
  'name           company        city\nAda Example    Acme           Rome\nBo             Beta Ltd       Bonn\n';

describe('tables of other programs are refused by their names', () => {
  it.each([
    ['a SYLK file (.slk)', sylk, '.slk'],
    ['a SYLK file (.slk)', sylk.replaceAll('\n', '\r\n'), '.csv'],
    ['a DIF file (.dif)', dif, ''],
    ['text in fixed-width columns (.prn)', fixed, ''],
    ['text in fixed-width columns (.prn)', fixed, '.txt'],
    ['text in fixed-width columns (.prn)', 'Nordlicht    Kiel\nSüdlicht     Graz\n', '.prn'],
  ])('%s: %j', async (kind, text, extension) => {
    expect(await read(text, extension)).toBe(`list is ${kind}`);
  });

  it.each([
    ['CSV with the names of SYLK', 'ID;P\nC;1\nD;2\n', '.csv', 'csv 2'],
    ['CSV with the word of DIF', 'TABLE,objective\n0,1\n1,2\n', '.csv', 'csv 2'],
    ['plain lines with wide gaps', 'Ada  Example\nBo  Beta\n', '', 'text 2'],
    ['a table in a file of that extension', 'name\tcity\nAda\tRome\n', '.prn', 'csv 1'],
  ])('and not %s', async (_, text, extension, expected) => {
    expect(await read(text, extension)).toBe(expected);
  });
});

describe('what is no list is refused', () => {
  it.each([
    ['an HTML page', `<!DOCTYPE html>\n<html>${html}</html>`, ''],
    ['an HTML page', `\ufeff<html xmlns:o="urn:schemas-microsoft-com:office:office">\n${html}`, '.xls'],
    ['an HTML page', `<?xml version="1.0"?>\n<!-- x -->\n<html>${html}</html>`, ''],
    ['an HTML page', html, '.csv'],
    ['XML', '<?xml version="1.0"?>\n<leads>\n<lead name="Acme"/>\n</leads>\n', ''],
    ['XML', '<?xml version="1.0"?>\n<a>\n<title>Acme</title>\n</a>\n', ''],
    ['a table made for a terminal', 'name   score\n─────  ─────\nAcme    0.99\n', ''],
    ['a table made for a terminal', 'name   score\r\n─────  ─────\r\nAcme    0.99\r\n', '.txt'],
    ['XML', '<leads>\n  <lead>Acme</lead>\n</leads>\n', ''],
    ['contacts (vCard)', 'BEGIN:VCARD\r\nVERSION:3.0\r\nFN:Ada\r\nEND:VCARD\r\n', ''],
    ['a calendar (iCalendar)', 'BEGIN:VCALENDAR\r\nEND:VCALENDAR\r\n', ''],
    ['a document (RTF)', '{\\rtf1\\ansi\n{\\fonttbl}\nAcme\\par\n}', ''],
    ['YAML', '---\n- name: Acme\n  city: Rome\n', ''],
    ['YAML', '# leads\n- name: Acme\n  city: Rome\n- name: Beta\n', ''],
    ['YAML', 'leads:\n  - Acme\n  - Beta\n', ''],
    ['YAML', 'name: Acme\ncity: Rome\n', '.yaml'],
    ['Markdown', '# Leads\n\n- Acme\n- Beta\n', ''],
    ['Markdown', '# Leads\n\n| Name | City |\n|------|------|\n| Acme | Rome |\n', ''],
    ['Markdown', 'Our leads:\n\n| Name | City |\n|------|------|\n| Acme | Rome |\n', ''],
    ['Markdown', '## A\n\nText with **much** of it.\n\n## B\n', ''],
    ['Markdown', 'Acme\nBeta\n', '.md'],
    ['Markdown', '## November\n\nWe met Acme at the fair.\n\n- call Bo\n', ''],
    ['Markdown', '## November\n\nWe met Acme.\n', '.txt'],
    ['Markdown', 'Notes of the fair\n\n## November\n\nAcme, Rome\n', ''],
    ['Markdown', '# my leads\n\nWe met **Acme**.\n', ''],
    ['one text of sentences', wrapped, '.txt'],
    ['one text of sentences', paragraphs, ''],
    ['one text of sentences', wrapped.split('\n').slice(0, 3).join('\n'), ''],
    ['one text of sentences', paragraphs.split('\n').slice(0, 3).join('\n'), ''],
    [
      'one text of sentences',
      'In November we met many companies at the fair in Berlin. Most of them were small.\nThe best one was Acme, which builds rockets.\nWe should also call Beta.\n',
      '',
    ],
  ])('%s: %j', async (kind, text, extension) => {
    expect(await read(text, extension)).toBe(kind);
  });

  it.each([
    ['names', 'Acme\nBeta Inc.\nCe, Rome\n'],
    ['domains', 'acme.example\nbeta.example\nce.example\nde.example\n'],
    ['addresses in brackets', '<ada@acme.example>\n<bo@beta.example>\n'],
    ['a name in brackets', '<Acme> Rome\nBeta\n'],
    ['questions', 'Who leads Acme? And since when?\nWhat does Beta sell?\nWhere is Ce?\nWhy?\n'],
    [
      'queries in small letters',
      'dental clinics in berlin with their own website\nai startups in paris that raised money\nlaw firms in rome for small companies\nshops for running shoes in all of spain\n',
    ],
    [
      'descriptions',
      'Acme builds rockets. It is from Rome. It has ten people.\nBeta sells software. Its founders left. Why?\nCe is new. It makes bread. People like it.\n',
    ],
    ['descriptions that are long', `Acme builds rockets. ${'It is good. '.repeat(50)}\n`],
    ['a remark above', '# my leads\nAcme\nBeta\n'],
    ['two remarks above', '# my leads\n# of May\nAcme\nBeta\n'],
    ['roles', 'The CTO of Acme Inc.\nThe founder of Beta Ltd.\nThe head of sales at Ce\n'],
    ['questions that tell more', 'Who leads Acme? We met in Rome.\nWhat does Beta sell? They called.\n'],
    ['lines with a dash', '- Acme\n- Beta\n'],
    ['names with a colon', 'Acme: rockets\nBeta: software\n'],
    ['hashtags', '#fintech\n#bio\n'],
    ['dashes between', 'Acme\n---\nBeta\n'],
  ])('a list of %s is not', async (_, text) => {
    expect(await read(text)).toBe(`text ${text.trimEnd().split('\n').length}`);
  });
});

describe('a Markdown table', () => {
  it.each([
    ['as leadpipe writes it', '| name | a\\|b |\n| --- | --- |\n| Acme | x<br>y |\n| Beta |  |\n', 'csv 2'],
    ['as others write it', '\nName | City\n:--- | ---:\nAcme | Rome\n', 'csv 1'],
    ['with a row of dashes', '| name |\n| --- |\n| --- |\n', 'csv 1'],
    ['with a text below', '| name |\n| --- |\n| Acme |\nSources\n', 'csv 1001'],
    ['of its header alone', '| name |\n| --- |\n', 'csv 0'],
  ])('is read: %s', async (_, text, expected) => {
    expect(await read(text, '.md')).toBe(expected);
    expect(await read(text)).toBe(expected);
  });
});
