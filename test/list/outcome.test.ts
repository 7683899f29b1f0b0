import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { ending } from '../helpers/ending.ts';
import { historyOf, runInProcess } from '../helpers/fake-context.ts';
import { type FaultServer, jsonAnswer, startFaultServer, wholeAnswer } from '../helpers/fault-server.ts';
import { needs } from '../helpers/parts.ts';
import { inTerminal } from '../helpers/pty.ts';
import { bareEnvironment, pointedAt, type Result, temporaryFolder } from '../helpers/run.ts';
import { screenOf } from '../helpers/screen.ts';

let service: FaultServer;
let folder: string;
let env: Record<string, string>;
/** Items of an extraction. */
let items: string;

/** Finds nothing about "nobody", has no result for "nothing", and fails for "broken" until it is fixed. */
let isMended: boolean;

beforeEach(async () => {
  items = '[]';
  isMended = false;
  service = await startFaultServer((socket, { path, body }) => {
    if (body.includes('broken') && !isMended) {
      const refusal = '{"error":{"type":"invalid_request","message":"no such thing"}}';
      return void socket.write(wholeAnswer('422 X', 'application/json', refusal));
    }
    const success = !body.includes('nothing');
    const said = { answer: 'No result generated' };
    const content = body.includes('nobody') ? null : '"a@b.example"';
    const research = { success, answer: success ? { Result: 'Yes.', Citations: [] } : said };
    const enriched = { success, answer: success ? { city: 'Berlin' } : said };
    const answers: Record<string, string> = {
      '/v1/contact-search': `{"request":${body},"result":{"content":${content},"reference":null}}`,
      '/v1/deep-search': JSON.stringify(research),
      '/v1/enrich': JSON.stringify(enriched),
      '/v1/extract': success ? `{"success":true,"data":${items}}` : '{"success":false,"data":"No result"}',
    };
    socket.write(jsonAnswer(answers[path] ?? '{}'));
  });
  folder = temporaryFolder();
  env = { ...bareEnvironment(folder), ...pointedAt(service.url) };
});

const file = (name: string): string => join(folder, name);
const read = (name: string): string => readFileSync(file(name), 'utf8');
const leadpipe = (...args: string[]): Promise<Result> => runInProcess(args, { env });

/** Runs a command on these rows. */
function withRows(command: string, rows: readonly (object | string)[], ...more: string[]): Promise<Result> {
  const isText = typeof rows[0] === 'string';
  const name = isText ? 'rows.txt' : 'rows.jsonl';
  writeFileSync(file(name), rows.map((row) => (isText ? row : JSON.stringify(row))).join('\n'));
  return leadpipe(...command.split(' '), '--input', file(name), ...more);
}

const lead = '"links":{"website":"https://www.a.example"}';
const leadHeader = 'name,description,score,score_reason,website,linkedin_url,links';

describe('every column of a row is in the output', () => {
  it.each([
    ['of a lead', [`{"name":"A",${lead},"crm_id":"0042"}`], `${leadHeader},crm_id`, '0042,a@b.example,,,'],
    [
      'of a lead that was enriched',
      [`{"name":"A",${lead},"enrich_fields":{"f":1},"enrich":{"headcount":7}}`],
      `${leadHeader},f,f_reference,enrich`,
      '"{""headcount"":7}",a@b.example,,,',
    ],
    [
      'of a later lead',
      [`{"name":"A",${lead}}`, `{"name":"B",${lead},"crm_id":12345678901234567890,"enrich_fields":{"f":1}}`],
      leadHeader,
      'a@b.example,,,"{""crm_id"":12345678901234567890,""enrich_fields"":{""f"":1}}"',
    ],
    [
      'of a later record',
      ['{"objective":"A","k":1}', '{"objective":"B","k":2,"extra":"x"}'],
      'objective,k',
      'B,2,a@b.example,,,"{""extra"":""x""}"',
    ],
    [
      'that is called as the last one',
      ['{"objective":"A","other":1}', '{"objective":"B","more":2}'],
      'objective,other',
      'B,,a@b.example,,,"{""more"":2}"',
    ],
  ])('%s', async (_, rows, header, end) => {
    writeFileSync(file('rows.jsonl'), rows.join('\n'));
    const list = ['contact', 'email', '--input', file('rows.jsonl')];
    const { code, stdout } = await leadpipe(...list, '-f', 'csv');
    const last = header.includes('other') ? 'other_2' : 'other';
    const lines = stdout.trimEnd().split('\r\n');
    expect({ code, header: lines[0] }).toEqual({
      code: 0,
      header: `${header},email,email_reference,email_error,${last}`,
    });
    expect(lines.at(-1)).toContain(end);
    for (const format of ['md', 'xlsx']) {
      expect((await leadpipe(...list, '-o', file(`out.${format}`))).code).toBe(0);
    }
    expect(read('out.md').split('\n')[0]).toContain(last);
  });

  it('of lines and CSV, which have no others', async () => {
    expect((await withRows('contact email', ['A'], '-f', 'csv')).stdout).toMatch(
      /^objective,email,email_reference,email_error\r\n/,
    );
  });
});

describe('rows without a result', () => {
  it('leave a file with answers as it was, if they are all', async () => {
    writeFileSync(file('out.jsonl'), 'of yesterday\n');
    const { code, stderr } = await withRows('research', ['nothing'], '-o', file('out.jsonl'));
    expect({ code, stderr }).toMatchObject(ending(3, 'the file was left as it was'));
    expect(read('out.jsonl')).toBe('of yesterday\n');
  });

  it.each([
    ['research', ['x', 'nothing', 'y'], '2 answers, 1 without a result'],
    ['enrich', [{ entity_context: 'x' }, { entity_context: 'nothing' }], '1 answer, 1 without a result'],
    ['extract x_followers', ['someone', 'nothing'], '0 items of 1 target, 1 without a result'],
  ])('of %s are partial, and bought again only by the next run', async (command, rows, came) => {
    const fields = command === 'enrich' ? ['--field', 'city'] : [];
    const args = ['-o', file('out.jsonl'), '--errors', file('failed.csv'), ...fields];
    args.push('--summary', file('s.json'));
    const { code, stderr } = await withRows(command, rows, ...args);
    expect(JSON.parse(read('s.json'))).toMatchObject({ rows: rows.length, rows_failed: 1 });
    expect({ code, stderr }).toEqual({
      code: 3,
      stderr: expect.stringContaining(`${file('out.jsonl')}: ${came} · failed rows in ${file('failed.csv')}`),
    });
    expect(stderr).toContain('and may have charged for it');
    expect(stderr).toContain('The same command buys all rows again');
    expect(read('failed.csv')).toMatch(/nothing,2,No result[^,]*,,maybe/);
    const before = service.requests.length;
    expect((await withRows(command, rows, ...args)).code).toBe(3);
    expect(service.requests.length).toBe(2 * before);
  });

  it.each([
    [['nothing'], 'maybe'],
    [['x', 'nothing'], 'yes'],
  ])('may have been charged: of %j the history says %s', async (rows, charged) => {
    expect((await withRows('research', rows)).code).toBe(3);
    const { stdout } = await leadpipe('history', 'list', '-f', 'jsonl');
    expect(JSON.parse(stdout.split('\n')[0] ?? '')).toMatchObject({
      ...{ state: 'complete', charged, found: rows.length - 1, not_found: 1 },
    });
  });

  it('are not charged again where another run of the same name has bought them', async () => {
    for (const name of ['a.jsonl', 'b.jsonl']) {
      const args = ['-o', file(name), '--run', 'october'];
      expect((await withRows('research', ['x', 'nothing'], ...args)).code).toBe(3);
    }
    expect((await historyOf(env)).records).toMatchObject([{ charged: 'yes' }, { charged: 'no' }]);
  });

  it('have cost nothing with --local', async () => {
    writeFileSync(file('rows.txt'), 'qqqq\nzzzz');
    const { code, stderr } = await leadpipe('research', '--local', '--input', file('rows.txt'));
    expect(code).toBe(3);
    expect(stderr).toContain('error: the service found no result for 2 of 2 rows\n');
    expect(stderr).not.toContain('charged');
  });

  it('are not asked again while the list goes on', async () => {
    const args = ['-o', file('out.jsonl')];
    expect((await withRows('research', ['nothing', 'broken', 'x'], ...args)).code).toBe(3);
    isMended = true;
    const { code, stderr } = await withRows('research', ['nothing', 'broken', 'x'], ...args);
    expect({ code, stderr }).toEqual({
      code: 3,
      stderr: expect.stringContaining('2 already bought, not charged again'),
    });
    expect(service.requests.filter(({ body }) => body.includes('nothing'))).toHaveLength(1);
  });

  it.each([
    ['email', ['Ada', 'nobody', 'nobody'], 0, '1 email found, 2 not found · 1 duplicate row, bought once'],
    ['phone', ['Ada', 'Bo', 'nobody'], 0, '2 phone numbers found, 1 not found · charged'],
    ['email', ['nobody', 'nobody2'], 7, '2 not found · may be charged; price unknown'],
    ['email', ['nobody', 'broken'], 3, '1 not found, 1 failed · may be charged; price unknown'],
  ])('of a contact were not found: %s of %j', async (type, rows, code, came) => {
    const summary = file('summary.json');
    const result = await withRows(`contact ${type}`, rows, '--exit-status', '--summary', summary);
    expect(result).toMatchObject({ code, stderr: expect.stringContaining(came) });
    const charged = came.includes('may be') ? 'maybe' : 'yes';
    expect(JSON.parse(read('summary.json'))).toMatchObject({ charged });
    expect((await historyOf(env)).records).toMatchObject([{ charged }]);
  });
});

describe('a row that can not be sent', () => {
  const rows = [{ objective: 'A' }, { objective: '' }, { objective: 'B' }];
  const corrected = [{ objective: 'A' }, { objective: 'C' }, { objective: 'B' }];

  it('is to be corrected, and nothing else is bought again', async () => {
    const args = ['-o', file('out.jsonl'), '--concurrency', '1'];
    const first = await withRows('contact email', rows, ...args);
    expect(first.code).toBe(3);
    expect(first.stderr).toContain('correct line 2 of the input, and run the same command again');
    expect(first.stderr).toContain(`${file('out.jsonl')}: 2 emails found, 1 failed`);
    // Nothing resumes it until then.
    expect(await leadpipe('resume')).toMatchObject({
      stderr:
        'There is nothing to resume.\nPurchases that ended in part can be resumed by ID. To see the IDs: leadpipe history\n',
    });
    const bought = service.requests.length;
    const again = await withRows('contact email', rows, ...args);
    expect(again).toMatchObject({ code: 3, stderr: expect.stringContaining('charged: no') });
    expect(service.requests.length).toBe(bought);
    expect(again.stderr).toContain('nothing was left to send');
    expect(again.stderr).toContain('--run <name>');
    const last = await withRows('contact email', corrected, ...args);
    expect(last).toMatchObject({ code: 0, stderr: expect.stringMatching(/^Resuming op_/) });
    expect(last.stderr.match(/Resuming/g)).toHaveLength(1);
    expect(service.requests.length).toBe(3);
    // As the hint says.
    const anew = await withRows('contact email', corrected, ...args, '--run', 'anew');
    expect({ ...anew, sent: service.requests.length }).toMatchObject({ code: 0, sent: 6 });
    const named = await withRows('contact email', corrected, ...args, '--run', 'anew');
    expect(named.stderr).toContain(
      '3 already bought, not charged again · nothing was left to send · cost nothing',
    );
    expect(service.requests.length).toBe(6);
  });

  it('is removed, and the list is then finished: the same command buys it again', async () => {
    const args = ['-o', file('out.jsonl')];
    expect(await withRows('contact email', rows, ...args)).toMatchObject({ code: 3 });
    const whole = [{ objective: 'A' }, { objective: 'B' }];
    const last = await withRows('contact email', whole, ...args);
    expect({ ...last, sent: service.requests.length }).toMatchObject({ code: 0, sent: 2 });
    expect(last.stderr).toMatch(/nothing was left to send[\s\S]*\nThe same command buys all rows again/);
    await withRows('contact email', whole, ...args);
    expect(service.requests.length).toBe(4);
  });

  it('is one of many: the first of them are named', async () => {
    const many = [{ objective: 'A' }, ...Array(7).fill({ objective: '' })];
    const { stderr } = await withRows('contact email', many);
    expect(stderr).toContain('correct lines 2, 3, 4, 5, 6 and 2 more of the input');
    expect(stderr).not.toContain('· charged: no\nwarning');
  });
});

it('items of all targets are counted together', async () => {
  items = '[{"id":1},{"id":2}]';
  const { stderr } = await withRows('extract x_followers', ['q1', 'q2'], '-o', file('out.jsonl'));
  expect(stderr).toContain('4 items of 2 targets');
});

it('items have the type and the target of their row in front, and their own beside', async () => {
  items = '[{"id":12345678901234567890,"type":"clash","item_type":1,"target":"q1"},{"id":2}]';
  const [first, second] = (await withRows('extract x_followers', ['ada'])).stdout.split('\n');
  expect(first).toBe(
    '{"type":"x_followers","target":"ada","id":12345678901234567890,"item_item_type":"clash","item_type":1,"item_target":"q1"}',
  );
  expect(second).toBe('{"type":"x_followers","target":"ada","id":2}');
  expect((await withRows('extract x_followers', ['ada'], '-f', 'csv')).stdout).toContain(
    'type,target,id,item_item_type,item_type,item_target,other,extract_error\r\nx_followers,ada,',
  );
});

it.skipIf(!needs('script', 'stty'))('on a terminal no warning is printed between two rows', async () => {
  const rows = ['Ada', ...Array.from({ length: 25 }, (_, at) => `broken ${at}`), 'Zoe'];
  writeFileSync(file('rows.txt'), rows.join('\n'));
  const args = ['contact', 'email', '--input', file('rows.txt'), '--concurrency', '1'];
  const { transcript } = await inTerminal(args, { env, columns: 110, rows: 80 }).ended;
  const { text } = await screenOf(transcript, 110);
  const lines = text.split('\n').map((line) => line.trimEnd());
  const [from, to] = [
    lines.findIndex((line) => line.startsWith('Ada')),
    lines.findIndex((line) => line.startsWith('Zoe')),
  ];
  expect(lines[from - 2]).toMatch(/^objective +email/);
  expect(to - from).toBeGreaterThan(25);
  expect(lines.slice(from, to).filter((line) => line.startsWith('warning'))).toEqual([]);
  expect(lines.slice(to + 1).filter((line) => line.startsWith('warning: row '))).toHaveLength(20);
  expect(text).toContain('warning: and 5 more warnings');
  expect(text).not.toMatch(/^charged: no$/m);
});
