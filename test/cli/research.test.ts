import { describe, expect, it } from 'vitest';
import { research } from '../../src/operations/kinds/research.ts';
import { stylesOf } from '../../src/output/color.ts';
import { runAnswered } from '../helpers/answered.ts';
import { written } from '../output/gathering-sink.ts';

/** Every kind of JSON, what a terminal shows of it, and its row of CSV. */
const answers: readonly [answer: string, terminal: string, csv: string][] = [
  [
    '{"Citations":["https://a.example",{"title":"B","url":"https://b.example"}],"Result":"One.\\n\\nTwo."}',
    'One.\n\nTwo.\n\n[1] https://a.example\n[2] title: B, url: https://b.example\n',
    '"One.\n\nTwo.","[""https://a.example"",{""title"":""B"",""url"":""https://b.example""}]"',
  ],
  ['{"Result":"One.","Citations":[]}', 'One.\n', 'One.,[]'],
  ['{"Result":"One."}', 'One.\n', 'One.,'],
  ['{"Result":"One.","Citations":null,"More":1}', 'One.\n', 'One.,'],
  ['{"Result":"One.","Citations":"a"}', '{\n  "Result": "One.",\n  "Citations": "a"\n}\n', 'One.,a'],
  ['{"Result":" ","Citations":[]}', '{\n  "Result": " ",\n  "Citations": []\n}\n', ' ,[]'],
  ['{"Result":{"a":1}}', '{\n  "Result": {\n    "a": 1\n  }\n}\n', '"{""a"":1}",'],
  [
    '{"id": 12345678901234567890}',
    '{\n  "id": 12345678901234567890\n}\n',
    '"{""id"": 12345678901234567890}",',
  ],
  ['{}', '{}\n', '{},'],
  ['[1.10, "b", []]', '[\n  1.10,\n  "b",\n  []\n]\n', '"[1.10, ""b"", []]",'],
  ['"Berlin"', '"Berlin"\n', 'Berlin,'],
  ['12345678901234567890', '12345678901234567890\n', '12345678901234567890,'],
  ['true', 'true\n', 'true,'],
  ['false', 'false\n', 'false,'],
];

describe('research', () => {
  const research = (answer: string, more = '') =>
    runAnswered(`{"success":true,"answer":${answer}}`, `research x ${more}`);

  it.each(answers)('%s: as it came, readable, and as CSV', async (answer, terminal, csv) => {
    const piped = await research(answer);
    expect(piped).toMatchObject({ code: 0, stdout: `{"success":true,"answer":${answer}}\n` });
    expect(await research(answer, '-f json')).toMatchObject({ stdout: piped.stdout });
    expect(await research(answer, '-f table')).toMatchObject({ code: 0, stdout: terminal });
    expect(await research(answer, '-f csv')).toMatchObject({ stdout: `result,citations\r\n${csv}\r\n` });
  });

  it('an answer of null is none: 8, charged', async () => {
    const { code, stderr } = await research('null', '--json-errors');
    expect(code).toBe(8);
    expect(JSON.parse(stderr).error).toMatchObject({
      charged: 'yes',
      message: expect.stringContaining('`answer`'),
    });
  });

  it('sends a query of 4000 astral characters without the line end of a pipe', async () => {
    const stdin = `${'🦊'.repeat(4000)}\n`;
    const { code, sent } = await runAnswered('{"success":true,"answer":1}', 'research -', { stdin });
    expect({ code, sent }).toEqual({ code: 0, sent: { query: '🦊'.repeat(4000) } });
  });
});

describe('a research answer on a terminal', () => {
  async function shown(answer: string, width: number, color = false): Promise<string> {
    const options = { layout: research.layout(), shape: 'single', width, styles: stylesOf(color) } as const;
    return (await written('table', options, [`{"success":true,"answer":${answer}}`])).text;
  }

  it('is wrapped at words; addresses are not', async () => {
    const answer = '{"Result":"one two three four five","Citations":["https://a.example/a-long-path"]}';
    expect(await shown(answer, 12)).toBe('one two\nthree four\nfive\n\n[1]\nhttps://a.example/a-long-path\n');
  });

  it('is not wider than is readable', async () => {
    const lines = (await shown(`{"Result":"${'word '.repeat(100)}"}`, 300)).split('\n');
    expect(Math.max(...lines.map((line) => line.length))).toBeLessThanOrEqual(100);
  });

  it('numbers the citations, dim where there is colour', async () => {
    expect(await shown('{"Result":"a","Citations":["b"]}', 80, true)).toBe('a\n\n\u001b[2m[1]\u001b[22m b\n');
  });

  it.each([
    '{"Result":"a\\u001b[2Jb\\u202ec\\u009bd","Citations":["\\u001b]0;x\\u0007y"]}',
    '{"other":"a\\u001b[2Jb\u202ec\u009bd"}',
    '"\u009b2J\u202e"',
  ])('%j can do nothing to the terminal', async (answer) => {
    expect(await shown(answer, 80)).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202a-\u202e]/);
  });
});
