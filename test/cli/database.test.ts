import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, copyFileSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { Readable } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { openDatabase } from '../../src/files/database-input.ts';
import { execute, rowsOf } from '../helpers/databases.ts';
import { ending, failing } from '../helpers/ending.ts';
import { recordsIn } from '../helpers/fake-context.ts';
import { createMachine } from '../helpers/machine.ts';
import { needs } from '../helpers/parts.ts';
import { startRowService } from '../helpers/row-service.ts';

const machine = createMachine((await startRowService()).url);
const { leadpipe, pathOf, read, write, files } = machine;
const search = 'search company fintech --limit 2 --local -q';

describe('-o leads.db', () => {
  it('has a table for each kind of record, to which --append adds rows and new columns', async () => {
    expect(await leadpipe(`${search} -o all.db`)).toMatchObject({ code: 0, stdout: '', stderr: '' });
    const more = `${search} --enrich-fields employees -o all.sqlite`;
    copyFileSync(pathOf('all.db'), pathOf('all.sqlite'));
    expect(await leadpipe(`${more} --append`)).toMatchObject({ code: 0 });
    write('people.txt', 'CTO of Nordlicht Pay\n');
    expect(await leadpipe('contact email --input people.txt -q -o all.sqlite --append')).toMatchObject({
      code: 0,
    });
    write('targets.csv', 'target\nfintech/app\n');
    const items =
      'extract github_repo_stargazers --input targets.csv -q --columns target,id -o all.sqlite --append';
    expect(await leadpipe(items)).toMatchObject({ code: 0 });
    expect(rowsOf(pathOf('all.sqlite'), 'leads')).toEqual([
      ...rowsOf(pathOf('all.db'), 'leads').map((lead) => ({
        ...lead,
        employees: null,
        employees_reference: null,
      })),
      expect.objectContaining({ score: expect.any(Number), employees: expect.any(Number) }),
      expect.objectContaining({ name: expect.any(String), employees: expect.any(Number) }),
    ]);
    expect(rowsOf(pathOf('all.sqlite'), 'contacts')).toMatchObject([
      { email: 'cto.of.nordlicht.pay@example.com' },
    ]);
    expect(rowsOf(pathOf('all.sqlite'), 'items')).toMatchObject([{ id: 1 }]);
    // It is replaced as a whole, since all of its tables are leadpipe's.
    expect(await leadpipe(`${search} -o all.sqlite`)).toMatchObject({ code: 0 });
    expect(rowsOf(pathOf('all.sqlite'), 'sqlite_schema').map(({ name }) => name)).not.toContain('contacts');
    expect(files()).toEqual(['all.db', 'all.sqlite', 'people.txt', 'targets.csv']);
  });

  it('has texts as texts, plain numbers as numbers, and IDs as texts', async () => {
    const values = [
      '1',
      '-2.5',
      '0.50',
      '12345678901234567890',
      'n/a',
      '1e3',
      ...Array.from({ length: 40 }, () => '7'),
    ];
    const rows = values.map((value, at) => ({
      objective: `o${at}`,
      value,
      zip: at === 0 ? '01067' : '10115',
      id: 12345678901234567890n,
    }));
    const text = rows.map(({ id, ...row }) => `${JSON.stringify(row).slice(0, -1)},"id":${id}}\n`).join('');
    write('rows.jsonl', text);
    expect(await leadpipe('contact email --input rows.jsonl -q -o kinds.db')).toMatchObject({ code: 0 });
    const found = rowsOf(pathOf('kinds.db'), 'contacts');
    expect(found.slice(0, 7).map(({ value }) => value)).toEqual([
      1,
      -2.5,
      '0.50',
      '12345678901234567890',
      'n/a',
      '1e3',
      7,
    ]);
    expect(found[0]).toMatchObject({ zip: '01067', id: '12345678901234567890' });
    expect(found[1]).toMatchObject({ zip: '10115' });
  });

  it.each<[name: string, make: () => void, code: number, says: string]>([
    [
      'tables of others',
      () => execute(pathOf('x.db'), 'CREATE TABLE people (name)'),
      2,
      'has tables that leadpipe did not write (people)',
    ],
    [
      'a table that is only called like ours',
      () => execute(pathOf('x.db'), 'CREATE TABLE leads (name)'),
      2,
      'Add the rows to it with --append',
    ],
    ['something else', () => write('x.db', 'my notes'), 2, 'is not a SQLite database'],
  ])('never replaces %s', async (_, make, code, says) => {
    rmSync(pathOf('x.db'), { force: true });
    make();
    const before = readFileSync(pathOf('x.db'));
    expect(await leadpipe(`${search} -o x.db`)).toMatchObject(failing(code, says));
    expect(readFileSync(pathOf('x.db')).equals(before)).toBe(true);
    expect(files()).not.toContain('x.db.part');
  });

  it('keeps all of a database that it adds to, and the way in which that is written', async () => {
    rmSync(pathOf('x.db'), { force: true });
    execute(
      pathOf('x.db'),
      "CREATE TABLE people (Name); INSERT INTO people VALUES ('Ada'); CREATE TABLE leads (NAME, own DEFAULT 5)",
    );
    const bytes = readFileSync(pathOf('x.db')).fill(2, 18, 20);
    writeFileSync(pathOf('x.db'), bytes);
    chmodSync(pathOf('x.db'), 0o640);
    expect(await leadpipe(`${search} --columns name,website -o x.db --append`)).toMatchObject({
      code: 0,
      stderr: '',
    });
    expect(rowsOf(pathOf('x.db'), 'people')).toEqual([{ Name: 'Ada' }]);
    expect(rowsOf(pathOf('x.db'), 'leads')).toMatchObject([
      { NAME: expect.any(String), own: 5, website: expect.any(String) },
      {},
    ]);
    expect([...readFileSync(pathOf('x.db')).subarray(18, 20)]).toEqual([2, 2]);
    expect(statSync(pathOf('x.db')).mode & 0o777).toBe(0o640);
  });
});

describe('--input leads.db', () => {
  it('reads the one table, or the one that --table names, with all digits', async () => {
    execute(
      pathOf('in.db'),
      "CREATE TABLE people (objective TEXT, id INTEGER, size REAL, photo); INSERT INTO people VALUES ('a' || char(10) || 'b', 1234567890123456789, 0.1, x'00ff'), ('007', NULL, 2, '');",
    );
    const command = 'contact email -f jsonl --input';
    const result = await leadpipe(`${command} in.db`);
    expect(recordsIn(result.stdout)).toMatchObject([
      { objective: 'a\nb', id: '1234567890123456789', size: '0.1', photo: '' },
      { objective: '007', id: '', size: '2', photo: '' },
    ]);
    expect(result.stderr).toContain('warning: in.db: 1 cell is binary');
    const piped = await leadpipe(`${command} - -q`, { stdin: readFileSync(pathOf('in.db')) as never });
    expect(recordsIn(piped.stdout)).toHaveLength(2);
    execute(
      pathOf('in.db'),
      "CREATE TABLE other (objective); INSERT INTO other VALUES ('x'); CREATE VIEW seen AS SELECT 'v' AS objective",
    );
    expect(await leadpipe(`${command} in.db`)).toMatchObject(
      failing(2, 'in.db has several tables: other, people', '--table other'),
    );
    expect(await leadpipe(`${command} in.db --table none`)).toMatchObject(
      failing(2, 'in.db has no table "none"', 'other, people, seen'),
    );
    for (const [table, objective] of [
      ['Other', 'x'],
      ['seen', 'v'],
    ]) {
      expect(recordsIn((await leadpipe(`${command} in.db -q --table ${table}`)).stdout)).toMatchObject([
        { objective },
      ]);
    }
    write('no.db', 'objective\nx\n');
    expect(await leadpipe(`${command} no.db --input-format sqlite`)).toMatchObject(
      failing(2, 'no.db is not a SQLite database'),
    );
    writeFileSync(pathOf('torn.db'), readFileSync(pathOf('in.db')).fill(7, 100, 4000));
    expect(await leadpipe(`${command} torn.db`)).toMatchObject(
      failing(2, "torn.db can't be read as a SQLite database"),
    );
  });

  it('reads one with more columns than SQLite adds up, and hides the tables that an index of texts is made of', async () => {
    const names = Array.from({ length: 1100 }, (_, at) => `c${at}`);
    execute(
      pathOf('wide.db'),
      `CREATE TABLE t (objective, ${names}); INSERT INTO t (objective, c1099) VALUES ('a', x'00')`,
    );
    const wide = await leadpipe('contact email --input wide.db -f jsonl');
    expect(recordsIn(wide.stdout)).toMatchObject([{ objective: 'a', c0: '' }]);
    expect(wide.stderr).toContain('warning: wide.db: 1 cell is binary');
    // As FTS4 leaves them: this SQLite does not know it, and so not what belongs to it.
    const parts = ['content', 'docsize', 'segdir', 'segments', 'stat'].map(
      (end) => `CREATE TABLE t_${end} (a);`,
    );
    execute(
      pathOf('index.db'),
      `CREATE TABLE people (objective); INSERT INTO people VALUES ('a'); CREATE TABLE t_contents (a); ${parts.join('')}
      PRAGMA writable_schema = ON; INSERT INTO sqlite_schema VALUES ('table', 't', 't', 0, 'CREATE VIRTUAL TABLE t USING fts4(a)')`,
    );
    expect(await leadpipe('contact email --input index.db')).toMatchObject(
      failing(2, 'index.db has several tables: people, t, t_contents\n'),
    );
    expect(await leadpipe('contact email --input index.db --table t')).toMatchObject(
      failing(2, 'the table "t" of index.db can\'t be read: no such module: fts4'),
    );
  });

  it.each([
    ['view', 'VIEW t AS SELECT "some text" AS objective', 'no such column: "some text"'],
    ['table', 'TABLE t (objective, n AS (own(objective)))', 'unknown function: own()'],
    ['view', 'VIEW t AS SELECT 1 AS objective ORDER BY 1 COLLATE own', 'no such collation sequence: own'],
  ])('says why SQLite refuses a %s: %s', async (type, statement, says) => {
    rmSync(pathOf('refused.db'), { force: true });
    execute(
      pathOf('refused.db'),
      `CREATE TABLE o (a); PRAGMA writable_schema = ON; INSERT INTO sqlite_schema VALUES ('${type}', 't', 't', ${type === 'table' ? 2 : 0}, 'CREATE ${statement}')`,
    );
    expect(await leadpipe('contact email --input refused.db --table t')).toMatchObject(
      failing(2, `the ${type} "t" of refused.db can't be read: ${says}`),
    );
  });

  it.skipIf(!needs('sqlite3')).each(['UTF-16le', 'UTF-16be'])('reads one in %s', async (encoding) => {
    rmSync(pathOf('wide.db'), { force: true });
    const statements = `PRAGMA encoding = '${encoding}';
      CREATE TABLE "größe" (objective PRIMARY KEY, id INTEGER, "Größe (€)" TEXT DEFAULT 'x');
      INSERT INTO "größe" VALUES ('Ädá 👩', 1234567890123456789, '漢字'), ('Bo', NULL, '');
      ALTER TABLE "größe" ADD COLUMN later TEXT DEFAULT 'it''s';
      CREATE VIEW seen AS SELECT 'v' AS objective;`;
    expect(spawnSync('sqlite3', [pathOf('wide.db')], { input: statements }).status).toBe(0);
    const { stdout } = await leadpipe('contact email --input wide.db -f jsonl -q');
    expect(recordsIn(stdout)).toMatchObject([
      { objective: 'Ädá 👩', id: '1234567890123456789', 'Größe (€)': '漢字', later: "it's" },
      { objective: 'Bo', id: '', 'Größe (€)': '', later: "it's" },
    ]);
    expect(await leadpipe('contact email --input wide.db --table seen')).toMatchObject(
      failing(2, 'the view "seen" of wide.db can\'t be read: the database is in UTF-16'),
    );
  });

  it('says in which row of the table something is wrong', async () => {
    execute(
      pathOf('rows.db'),
      "CREATE TABLE t (objective, name); INSERT INTO t VALUES ('a', 'a'), ('', x'00')",
    );
    const empty = 'row 2: the objective is empty';
    const result = await leadpipe('contact email --input rows.db -f jsonl');
    expect(recordsIn(result.stdout)[1]).toMatchObject({ email_error: expect.stringMatching(`^${empty}`) });
    expect(result).toMatchObject(ending(3, `warning: ${empty}`, 'correct row 2 of the input'));
  });

  it('of which the end is missing is refused, wherever it was cut, and nothing is added to it', async () => {
    expect(await leadpipe(`${search} -o whole.db`)).toMatchObject({ code: 0 });
    const whole = readFileSync(pathOf('whole.db'));
    for (const length of [17, 27, 99, 3000, whole.length - 9000, whole.length - 4000, whole.length - 1]) {
      writeFileSync(pathOf('cut.db'), whole.subarray(0, length));
      for (const command of [
        'contact email --input cut.db --local --dry-run',
        `${search} -o cut.db --append`,
      ]) {
        expect(await leadpipe(command)).toMatchObject(failing(2, 'cut.db is damaged: its end is missing'));
      }
      expect(readFileSync(pathOf('cut.db'))).toHaveLength(length);
    }
    writeFileSync(pathOf('cut.db'), whole.subarray(0, -8192));
    expect(await leadpipe('contact email --input cut.db --local --dry-run')).toMatchObject(
      failing(2, "cut.db can't be read as a SQLite database: it is damaged"),
    );
  });

  it('is what --dedup-custom-leads and --catalog read, too', async () => {
    execute(
      pathOf('own.db'),
      "CREATE TABLE mine (name, website); INSERT INTO mine VALUES ('Ada Bank', 'https://ada.example')",
    );
    const { stdout } = await leadpipe('search company x --dedup-custom-leads @own.db --local --dry-run');
    expect(JSON.parse(stdout).body.dedup_custom_leads).toEqual(['Ada Bank']);
    const serving = machine.start('serve --port 0 -q --catalog own.db');
    const [text] = await once(serving.stdout as NonNullable<typeof serving.stdout>, 'data');
    const [, url = ''] = /BASE_URL=(\S+)/.exec(String(text)) ?? [];
    const found = await leadpipe('search company bank -f jsonl -q', {
      env: { LEADPIPE_BASE_URL: url, LEADPIPE_API_KEY: 'lp_local_demo' },
    });
    serving.kill('SIGTERM');
    expect(recordsIn(found.stdout)).toMatchObject([{ name: 'Ada Bank' }]);
  });
});

describe('a database that another program uses', () => {
  const uses = [
    `${search} -o used.db`,
    `${search} -o used.db --append`,
    'contact email --input used.db --local',
  ];

  it.each<[name: string, file: string, content: string, says: string]>([
    [
      'is being written',
      'used.db-journal',
      '\xd9\xd5\x05\xf9',
      'is being written by another program, or one was killed',
    ],
    [
      'has changes in a log',
      'used.db-wal',
      '7\x7f\x06\x82',
      'has changes that are not in the file yet (used.db-wal)',
    ],
  ])('is left alone while it %s (75)', async (_, file, content, says) => {
    await leadpipe(`${search} -o used.db`);
    const before = readFileSync(pathOf('used.db'));
    writeFileSync(pathOf(file), content, 'latin1');
    for (const use of uses) expect(await leadpipe(use)).toMatchObject(failing(75, says));
    expect(readFileSync(pathOf('used.db')).equals(before)).toBe(true);
    expect(read(file)).not.toBe('');
    // What a program leaves that keeps the file of its journal.
    writeFileSync(pathOf(file), file.endsWith('wal') ? '' : '\0\0\0\0');
    expect(await leadpipe(uses[1] ?? '')).toMatchObject({ code: 0 });
    rmSync(pathOf(file));
  });

  it('is left alone where it was changed while it was read (75)', async () => {
    await leadpipe(`${search} -o used.db`);
    const before = readFileSync(pathOf('used.db'));
    await leadpipe(uses[1] ?? '');
    const how = {
      what: 'used.db',
      path: pathOf('used.db'),
      extension: '.db',
      field: 'objective',
      wanted: [],
    };
    const reading = openDatabase(Readable.from([before]), how);
    await expect(reading).rejects.toMatchObject({ outcome: 'temporary' });
  });

  it.skipIf(!needs('sqlite3') || process.platform !== 'linux')(
    'is left alone while it is locked (75)',
    async () => {
      await leadpipe(`${search} -o used.db`);
      const lock = async (statement: string) => {
        const other = spawn('sqlite3', [pathOf('used.db')], { stdio: ['pipe', 'pipe', 'inherit'] });
        other.stdin.write(`${statement}\nSELECT 'locked' FROM leads LIMIT 1;\n`);
        await once(other.stdout, 'data');
        return async () => {
          other.stdin.end('ROLLBACK;\n');
          await once(other, 'close');
        };
      };
      const writer = await lock('BEGIN EXCLUSIVE;');
      for (const use of uses)
        expect(await leadpipe(use)).toMatchObject(failing(75, 'has locked used.db to write it'));
      await writer();
      // Beside a reader it can be read, but SQLite itself would not write.
      const reader = await lock('BEGIN;');
      expect(await leadpipe(uses[1] ?? '')).toMatchObject(failing(75, 'is reading used.db'));
      expect(await leadpipe(uses[2] ?? '')).toMatchObject({ code: 0 });
      await reader();
      expect(await leadpipe(uses[1] ?? '')).toMatchObject(ending(0));
      // Another program reads what was added.
      const count = spawn('sqlite3', [
        pathOf('used.db'),
        'PRAGMA integrity_check; SELECT count(*) FROM leads;',
      ]);
      expect(String((await once(count.stdout, 'data'))[0])).toBe('ok\n4\n');
    },
  );
});
