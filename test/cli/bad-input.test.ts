import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { ending, failing } from '../helpers/ending.ts';
import { runInProcess } from '../helpers/fake-context.ts';
import { type FaultServer, startFaultServer } from '../helpers/fault-server.ts';
import { createMachine } from '../helpers/machine.ts';
import { pointedAt, run, temporaryFolder } from '../helpers/run.ts';
import { withConfigFile } from '../helpers/settings.ts';
import { type CommandLine, commandLines } from './command-lines.ts';

let server: FaultServer;
const folder = temporaryFolder();
const properties = (count: number) =>
  Object.fromEntries(Array.from({ length: count }, (_, at) => [`p${at}`, { type: 'string' }]));

/** Where the commands run. */
const files: Readonly<Record<string, string | object>> = {
  'empty.txt': '  \n',
  'pages.txt': 'https://a.example/team\n',
  'names.csv': 'farbe,rang\nAcme,x\n',
  'bad.csv': 'name\n"unclosed\n',
  'arrays.json': '{"a":[{}],"b":[{}]}',
  'array.json': '[\n"Acme",\n"Beta"\n]\n',
  'bad.jsonl': '{"name":"a"}\n{"title":"b"}\n',
  'many.txt': Array.from({ length: 1001 }, (_, at) => `name ${at}`).join('\n'),
  'huge.txt': Array.from({ length: 1000 }, (_, at) => `${at}${'x'.repeat(1100)}`).join('\n'),
  'cut.json': '{"type":',
  'no-properties.json': { type: 'object' },
  'many-properties.json': { type: 'object', properties: properties(201) },
  'long.json': { type: 'object', properties: { a: { description: 'x'.repeat(262_144) } } },
  'no-schema.json': { type: 'object', properties: { a: { type: 'int' } } },
};

beforeAll(async () => {
  server = await startFaultServer((socket) => void socket.destroy());
  mkdirSync(join(folder, 'folder'));
  for (const [name, content] of Object.entries(files)) {
    writeFileSync(join(folder, name), typeof content === 'string' ? content : JSON.stringify(content));
  }
  symlinkSync('loop.csv', join(folder, 'loop.csv'));
});

const cases = String.raw`
  search company "" => the objective is empty | 1 to 4000 bytes
  search company " \n\t " => the objective is empty | 1 to 4000 bytes
  search company x*4001 => 4001 bytes: at most 4000 are allowed
  search company 日*1334 => 4002 bytes: at most 4000 are allowed
  search company - <<< " \n" => the objective is empty
  search company - <<< x*4001 => 4001 bytes
  search company @empty.txt => the objective is empty
  search company @nowhere.txt => can't read nowhere.txt | no such file
  search company @folder => can't read
  search planet x => unknown entity type "planet" | shopify_store
  search companies x => did you mean company?
  search youtube-creators x => did you mean youtube_creator?
  search xiaohongshu x => leadpipe task run xiaohongshu | --enable-web-search
  search wechat x => leadpipe task run wechat | --enable-web-search
  search company x --limit 0 => --limit is 0 | from 1 to 1000 leads
  search company x --limit 1001 => --limit is 1001 | from 1 to 1000 leads
  search company x --limit -5 => --limit is -5 | from 1 to 1000 leads
  search company x --limit 5.5 => from 1 to 1000 leads, not "5.5"
  search company x --limit ten => from 1 to 1000 leads, not "ten"
  search company x --limit 1e2 => not "1e2"
  search company x --limit "" => not ""
  search company x --enrich-fields list*21 => --enrich-fields has 21 items | at most 20 are allowed
  search company x --enrich-fields list*20 --enrich-fields z => 21 items
  search company x --dedup-service-leads list*101 => 101 items | at most 100 are allowed
  search company x --dedup-custom-leads @many.txt => 1001 items: at most 1000 are allowed\n | --only-new and --list have no such limit
  search company x --dedup-custom-leads @nowhere.csv => can't read nowhere.csv
  search company x --dedup-custom-leads @names.csv => has no column "name": its columns are farbe, rang
  search company x --dedup-custom-leads @bad.csv => line 2 of | has a cell that begins with a quote but
  search company x --dedup-custom-leads @arrays.json => has several arrays: a, b
  search company - --dedup-custom-leads @/dev/stdin <<< "Acme\nBeta\n" => standard input can be read only once, but the objective and --dedup-custom-leads
  search company - --dedup-custom-leads @/dev/fd/0 <<< "Acme\nBeta\n" => standard input can be read only once, but the objective and --dedup-custom-leads
  search company - --dedup-custom-leads @/proc/self/fd/0 <<< "Acme\nBeta\n" => standard input can be read only once, but the objective and --dedup-custom-leads
  search company - --dedup-custom-leads @- <<< "Acme\nBeta\n" => standard input can be read only once, but the objective and --dedup-custom-leads
  search company - --dedup-custom-leads - <<< "Acme\nBeta\n" => standard input can be read only once, but the objective and --dedup-custom-leads
  extract web2list --input /dev/stdin --instruction - <<< "https://a.example\n" => standard input can be read only once
  contact email --input a --input b => --input is given twice
  search company x -o a.csv --output b.csv => -o is given twice
  contact email x --concurrency=3 => --concurrency works only with --input
  contact email x --template={a} => --template works only with --input
  contact email x --retry-unknown => --retry-unknown works only with --input
  search company x --max-credits 9007199254740993 => --max-credits is 9007199254740993:\u0020
  search company x --limit 9007199254740993 => --limit is 9007199254740993:\u0020
  balance --require 9007199254740993 => --require is 9007199254740993:\u0020
  task fetch x --pts 9007199254740993 => --pts is 9007199254740993:\u0020
  search company x --max-credits 99999999999999999999 => is 99999999999999999999: that is too large, at most 9007199254740991 is possible
  search company x --columns @nowhere => can't read nowhere
  search company x --columns @empty.txt => --columns has an empty name
  search company x --columns @- => can't read -: there is no such file
  search company x --dedup-custom-leads @bad.jsonl => line 2 | "name"
  search company x --dedup-custom-leads @huge.txt => request body | at most 1048576 are allowed
  search company x --idempotency-key k*129 => 129 characters: at most 128 are allowed
  search company x --idempotency-key "" => --idempotency-key is empty | 1 to 128 characters
  search company x --idempotency-key "a\nb" => visible ASCII
  search company x --idempotency-key schlüssel => visible ASCII
  search company x --idempotency-key "a " => visible ASCII
  search company x --idempotency-key " a" => visible ASCII
  search company x -f xml => xml | table, cards, jsonl, json, csv, md, xlsx, sqlite
  search company x --columns "" => --columns has an empty name
  search company x --columns " " => --columns has an empty name
  search company x --columns "name, " => --columns has an empty name
  search company x --append => --append needs a file
  search company x --dedup-custom-leads @folder => it is a folder
  search company x --columns name,,links => --columns
  search company x --timeout 0 => --timeout must be a number of seconds
  search company x --timeout soon => --timeout must be a number of seconds
  search company x --local --base-url https://a.example => --local | --base-url
  search company x -o leads.ods => unknown extension .ods | .csv, .tsv, .jsonl, .ndjson, .json, .md, .xlsx, .db, .sqlite | -f csv
  search company x -o leads.txt => unknown extension .txt | .csv, .tsv, .jsonl, .ndjson, .json, .md, .xlsx, .db, .sqlite | -f csv
  search company x -o leads.xls => unknown extension .xls | .csv, .tsv, .jsonl, .ndjson, .json, .md, .xlsx, .db, .sqlite | -f csv
  search company x -o leads.2026 => unknown extension .2026 | .csv, .tsv, .jsonl, .ndjson, .json, .md, .xlsx, .db, .sqlite | -f csv
  search company x -f xlsx => can only be written to a file | -o leads.xlsx
  search company x -f sqlite => can only be written to a file | -o leads.db
  search company x -f xlsx -o - => can only be written to a file
  config set format xlsx => table, cards, jsonl, json, csv or md
  contact email --input names.csv --errors x.xlsx => --errors: unknown extension .xlsx
  search company => objective
  search company x y => too many arguments
  search company x --limi 5 => --limi | Did you mean --limit?
  serch company x => unknown command "serch": did you mean search?
  balance --require x => --require must be
  balance --require -1 => --require is -1
  balance now => too many arguments
  mcp --files none => there is no folder

  contact email => objective
  contact => the contact type is missing
  contact email "" => the objective is empty | 1 to 4000 characters
  contact email " \n\t" => the objective is empty
  contact email - <<< " \n" => the objective is empty
  contact email x*4001 => 4001 characters: at most 4000 are allowed
  contact email 🦊*4001 => 4001 characters
  contact fax x => unknown contact type "fax" | One of: email, phone
  contact mail x => did you mean email?
  contact E-Mail x => did you mean email?
  contact emails x => did you mean email?
  contact mobile x => did you mean phone?
  contact constructor x => unknown contact type "constructor"
  contact email @nowhere.txt => can't read nowhere.txt
  contact email @loop.csv => can't read loop.csv: its symbolic links form a loop\n
  contact email --input loop.csv => can't read loop.csv: its symbolic links form a loop\n
  contact email x --idempotency-key "" => --idempotency-key is empty
  contact email x --columns a,,b => --columns

  research => query
  research "" => the query is empty | 1 to 4000 characters
  research " \n " => the query is empty
  research - <<< "\n" => the query is empty
  research x*4001 => 4001 characters: at most 4000 are allowed
  research 🦊*4001 => 4001 characters
  research - <<< é*4001 => 4001 characters
  research @nowhere.txt => can't read nowhere.txt
  research x y => too many arguments
  research x --limit 3 => --limit

  enrich x => the fields are missing: name them with --schema or --field
  enrich x --field city --schema a.json => --schema | --field
  enrich "" --field city => the entity context is empty | 1 to 16384 bytes
  enrich " \n" --field city => the entity context is empty
  enrich --field city <<< "" => the entity context is empty
  enrich x*16385 --field city => 16385 bytes: at most 16384 are allowed
  enrich é*8193 --field city => 16386 bytes
  enrich - --field city <<< x*16385 => 16385 bytes
  enrich @nowhere.txt --field city => can't read nowhere.txt
  enrich x --schema nowhere.json => --schema: can't read nowhere.json
  enrich x --field :integer => --field has no name
  enrich x --field a:int => unknown type "int" | integer
  enrich x --field city --field city => --field city is given twice
  enrich x --schema cut.json => is not valid JSON
  enrich x --schema empty.txt => is not valid JSON
  enrich x --schema array.json => the root of the schema must have "type": "object"
  enrich x --schema no-properties.json => no properties
  enrich x --schema many-properties.json => 201 properties in all: at most 200 are allowed
  enrich x --schema long.json => at most 262144 are allowed
  enrich x --schema no-schema.json => not valid JSON Schema: "properties/a/type" must be

  extract x_followers => target
  extract x_followers "" => the target is empty | 1 to 2048 characters
  extract x_followers " \t" => the target is empty
  extract x_followers 🦊*2049 => 2049 characters: at most 2048 are allowed
  extract planets x => unknown extraction type "planets" | One of: x_followers,
  extract twitter_followers x => did you mean x_followers?
  extract instagram_followers x => did you mean ins_followers?
  extract TikTok-following x => did you mean tiktok_following?
  extract stargazers x => did you mean github_repo_stargazers?
  extract stars x => did you mean github_repo_stargazers?
  extract github_followers x => did you mean github_user_followers?
  extract github-contributors x => did you mean github_repo_contributors?
  extract web_page https://a.example => did you mean web2list?
  extract github_repo_stargazers acme => the target "acme" is not a GitHub repository | For example: acme/rocket
  extract x_followers ada --limit 0 => --limit is 0 | 1 to 10000 items
  extract x_followers ada --limit 10001 => --limit is 10001 | 1 to 10000 items
  extract x_followers ada --limit 1.5 => not "1.5"
  extract x_followers ada --instruction x*4001 => --instruction has 4001 characters | at most 4000 are allowed
  extract x_followers ada --instruction @nowhere.txt => can't read nowhere.txt
  extract web2list https://a.example/team => web2list needs --instruction
  extract web2list https://a.example/team --instruction " " => web2list needs --instruction
  extract web2list https://a.example/team --instruction - <<< "\n" => needs --instruction
  extract web2list --input pages.txt => web2list needs --instruction

  task run xiaohongshu x => --enable-web-search
  task create wechat x => --enable-web-search
  task run companies x => did you mean company?
  task run company " " => the objective is empty
  task run company x --limit 1001 => 1 to 1000
  task run company x --num 501 => 1 to 500
  task run company x --poll-interval 0 => --poll-interval must be a number of seconds
  task run company x --wait-timeout soon => --wait-timeout must be a number of seconds
  task run company x --positions -f csv => --positions works only with jsonl
  task wait ls --positions -o x.csv => --positions works only with jsonl
  task fetch "" => leads_search_id is empty
  task wiat ls => did you mean wait?
  resume op_none => exit 6 | no operation op_none
  resume ../state => exit 6 | no operation
`;

const unnamed = ['""', '" "', '.', '..', 'folder/', './', 'new/..'].flatMap((name) => [
  `search company x -o ${name} => -o: | Name a file.`,
  `enrich x --schema ${name} => --schema:`,
  `search company @${name} => the objective:`,
  `serve --catalog ${name} => --catalog: | Name a file.`,
]);

const numbers = ['12345678901234567891', '9007199254740993', '1e400', '0.12345678901234567891'].map(
  (number) => {
    const property = `{"type":"number","title":"1e999","multipleOf":1.10,"maximum":${number}}`;
    writeFileSync(join(folder, `${number}.json`), `{"type":"object","properties":{"a":${property}}}`);
    return `enrich x --schema ${number}.json => has the number ${number} | without rounding it`;
  },
);

const manyFields = `enrich x${Object.keys(properties(201))
  .map((name) => ` --field ${name}`)
  .join('')} => 201 properties`;

/** What is found when the output is opened: a connection is opened meanwhile. */
const ofOutputs = `
  search company x -o new.json -f json --append => --append works only with csv, jsonl and sqlite | Name a .csv, .jsonl or .db file
  search company x -o new.table -f table --append => --append works only with csv, jsonl and sqlite | Name a .csv, .jsonl or .db file
  search company x -o new.md -f md --append => --append works only with csv, jsonl and sqlite | Name a .csv, .jsonl or .db file
  search company x -o new.xlsx -f xlsx --append => --append works only with csv, jsonl and sqlite | Name a .csv, .jsonl or .db file
  search company x -o folder => it is a folder
  search company x -o nowhere/leads.csv => exit 74 | nowhere does not exist
  search company x -o folder -f csv --append => it is a folder
  search company x -f xlsx -o /dev/null => needs a regular file
  extract x_followers ada --append -o a.csv => --columns
`;

describe('bad input', () => {
  const expectNothingSent = async ({ args, says, stdin, exit }: CommandLine): Promise<void> => {
    const before = server.requests.length;
    const options = { env: pointedAt(server.url), stdin, cwd: folder };
    const result = await runInProcess(args, options);
    expect(result).toMatchObject(failing(exit, ...says));
    expect(result.stderr).not.toContain('\n    at ');
    expect(server.requests.length).toBe(before);
  };

  const rows = commandLines([cases, manyFields, ...unnamed, ...numbers].join('\n'), 2);
  it.each(rows)('$line: exit 2, says so, does not connect', async (row) => {
    const before = server.connections();
    await expectNothingSent(row);
    expect(server.connections()).toBe(before);
  });

  it.each(commandLines(ofOutputs, 2))('$line: exit 2, says so, sends nothing', expectNothingSent);

  it.each(['CONFIG', 'STATE'])('-o in the folder of LEADPIPE_%s_DIR: exit 2, sends nothing', async (name) => {
    const at = createMachine(server.url);
    const own = at.env[`LEADPIPE_${name}_DIR`] ?? '';
    mkdirSync(own);
    const before = server.requests.length;
    const result = await at.leadpipe(['search', 'company', 'x', '-o', join(own, 'leads.csv')]);
    expect(result).toMatchObject(failing(2, 'is in the folder where leadpipe keeps its own'));
    expect(server.requests.length).toBe(before);
  });

  it.each(['search company x --limit 0', 'search company x --limi 5', 'search planet x'])(
    '%s: one JSON object with --json-errors, of the parser of the command line too',
    async (line) => {
      const { stderr } = await run(`${line} --json-errors`, { env: pointedAt(server.url) });
      const error = { type: 'usage', exit: 2, charged: 'no', retryable: false };
      expect(JSON.parse(stderr)).toMatchObject({ error });
    },
  );
});

const base = 'LEADPIPE_BASE_URL=https://a.example';
const addresses = String.raw`
  balance => the address and the API key are missing
  ${base} balance => no API key for https://a.example
  ${base} LEADPIPE_API_KEY="a\nb" balance => can't be in an HTTP header
  ${base} LEADPIPE_API_KEY="lp_\"key\"_0123" balance => can't be in an HTTP header
  ${base} LEADPIPE_API_KEY=company balance => is too short: it has 7 characters and needs at least 8
  LEADPIPE_BASE_URL=http://a.example LEADPIPE_API_KEY=k balance => it uses http, not https
  LEADPIPE_API_KEY=k balance --base-url http://192.168.0.1 => it uses http, not https
  LEADPIPE_API_KEY=k balance --base-url http://127.0.0.1.a.example => it uses http, not https
  LEADPIPE_BASE_URL=file:///etc/passwd LEADPIPE_API_KEY=k balance => it uses file, not https
  LEADPIPE_BASE_URL=https://me:secret@a.example LEADPIPE_API_KEY=k balance => user name or password
  LEADPIPE_BASE_URL=https://a.example?key=1 LEADPIPE_API_KEY=k balance => more text after a ? or #
  LEADPIPE_BASE_URL=a.example LEADPIPE_API_KEY=k balance => https:// is missing
  LEADPIPE_API_KEY=k balance --profile work => there is no profile "work"
  LEADPIPE_API_KEY=k LEADPIPE_PROFILE=work balance => there is no profile "work"
`;

describe('configuration', () => {
  it.each(commandLines(addresses, 78))('$line: exit 78', async ({ env, args, says, exit }) => {
    for (const command of ['search company x', 'balance']) {
      const result = await runInProcess([...command.split(' '), ...args.slice(1)], { env });
      expect(result).toMatchObject(failing(exit, ...says));
      expect(result.stderr).not.toContain('secret');
    }
  });

  it.each([
    ['has a wrong value', '{"profiles":{"default":{"timeout.idle":"soon"}}}', 'timeout.idle'],
    ['has a wrong header form', '{"profiles":{"default":{"auth_header":"cookie"}}}', 'auth_header'],
  ])('a settings file that %s is named', async (_, source, says) => {
    const env = { ...withConfigFile(source), ...pointedAt(server.url) };
    expect(await run('balance', { env })).toMatchObject(ending(78, says, 'config.json'));
  });
});
