import { readFileSync } from 'node:fs';
import { beforeAll, describe, expect, it } from 'vitest';
import { extractionTypes } from '../../src/contract/types.ts';
import { runAnswered } from '../helpers/answered.ts';
import { ending } from '../helpers/ending.ts';
import { fileOf } from '../helpers/local-service.ts';
import { machineWith } from '../helpers/machine.ts';

const ada = 'x_followers ada';

describe('extract: bad input', () => {
  let at: Awaited<ReturnType<typeof machineWith>>;
  beforeAll(async () => {
    at = await machineWith((socket) => void socket.destroy());
  });

  it('does not guess between two types that a word could mean', async () => {
    expect((await at.leadpipe('extract followers x')).stderr).not.toContain('did you mean');
  });

  const closed: readonly [target: string, says: string][] = [
    ['a.example/team', 'Write https://a.example/team.'],
    ['ada', 'not a URL'],
    ['10.0.0.1', 'public http or https page'],
    ['ftp://a.example/x', 'uses ftp'],
    ['file:///etc/passwd', 'uses file'],
    ['javascript:alert(1)', 'uses javascript'],
    ['https://me:secret@a.example/', 'a user name or password'],
    ['https://localhost/', 'is on localhost, which is not public'],
    ['https://a.localhost/', 'not public'],
    ['https://intranet/', 'not public'],
    ['https://printer.local/', 'not public'],
    ['https://printer.local./', 'not public'],
    ['https://wiki.internal/', 'not public'],
    ['https://a.home.arpa/', 'not public'],
    ['http://127.0.0.1/', 'not public'],
    ['http://127.1:8080/', 'is on 127.0.0.1'],
    ['http://0x7f000001/', 'is on 127.0.0.1'],
    ['http://2130706433/', 'is on 127.0.0.1'],
    ['http://0/', 'not public'],
    ['http://10.1.2.3/', 'not public'],
    ['http://100.64.0.1/', 'not public'],
    ['http://169.254.169.254/latest/meta-data', 'not public'],
    ['http://172.31.255.255/', 'not public'],
    ['http://192.168.0.1/', 'not public'],
    ['http://224.0.0.1/', 'not public'],
    ['http://255.255.255.255/', 'not public'],
    ['http://[::]/', 'not public'],
    ['http://[::1]/', 'not public'],
    ['http://[::ffff:10.0.0.1]/', 'not public'],
    ['http://[fd00::1]/', 'not public'],
    ['http://[fe80::1]/', 'not public'],
    ['http://[ff02::1]/', 'not public'],
  ];
  it.each(closed)('web2list %s: exit 2, sends nothing', async (target, says) => {
    const result = await at.leadpipe(`extract web2list ${target} --instruction x`);
    expect(result).toMatchObject(ending(2, says));
    expect(result.stderr).not.toContain('secret');
    expect(at.connections()).toBe(0);
  });
});

describe('extract', () => {
  const metadata = '"metadata":{"type":"x_followers","target":"ada","instruction":null,"limit":100}';

  const extract = (data: string, words: string) =>
    runAnswered(`{"success":true,"data":${data},${metadata}}`, `extract ${words}`);

  it.each(extractionTypes.filter((type) => type !== 'web2list'))(
    '%s is sent with its limit',
    async (type) => {
      const target = type.startsWith('github_repo') ? 'acme/rocket' : '@ada';
      const { code, sent } = await extract('[]', `${type} " ${target} " --limit 10000`);
      expect({ code, sent }).toEqual({ code: 0, sent: { type, target, limit: 10_000 } });
    },
  );

  it.each([
    'https://a.example/team?x=1#y',
    'http://8.8.8.8/',
    'http://172.32.0.1/',
    'http://[2606:4700::1]/',
    'https://münchen.example/',
  ])('web2list %s is sent as it was typed, without a limit', async (target) => {
    const { code, stderr, sent } = await extract('[]', `web2list ${target} --instruction " people \\n"`);
    expect({ code, sent }).toEqual({ code: 0, sent: { type: 'web2list', target, instruction: 'people' } });
    expect(stderr).not.toContain('warning');
  });

  it('web2list ignores a limit, and says so', async () => {
    const { sent, ...end } = await extract(
      '[]',
      'web2list https://a.example/team --instruction people --limit 5',
    );
    expect(end).toMatchObject(ending(0, 'warning: web2list ignores --limit'));
    expect(sent).not.toHaveProperty('limit');
  });

  it('takes an instruction of 4000 astral characters from a file', async () => {
    const instruction = '🦊'.repeat(4000);
    const file = fileOf('instruction.txt', `${instruction}\n`);
    const sent = { instruction, limit: 100 };
    expect(await extract('[]', `${ada} --instruction @${file}`)).toMatchObject({ code: 0, sent });
  });

  const items =
    '[{"id":12345678901234567890,"score":1.10},\n {"name":"Ö","id":2,"tags":["a"]},{"__proto__":1}]';

  it('JSONL and JSON: every item as it came, numbers and all', async () => {
    const lines = [
      '{"id":12345678901234567890,"score":1.10}',
      '{"name":"Ö","id":2,"tags":["a"]}',
      '{"__proto__":1}',
    ];
    expect(await extract(items, ada)).toMatchObject({
      code: 0,
      stdout: `${lines.join('\n')}\n`,
      stderr: expect.stringMatching(
        /^3 items · charged; price unknown\nTo see .*\nrequest req_test · operation op_\w+\n$/,
      ),
    });
    expect((await extract(items, `${ada} -f json`)).stdout).toBe(`[\n  ${lines.join(',\n  ')}\n]\n`);
  });

  it('CSV: the union of the fields, in the order in which they appear', async () => {
    expect((await extract(items, `${ada} -f csv`)).stdout).toBe(
      'id,score,name,tags,__proto__\r\n12345678901234567890,1.10,,,\r\n2,,Ö,"[""a""]",\r\n,,,,1\r\n',
    );
  });

  it('CSV: --columns chooses others', async () => {
    expect((await extract(items, `${ada} -f csv --columns id,tags.0`)).stdout).toBe(
      'id,tags.0\r\n12345678901234567890,\r\n2,a\r\n,\r\n',
    );
  });

  it('items that are no objects are kept in a column of their own', async () => {
    const odd = '[{"item":1},"text",[2],12345678901234567890]';
    expect((await extract(odd, `${ada} -f csv`)).stdout).toBe(
      'item,item.item\r\n1,\r\n,text\r\n,[2]\r\n,12345678901234567890\r\n',
    );
    expect((await extract(odd, ada)).stdout).toBe('{"item":1}\n"text"\n[2]\n12345678901234567890\n');
  });

  it.each([
    ['jsonl', ''],
    ['json', '[]\n'],
    ['csv', ''],
    ['table', ''],
  ])('no items are complete: %s', async (format, stdout) => {
    expect(await extract('[]', `${ada} -f ${format}`)).toMatchObject({ code: 0, stdout });
  });

  it('appends to CSV with chosen columns', async () => {
    const file = fileOf('out.csv', '');
    for (const _ of [1, 2]) {
      expect((await extract('[{"id":1}]', `${ada} -o ${file} --append --columns id,id`)).code).toBe(0);
    }
    expect(readFileSync(file, 'utf8')).toBe('id\r\n1\r\n1\r\n');
  });

  it('10000 items of any field come out once each', async () => {
    const data = Array.from({ length: 10_000 }, (_, at) => `{"id":${at},"f${at % 50}":"x"}`);
    const { stdout } = await extract(`[${data.join(',')}]`, `${ada} -f csv`);
    const lines = stdout.trimEnd().split('\r\n');
    expect(lines).toHaveLength(10_001);
    expect(lines[0]?.split(',')).toHaveLength(51);
  });
});
