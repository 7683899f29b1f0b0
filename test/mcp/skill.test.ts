import { execFile } from 'node:child_process';
import { hash } from 'node:crypto';
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { ending } from '../helpers/ending.ts';
import { bareEnvironment, command, run, temporaryFolder } from '../helpers/run.ts';

const folder = join(import.meta.dirname, '../../skills/leadpipe');
const files = ['SKILL.md', 'references/faults.md'];

function blocksIn(file: string): string[] {
  const text = readFileSync(join(folder, file), 'utf8');
  return [...text.matchAll(/^```sh\n([\s\S]*?)^```$/gm)].map(([, block = '']) => block);
}

/** Runs it in a shell in which `leadpipe` is the built command, with --local where it takes that. */
function runShell(script: string, cwd: string, env: Record<string, string>): Promise<string> {
  const bin = join(env.HOME ?? '', 'bin');
  const local = 'case "$1 $2" in history*|"task list"*|skill*) ;; *) set -- "$@" --local ;; esac';
  mkdirSync(bin, { recursive: true });
  writeFileSync(
    join(bin, 'leadpipe'),
    `#!/bin/bash\n${local}\nexec '${process.execPath}' '${command}' "$@"\n`,
  );
  chmodSync(join(bin, 'leadpipe'), 0o755);
  const options = { cwd, env: { ...env, PATH: `${bin}:${env.PATH}` }, encoding: 'utf8' } as const;
  return new Promise((resolve) => {
    execFile('bash', ['-e', '-o', 'pipefail', '-c', script], options, (error, stdout, stderr) => {
      resolve(error === null ? '' : `${script}\n${error.message}\n${stdout}\n${stderr}`);
    });
  });
}

describe('the skill', () => {
  it('has the form of agent skills', () => {
    const [, front = '', body = ''] =
      /^---\n([\s\S]*?)\n---\n([\s\S]*)$/.exec(readFileSync(join(folder, 'SKILL.md'), 'utf8')) ?? [];
    const fields = Object.fromEntries(
      front.split('\n').map((line) => [line.split(':')[0], line.slice(line.indexOf(':') + 2)]),
    );
    expect(fields.name).toBe('leadpipe');
    expect(fields.description?.length).toBeGreaterThan(100);
    expect(fields.description?.length).toBeLessThanOrEqual(1024);
    expect(body.split('\n').length).toBeLessThan(500);
    for (const [, target = ''] of body.matchAll(/\]\((?!http)([^)]+)\)/g))
      expect(existsSync(join(folder, target))).toBe(true);
  });

  it.each(files)(
    '%s has only command lines that run',
    async (file) => {
      const cwd = temporaryFolder();
      const env = bareEnvironment();
      const blocks = blocksIn(file);
      expect(blocks.length).toBeGreaterThan(1);
      for (const block of blocks) expect(await runShell(block, cwd, env)).toBe('');
    },
    120_000,
  );

  it('names no option that there is not', async () => {
    const manual = (await run('man')).stdout.replaceAll('\\-', '-');
    const named = files.flatMap(
      (file) => readFileSync(join(folder, file), 'utf8').match(/(?<![\w-])--[a-z][a-z-]+/g) ?? [],
    );
    expect(named.length).toBeGreaterThan(10);
    for (const option of new Set(named)) expect(manual).toContain(option);
  });

  it('is printed, and installed whole or not at all', async () => {
    const text = readFileSync(join(folder, 'SKILL.md'), 'utf8');
    expect((await run('skill')).stdout).toBe(text);
    const target = temporaryFolder();
    const install = () => run(['skill', '--install', join(target, 'a', 'skills')]);
    expect((await install()).code).toBe(0);
    const installed = join(target, 'a', 'skills', 'leadpipe');
    // What a person puts there stays, and a file that is as it was installed becomes the new one.
    writeFileSync(join(installed, 'notes.md'), 'of a person');
    const digests = join(installed, '.installed.json');
    const earlier = 'of an earlier version\nname: leadpipe\n';
    writeFileSync(join(installed, 'SKILL.md'), earlier);
    const known = { ...JSON.parse(readFileSync(digests, 'utf8')), 'SKILL.md': hash('sha256', earlier) };
    writeFileSync(digests, JSON.stringify(known));
    expect((await install()).code).toBe(0);
    expect(readFileSync(join(installed, 'SKILL.md'), 'utf8')).toBe(text);
    expect(readdirSync(installed, { recursive: true }).sort()).toEqual([
      '.installed.json',
      'SKILL.md',
      'notes.md',
      'references',
      'references/faults.md',
    ]);
    expect(readdirSync(join(target, 'a', 'skills'))).toEqual(['leadpipe']);
    writeFileSync(join(installed, 'references', 'faults.md'), 'with a line of a person');
    expect(await install()).toMatchObject({ code: 74, stderr: expect.stringContaining('was changed after') });
    expect(readFileSync(join(installed, 'references', 'faults.md'), 'utf8')).toContain('a person');
    expect(readFileSync(join(installed, 'SKILL.md'), 'utf8')).toBe(text);
    writeFileSync(join(installed, 'SKILL.md'), 'of somebody else');
    expect(await install()).toMatchObject(ending(74, 'leadpipe did not change it'));
    expect(readFileSync(join(installed, 'SKILL.md'), 'utf8')).toBe('of somebody else');
  });

  it.skipIf(process.platform !== 'linux')('is refused at once where no folder can be made', async () => {
    expect(await run('skill --install /proc/x')).toEqual({
      code: 74,
      stdout: '',
      stderr: "error: can't install the skill in /proc/x/leadpipe: the folder can't be created\n",
    });
    const env = { ...bareEnvironment(), LEADPIPE_STATE_DIR: '/proc/x' };
    expect(await run('balance --local', { env })).toMatchObject({ code: 74 });
  });
});
