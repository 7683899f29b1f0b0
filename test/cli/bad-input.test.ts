import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { runInProcess } from '../helpers/fake-context.ts';
import { type FaultServer, startFaultServer } from '../helpers/fault-server.ts';
import { bareEnvironment, pointedAt, run, temporaryFolder } from '../helpers/run.ts';

let server: FaultServer;
let folder: string;
const file = (name: string): string => join(folder, name);

beforeAll(async () => {
  server = await startFaultServer((socket) => void socket.destroy());
  folder = temporaryFolder();
  writeFileSync(file('empty.txt'), '  \n');
  writeFileSync(file('names.csv'), 'company,city\nAcme,Berlin\n');
  writeFileSync(file('bad.csv'), 'name\n"unclosed\n');
  writeFileSync(file('array.json'), '[\n"Acme",\n"Beta"\n]\n');
  writeFileSync(file('bad.jsonl'), '{"name":"a"}\n{"title":"b"}\n');
  writeFileSync(file('many.txt'), Array.from({ length: 1001 }, (_, at) => `name ${at}`).join('\n'));
  writeFileSync(
    file('huge.txt'),
    Array.from({ length: 1000 }, (_, at) => `${at}${'x'.repeat(1100)}`).join('\n'),
  );
  mkdirSync(file('folder'));
});

const company = ['search', 'company', 'x'];
const list = (count: number): string => Array.from({ length: count }, (_, at) => `f${at}`).join(',');

const cases: readonly [
  name: string,
  args: () => readonly string[],
  says: readonly string[],
  stdin?: string,
][] = [
  ['an empty objective', () => ['search', 'company', ''], ['the objective is empty', '1 to 4000 bytes']],
  [
    'an objective of white space',
    () => ['search', 'company', ' \n\t '],
    ['the objective is empty', '1 to 4000 bytes'],
  ],
  [
    'an objective over the limit',
    () => ['search', 'company', 'x'.repeat(4001)],
    ['4001 bytes: at most 4000 are allowed'],
  ],
  [
    'an objective counted in bytes',
    () => ['search', 'company', '日'.repeat(1334)],
    ['4002 bytes: at most 4000 are allowed'],
  ],
  ['an empty objective from stdin', () => ['search', 'company', '-'], ['the objective is empty'], ' \n'],
  [
    'an objective over the limit from stdin',
    () => ['search', 'company', '-'],
    ['4001 bytes'],
    'x'.repeat(4001),
  ],
  [
    'an empty objective from a file',
    () => ['search', 'company', `@${file('empty.txt')}`],
    ['the objective is empty'],
  ],
  [
    'an objective from no file',
    () => ['search', 'company', '@nowhere.txt'],
    ["can't read nowhere.txt", 'no such file'],
  ],
  ['an objective from a folder', () => ['search', 'company', `@${file('folder')}`], ["can't read"]],
  [
    'an unknown entity type',
    () => ['search', 'planet', 'x'],
    ['unknown entity type "planet"', 'shopify_store'],
  ],
  ['a plural entity type', () => ['search', 'companies', 'x'], ['did you mean company?']],
  [
    'an entity type with a hyphen',
    () => ['search', 'youtube-creators', 'x'],
    ['did you mean youtube_creator?'],
  ],
  [
    'xiaohongshu',
    () => ['search', 'xiaohongshu', 'x'],
    ['leadpipe task run xiaohongshu', '--enable-web-search'],
  ],
  ['wechat', () => ['search', 'wechat', 'x'], ['leadpipe task run wechat', '--enable-web-search']],
  ['limit 0', () => [...company, '--limit', '0'], ['--limit is 0', 'from 1 to 1000 leads']],
  ['limit 1001', () => [...company, '--limit', '1001'], ['--limit is 1001', 'from 1 to 1000 leads']],
  ['limit -5', () => [...company, '--limit', '-5'], ['--limit is -5', 'from 1 to 1000 leads']],
  ['limit 5.5', () => [...company, '--limit', '5.5'], ['from 1 to 1000 leads, not "5.5"']],
  ['limit ten', () => [...company, '--limit', 'ten'], ['from 1 to 1000 leads, not "ten"']],
  ['limit 1e2', () => [...company, '--limit', '1e2'], ['not "1e2"']],
  ['limit empty', () => [...company, '--limit', ''], ['not ""']],
  [
    '21 enrich fields',
    () => [...company, '--enrich-fields', list(21)],
    ['--enrich-fields has 21 items', 'at most 20 are allowed'],
  ],
  [
    '21 enrich fields in parts',
    () => [...company, '--enrich-fields', list(20), '--enrich-fields', 'z'],
    ['21 items'],
  ],
  [
    '101 earlier searches',
    () => [...company, '--dedup-service-leads', list(101)],
    ['101 items', 'at most 100 are allowed'],
  ],
  [
    '1001 names',
    () => [...company, '--dedup-custom-leads', `@${file('many.txt')}`],
    ['1001 items', 'at most 1000 are allowed'],
  ],
  [
    'names from no file',
    () => [...company, '--dedup-custom-leads', '@nowhere.csv'],
    ["can't read nowhere.csv"],
  ],
  [
    'names from CSV without the column',
    () => [...company, '--dedup-custom-leads', `@${file('names.csv')}`],
    ['has no column "name"'],
  ],
  [
    'names from broken CSV',
    () => [...company, '--dedup-custom-leads', `@${file('bad.csv')}`],
    ['line 2 of', 'has a quote that is never closed'],
  ],
  [
    'names in a JSON array',
    () => [...company, '--dedup-custom-leads', `@${file('array.json')}`],
    ['is a JSON array', 'jq -r'],
  ],
  ...['@/dev/stdin', '@/dev/fd/0', '@/proc/self/fd/0', '@-', '-'].map((twice): (typeof cases)[number] => [
    `stdin twice, as - and ${twice}`,
    () => ['search', 'company', '-', '--dedup-custom-leads', twice],
    ['standard input can be read only once, but the objective and --dedup-custom-leads'],
    'Acme\nBeta\n',
  ]),
  [
    'stdin twice, for a list',
    () => ['extract', 'web2list', '--input', '/dev/stdin', '--instruction', '-'],
    ['standard input can be read only once'],
    'https://a.example\n',
  ],
  ['two inputs', () => ['contact', 'email', '--input', 'a', '--input', 'b'], ['--input is given twice']],
  ['two outputs', () => [...company, '-o', 'a.csv', '--output', 'b.csv'], ['-o is given twice']],
  ...['--concurrency=3', '--template={a}', '--retry-unknown'].map((option): (typeof cases)[number] => [
    `${option} without --input`,
    () => ['contact', 'email', 'x', option],
    [`${option.split('=')[0]} works only with --input`],
  ]),
  ...['12345678901234567891', '9007199254740993', '1e400', '0.12345678901234567891'].map(
    (number, at): (typeof cases)[number] => [
      `a schema with ${number}`,
      () => {
        const property = `{"type":"number","title":"1e999","multipleOf":1.10,"maximum":${number}}`;
        writeFileSync(file(`${at}.json`), `{"type":"object","properties":{"a":${property}}}`);
        return ['enrich', 'x', '--schema', file(`${at}.json`)];
      },
      [`has the number ${number}`, 'without rounding it'],
    ],
  ),
  ...[
    ['search', 'company', 'x', '--max-credits'],
    ['search', 'company', 'x', '--limit'],
    ['balance', '--require'],
    ['task', 'fetch', 'x', '--pts'],
  ].map((args): (typeof cases)[number] => [
    `${args.at(-1)} 9007199254740993`,
    () => [...args, '9007199254740993'],
    [`${args.at(-1)} is 9007199254740993: `],
  ]),
  [
    'credits that are too large',
    () => [...company, '--max-credits', '99999999999999999999'],
    ['is 99999999999999999999: that is too large, at most 9007199254740991 is possible'],
  ],
  ['columns from no file', () => [...company, '--columns', '@nowhere'], ["can't read nowhere"]],
  [
    'columns from an empty file',
    () => [...company, '--columns', `@${file('empty.txt')}`],
    ['it needs a path on each line'],
  ],
  ['columns from stdin', () => [...company, '--columns', '@-'], ["can't be read from standard input"]],
  [
    'names from JSONL without the field',
    () => [...company, '--dedup-custom-leads', `@${file('bad.jsonl')}`],
    ['line 2', '"name"'],
  ],
  [
    'a body over 1 MiB',
    () => [...company, '--dedup-custom-leads', `@${file('huge.txt')}`],
    ['request body', 'at most 1048576 are allowed'],
  ],
  [
    'an idempotency key of 129 characters',
    () => [...company, '--idempotency-key', 'k'.repeat(129)],
    ['129 characters: at most 128 are allowed'],
  ],
  [
    'an empty idempotency key',
    () => [...company, '--idempotency-key', ''],
    ['--idempotency-key is empty', '1 to 128 characters'],
  ],
  [
    'an idempotency key no header can carry',
    () => [...company, '--idempotency-key', 'a\nb'],
    ['visible ASCII'],
  ],
  [
    'an idempotency key outside ASCII',
    () => [...company, '--idempotency-key', 'schlüssel'],
    ['visible ASCII'],
  ],
  ['an unknown format', () => [...company, '-f', 'xml'], ['xml', 'table, cards, jsonl, json, csv, md, xlsx']],
  ...['', ' ', 'name, '].map((columns): (typeof cases)[number] => [
    `columns ${JSON.stringify(columns)}`,
    () => [...company, '--columns', columns],
    ['--columns has an empty name'],
  ]),
  ['append without a file', () => [...company, '--append'], ['--append needs a file']],
  ...['', ' ', '.', '..', 'folder/', './', 'new/..'].flatMap((name): (typeof cases)[number][] => [
    [`-o ${JSON.stringify(name)}`, () => [...company, '-o', name], ['-o:', 'Name a file.']],
    [`--schema ${JSON.stringify(name)}`, () => ['enrich', 'x', '--schema', name], ['--schema:']],
    [
      `an objective from the file ${JSON.stringify(name)}`,
      () => ['search', 'company', `@${name}`],
      ['the objective:'],
    ],
    [`--catalog ${JSON.stringify(name)}`, () => ['serve', '--catalog', name], ['--catalog:', 'Name a file.']],
  ]),
  ['a folder of names', () => [...company, '--dedup-custom-leads', `@${file('folder')}`], ['it is a folder']],
  ['empty columns', () => [...company, '--columns', 'name,,links'], ['--columns']],
  ['timeout 0', () => [...company, '--timeout', '0'], ['--timeout must be a number of seconds']],
  ['timeout soon', () => [...company, '--timeout', 'soon'], ['--timeout must be a number of seconds']],
  [
    '--local and --base-url',
    () => [...company, '--local', '--base-url', 'https://a.example'],
    ['--local', '--base-url'],
  ],
  ...['leads.tsv', 'leads.txt', 'leads.xls', 'leads.2026'].map((name): (typeof cases)[number] => [
    `-o ${name}`,
    () => [...company, '-o', name],
    [`unknown extension ${name.slice(5)}`, '.csv, .jsonl, .ndjson, .json, .md, .xlsx', '-f csv'],
  ]),
  [
    'a workbook without a file',
    () => [...company, '-f', 'xlsx'],
    ['can only be written to a file', '-o leads.xlsx'],
  ],
  ['a workbook to -', () => [...company, '-f', 'xlsx', '-o', '-'], ['can only be written to a file']],
  [
    'a workbook as a setting',
    () => ['config', 'set', 'format', 'xlsx'],
    ['table, cards, jsonl, json, csv or md'],
  ],
  [
    'errors in a workbook',
    () => ['contact', 'email', '--input', file('names.csv'), '--errors', 'x.xlsx'],
    ['--errors: unknown extension .xlsx'],
  ],
  ['no objective', () => ['search', 'company'], ['objective']],
  ['one argument too many', () => [...company, 'y'], ['too many arguments']],
  ['an unknown option', () => [...company, '--limi', '5'], ['--limi', 'Did you mean --limit?']],
  ['an unknown command', () => ['serch', 'company', 'x'], ['unknown command "serch": did you mean search?']],
  ['balance --require x', () => ['balance', '--require', 'x'], ['--require must be']],
  ['balance --require -1', () => ['balance', '--require', '-1'], ['--require is -1']],
  ['balance with an argument', () => ['balance', 'now'], ['too many arguments']],
  ['files of agents without a folder', () => ['mcp', '--files', file('none')], ['there is no folder']],
];

/** What is found when the output is opened: a connection is opened meanwhile. */
const ofOutputs: typeof cases = [
  ...['json', 'table', 'md', 'xlsx'].map((format): (typeof cases)[number] => [
    `append to ${format}`,
    () => [...company, '-o', file(`new.${format}`), '-f', format, '--append'],
    ["can't be appended to", 'Name a .csv or .jsonl file'],
  ]),
  ['-o a folder', () => [...company, '-o', file('folder')], ['it is a folder']],
  [
    '-o a folder, to append',
    () => [...company, '-o', file('folder'), '-f', 'csv', '--append'],
    ['it is a folder'],
  ],
  ['a workbook to no file', () => [...company, '-f', 'xlsx', '-o', '/dev/null'], ['needs a regular file']],
];

it('a file that can not be read is told of in plain words', async () => {
  const loop = join(temporaryFolder(), 'loop.csv');
  symlinkSync(loop, loop);
  for (const args of [
    ['contact', 'email', '--input', loop],
    ['contact', 'email', `@${loop}`],
  ]) {
    const { code, stderr } = await runInProcess([...args, '--local']);
    expect({ code, stderr }).toEqual({
      code: 2,
      stderr: expect.stringContaining(`can't read ${loop}: its symbolic links form a loop\n`),
    });
  }
});

describe('bad input', () => {
  const expectNothingSent = async ([_, args, says, stdin = '']: (typeof cases)[number]): Promise<void> => {
    const before = server.requests.length;
    const { code, stdout, stderr } = await runInProcess(args(), { env: pointedAt(server.url), stdin });
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    for (const words of says) expect(stderr).toContain(words);
    expect(stderr).not.toContain('\n    at ');
    expect(server.requests.length).toBe(before);
  };

  it.each(cases)('%s: exit 2, says so, does not connect', async (...row) => {
    const before = server.connections();
    await expectNothingSent(row);
    expect(server.connections()).toBe(before);
  });

  it.each(ofOutputs)('%s: exit 2, says so, sends nothing', (...row) => expectNothingSent(row));

  it('is one JSON object with --json-errors, for the parser of the command line too', async () => {
    for (const args of [
      [...company, '--limit', '0'],
      [...company, '--limi', '5'],
      ['search', 'planet', 'x'],
    ]) {
      const { stderr } = await run([...args, '--json-errors'], { env: pointedAt(server.url) });
      expect(JSON.parse(stderr)).toMatchObject({
        error: { type: 'usage', exit: 2, charged: 'no', retryable: false },
      });
    }
  });
});

const addresses: readonly [
  name: string,
  env: Record<string, string>,
  args: readonly string[],
  says: string,
][] = [
  ['no address', {}, [], 'the address and the API key are missing'],
  ['no key', { LEADPIPE_BASE_URL: 'https://a.example' }, [], 'no API key for https://a.example'],
  [
    'a key with a line break inside',
    { LEADPIPE_BASE_URL: 'https://a.example', LEADPIPE_API_KEY: 'a\nb' },
    [],
    "can't be in an HTTP header",
  ],
  [
    'a key that JSON writes differently',
    { LEADPIPE_BASE_URL: 'https://a.example', LEADPIPE_API_KEY: 'lp_"key"_0123' },
    [],
    "can't be in an HTTP header",
  ],
  [
    'a key that is found in ordinary text',
    { LEADPIPE_BASE_URL: 'https://a.example', LEADPIPE_API_KEY: 'company' },
    [],
    'is too short: it has 7 characters and needs at least 8',
  ],
  [
    'plain http',
    { LEADPIPE_BASE_URL: 'http://a.example', LEADPIPE_API_KEY: 'k' },
    [],
    'it uses http, not https',
  ],
  [
    'plain http by option',
    { LEADPIPE_API_KEY: 'k' },
    ['--base-url', 'http://192.168.0.1'],
    'it uses http, not https',
  ],
  [
    'a host that only looks like loopback',
    { LEADPIPE_API_KEY: 'k' },
    ['--base-url', 'http://127.0.0.1.a.example'],
    'it uses http, not https',
  ],
  [
    'another scheme',
    { LEADPIPE_BASE_URL: 'file:///etc/passwd', LEADPIPE_API_KEY: 'k' },
    [],
    'it uses file, not https',
  ],
  [
    'user-info',
    { LEADPIPE_BASE_URL: 'https://me:secret@a.example', LEADPIPE_API_KEY: 'k' },
    [],
    'user name or password',
  ],
  [
    'a query',
    { LEADPIPE_BASE_URL: 'https://a.example?key=1', LEADPIPE_API_KEY: 'k' },
    [],
    'more text after a ? or #',
  ],
  ['no URL', { LEADPIPE_BASE_URL: 'a.example', LEADPIPE_API_KEY: 'k' }, [], 'https:// is missing'],
  ['an unknown profile', { LEADPIPE_API_KEY: 'k' }, ['--profile', 'work'], 'there is no profile "work"'],
  [
    'an unknown profile by environment',
    { LEADPIPE_API_KEY: 'k', LEADPIPE_PROFILE: 'work' },
    [],
    'there is no profile "work"',
  ],
];

describe('configuration', () => {
  it.each(addresses)('%s: exit 78', async (_, env, args, says) => {
    for (const command of [company, ['balance']]) {
      const { code, stdout, stderr } = await run([...command, ...args], { env });
      expect({ code, stdout }).toEqual({ code: 78, stdout: '' });
      expect(stderr).toContain(says);
      expect(stderr).not.toContain('secret');
    }
  });

  const files: readonly [name: string, source: string, says: string][] = [
    ['is not JSON', '{"profiles":', 'is not valid JSON'],
    ['has a wrong value', '{"profiles":{"default":{"timeout.idle":"soon"}}}', 'timeout.idle'],
    ['has a wrong header form', '{"profiles":{"default":{"auth_header":"cookie"}}}', 'auth_header'],
    ['has no object of profiles', '{"profiles":[]}', '"profiles" is not an object'],
  ];
  it.each(files)('a settings file that %s is named', async (_, source, says) => {
    const env = bareEnvironment();
    mkdirSync(env.LEADPIPE_CONFIG_DIR as string);
    writeFileSync(join(env.LEADPIPE_CONFIG_DIR as string, 'config.json'), source);
    const { code, stderr } = await run(['balance'], { env: { ...env, ...pointedAt(server.url) } });
    expect(code).toBe(78);
    expect(stderr).toContain(says);
    expect(stderr).toContain('config.json');
  });
});
