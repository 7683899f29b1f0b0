import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { readBashLine } from '../../src/cli/commands/completion.ts';
import { answerKinds } from '../helpers/answer-kinds.ts';
import { runInProcess } from '../helpers/fake-context.ts';
import { bareEnvironment, temporaryFolder } from '../helpers/run.ts';

/** Answers as fish gets them, without what they mean. */
async function wordsAfter(words: readonly string[], env?: Record<string, string>): Promise<string[]> {
  const { stdout } = await runInProcess(['completion', 'fish', '--', ...words], env ? { env } : {});
  return stdout
    .split('\n')
    .slice(0, -1)
    .map((line) => line.split('\t')[0] ?? '');
}

describe('candidates', () => {
  /** Words, of which the last is not finished, and what is answered. */
  const rows: readonly [words: string, answer: string][] = [
    ['contact ', 'words email phone'],
    ['contact email ', 'words'],
    ['contact --dry-run ', 'words email phone'],
    ['--dry-run contact ', 'words email phone'],
    ['--profile search contact ', 'words email phone'],
    ['-f ', 'words table cards jsonl json csv md xlsx sqlite'],
    ['task -o ', 'files'],
    ['contact --profile contact ', 'words email phone'],
    ['contact --profile=x ', 'words email phone'],
    ['contact -- ', 'words email phone'],
    ['contact -- email --', 'words'],
    ['contact email @', 'files'],
    ['completion ', 'words bash zsh fish powershell'],
    ['balance --format ', 'words table cards jsonl json csv md xlsx sqlite'],
    ['balance -f ', 'words table cards jsonl json csv md xlsx sqlite'],
    [
      'balance --format=',
      'words --format=table --format=cards --format=jsonl --format=json --format=csv --format=md --format=xlsx --format=sqlite',
    ],
    ['balance -o ', 'files'],
    ['balance --output=le', 'files'],
    ['balance --timeout ', 'words'],
    ['enrich --schema ', 'files'],
    ['enrich --schema @', 'files'],
    ['config set format ', 'words table cards jsonl json csv md'],
    ['config set credential_store ', 'words keychain file'],
    ['config set timeout.idle ', 'words'],
    ['extract web2list x --instruction @', 'files'],
    ['help history ', 'words list lists show drop prune totals'],
    ['help contact ', 'words'],
    ['help money ', 'words'],
    ['history list --command ', `words search task ${Object.keys(answerKinds).join(' ')}`],
    ['nonsense ', 'words'],
    ['task status ', 'words'],
  ];
  it.each(rows)('%j', async (words, answer) => {
    expect(await wordsAfter(words.split(' '))).toEqual(answer.split(' '));
  });

  it.each([
    ['search ', 'shopify_store'],
    ['task run ', 'wechat'],
    ['task ', 'status'],
    ['extract ', 'github_repo_stargazers'],
    ['config get ', 'timeout.event'],
    ['balance --', '--require'],
    ['--', '--local'],
    ['--', '--version'],
    ['--local ', 'search'],
  ])('%j: %s among others', async (words, one) => {
    expect(await wordsAfter(words.split(' '))).toContain(one);
  });

  it('are commands, with what they do', async () => {
    const { stdout } = await runInProcess('completion fish -- ""');
    expect(stdout).toContain('\nsearch\tfind leads; they are printed as they are found\n');
    const other = await runInProcess('completion zsh -- ""');
    const topics = ['environment', 'exit-codes', 'formats', 'money'];
    expect(await wordsAfter(['help', ''])).toEqual(expect.arrayContaining(['search', 'man', ...topics]));
    expect(await wordsAfter([''])).not.toContain('money');
    expect(await wordsAfter(['task', 'help', ''])).not.toContain('money');
    expect(other.stdout).toContain('\ntask:find leads with a task: run');
  });

  it('for zsh have their meaning, and no colon without one', async () => {
    const { stdout } = await runInProcess('completion zsh -- contact ""');
    expect(stdout).toBe('words\nemail\nphone\n');
  });

  it('for PowerShell begin with the word, and are quoted if necessary', async () => {
    const answer = async (...words: string[]) =>
      (await runInProcess(['completion', 'powershell', '--', ...words])).stdout;
    expect(await answer('contact', ' ')).toBe('words\nemail\t\nphone\t\n');
    expect(await answer('contact', 'ph')).toBe('words\nphone\t\n');
    expect(await answer('balance', '--format=cs')).toBe('words\n--format=csv\t\n');
    expect(await answer('balance', '--requ')).toMatch(/^words\n--require\t[^\n]+\n$/);
    expect(await answer('balance', '-o', ' ')).toBe('files\n');
    const env = bareEnvironment();
    await runInProcess('search company fintech --limit 1 --list "it\'s mine" --local -q', { env });
    const { stdout } = await runInProcess(['completion', 'powershell', '--', 'search', '--list', '"it'], {
      env,
    });
    expect(stdout).toBe("words\n'it''s mine'\t1 lead\n");
    // Checks that the script can be one for PowerShell, which is not installed here.
    const { stdout: script } = await runInProcess('completion powershell');
    expect(script).toMatch(/^Register-ArgumentCompleter -Native -CommandName leadpipe/m);
    expect(script).toContain("leadpipe completion powershell '--' @words $last");
    // The user's exit code stays, and a host without a console completes, too.
    expect(script).toMatch(
      /\$code = \$global:LASTEXITCODE[\s\S]+finally \{\s+\$global:LASTEXITCODE = \$code\n/,
    );
    expect(script.match(/(?:try \{ )?\[Console\]::OutputEncoding = .+/g)).toEqual(
      Array(2).fill(expect.stringMatching(/^try .+ \} catch \{\}$/)),
    );
    const count = (pattern: RegExp) => script.replace(/#.*/g, '').match(pattern)?.length;
    expect([count(/\{/g), count(/\(/g)]).toEqual([count(/\}/g), count(/\)/g)]);
  });

  it('are the options of the command', async () => {
    const options = await wordsAfter(['task', 'create', '--']);
    expect(options).toEqual(
      expect.arrayContaining(['--limit', '--enable-web-search', '--profile', '--help']),
    );
    expect(options).not.toContain('--poll-interval');
  });
});

describe('what this machine knows', () => {
  const env = bareEnvironment();
  const folder = (name: string): string => join(env.LEADPIPE_STATE_DIR ?? '', 'operations', name);

  it('is offered, except damaged or hostile entries', async () => {
    const args = ['task', 'create', 'company', 'fintech\u001b[31m in Berlin', '--local', '-q'];
    const { stdout } = await runInProcess(args, { env });
    mkdirSync(folder('op_damaged'), { recursive: true });
    writeFileSync(join(folder('op_damaged'), 'journal.jsonl'), 'rubbish\nmore\n');
    const search = 'search company fintech --limit 2 --list mine --idempotency-key k --local -q';
    await runInProcess(search.split(' '), { env });
    expect(await wordsAfter(['history', 'list', '--list', ''], env)).toEqual(['words', 'mine']);
    expect(await wordsAfter(['search', '--list='], env)).toEqual(['words', '--list=mine']);
    const answer = await runInProcess('completion zsh -- task wait ""', { env });
    const id = JSON.parse(stdout).leads_search_id;
    expect(answer).toEqual({
      stdout: `words\n${id}:company, created, fintech[31m in Berlin\n`,
      stderr: '',
      code: 0,
    });
  });

  it('is empty if the settings are damaged; other completions work', async () => {
    const broken = bareEnvironment(temporaryFolder());
    mkdirSync(broken.LEADPIPE_CONFIG_DIR ?? '');
    writeFileSync(join(broken.LEADPIPE_CONFIG_DIR ?? '', 'config.json'), '{');
    expect(await runInProcess('completion zsh -- balance --profile ""', { env: broken })).toMatchObject({
      code: 78,
      stdout: '',
    });
    expect(await wordsAfter(['contact', ''], broken)).toEqual(['words', 'email', 'phone']);
  });
});

describe('a line of bash', () => {
  const breaks = ' \t\n"\'@><=;|&(:';
  const rows: readonly [line: string, words: readonly string[], value: string, reply: string | undefined][] =
    [
      ['leadpipe ', [''], 'search', 'search'],
      ['leadpipe sea', ['sea'], 'search', 'search'],
      ['leadpipe sea', ['sea'], 'task', undefined],
      ['leadpipe a\\ b  c', ['a b', 'c'], 'c d', 'c\\ d'],
      ['leadpipe "a b" \'c d\' ', ['a b', 'c d', ''], 'x', 'x'],
      ['leadpipe "" x', ['', 'x'], 'x', 'x'],
      ['leadpipe "a \\" b" x', ['a " b', 'x'], 'x', 'x'],
      ['leadpipe --profile=m', ['--profile=m'], '--profile=my team', 'my\\ team'],
      ['leadpipe eu:s', ['eu:s'], 'eu:sales desk', 'sales\\ desk'],
      ['leadpipe eu\\:s', ['eu:s'], 'eu:sales', 'eu:sales'],
      ['leadpipe "my t', ['my t'], 'my team', 'my team'],
      ['leadpipe "a', ['a'], 'a$b"c', 'a\\$b\\"c'],
      ["leadpipe 'a", ['a'], 'a$b', 'a$b'],
      ["leadpipe 'l", ['l'], "l'x", undefined],
      ['leadpipe --profile="my', ['--profile=my'], '--profile=my team', 'my team'],
      ['leadpipe ', [''], '~a*;é', '\\~a\\*\\;é'],
      ['leadpipe a\\', ['a'], 'ab', 'ab'],
    ];
  it.each(rows)('%j', (line, words, value, reply) => {
    const read = readBashLine([line, breaks]);
    expect({ words: read.words, reply: read.reply(value) }).toEqual({ words, reply });
  });
});
