import { chmodSync, existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { needs } from '../helpers/parts.ts';
import { openTerminal, type Terminal } from '../helpers/pty.ts';
import { bareEnvironment, command, run, temporaryFolder } from '../helpers/run.ts';

const folder = temporaryFolder();
const env = {
  ...bareEnvironment(folder),
  PATH: `${join(folder, 'bin')}:${process.env.PATH}`,
  ZDOTDIR: folder,
  PS1: 'READY> ',
};
let taskId = '';
let operationId = '';

/** Tells which words it was run with, except when a script asks it for some. */
const real = `'${process.execPath}' '${command}'`;
const shim = `#!/bin/sh
if [ "$1$3" = completion-- ]; then exec ${real} "$@"; fi
printf 'got:'; printf '[%s]' "$@"; echo
`;

beforeAll(async () => {
  mkdirSync(join(folder, 'bin'));
  mkdirSync(join(folder, 'config'));
  mkdirSync(join(folder, 'files'));
  writeFileSync(join(folder, 'bin/leadpipe'), shim);
  chmodSync(join(folder, 'bin/leadpipe'), 0o755);
  const profiles = { work: {}, 'my team': {}, 'eu:sales desk': {}, "l'équipe": {} };
  writeFileSync(join(folder, 'config/config.json'), JSON.stringify({ profiles }));
  writeFileSync(join(folder, 'files/objective.txt'), 'fintech in Berlin');
  const created = await run(['task', 'create', 'company', 'fintech', '--local', '-q'], { env });
  taskId = JSON.parse(created.stdout).leads_search_id;
  operationId = JSON.parse((await run(['history', 'list'], { env })).stdout).operation_id;
});

/** What is typed before Tab, and the words that the command is run with then; the IDs are known later. */
const lines: readonly (readonly string[])[] = [
  ['leadpipe sea', 'search'],
  ['leadpipe search shop', 'search', 'shopify_store'],
  ['leadpipe balance -f cs', 'balance', '-f', 'csv'],
  ['leadpipe balance --format=cs', 'balance', '--format=csv'],
  ['leadpipe balance --profile wo', 'balance', '--profile', 'work'],
  ['leadpipe balance --profile my', 'balance', '--profile', 'my team'],
  ['leadpipe balance --profile=my', 'balance', '--profile=my team'],
  ['leadpipe balance --profile "my t', 'balance', '--profile', 'my team'],
  ['leadpipe balance --profile eu', 'balance', '--profile', 'eu:sales desk'],
  ['leadpipe balance --profile eu:', 'balance', '--profile', 'eu:sales desk'],
  ["leadpipe balance --profile l\\'", 'balance', '--profile', "l'équipe"],
  [
    'leadpipe search company "a b; $(echo c)" --profile wo',
    'search',
    'company',
    'a b; c',
    '--profile',
    'work',
  ],
  ['leadpipe task wait ', 'task', 'wait', '<task>'],
  ['leadpipe history show ', 'history', 'show', '<operation>'],
  ['leadpipe search company x -o files/obj', 'search', 'company', 'x', '-o', 'files/objective.txt'],
  ['leadpipe search company x --output=files/obj', 'search', 'company', 'x', '--output=files/objective.txt'],
  ['leadpipe search company @files/obj', 'search', 'company', '@files/objective.txt'],
  ['leadpipe search company fil', 'search', 'company', 'fil'],
  ['leadpipe nonsense --fo', 'nonsense', '--fo'],
];

interface ShellRow {
  readonly program: 'bash' | 'zsh' | 'fish';
  readonly args: readonly string[];
  /** Typed first. */
  readonly setUp: string;
  readonly lines: typeof lines;
}

const zsh = { program: 'zsh', args: ['-f', '-i'] } as const;
const shells: readonly [name: string, row: ShellRow][] = [
  [
    'bash',
    {
      program: 'bash',
      args: ['--norc', '--noprofile', '-i'],
      setUp: `eval "$(${real} completion bash)"`,
      lines,
    },
  ],
  [
    'zsh',
    { ...zsh, setUp: `autoload -Uz compinit && compinit -u && eval "$(${real} completion zsh)"`, lines },
  ],
  [
    'zsh, from a folder of $fpath',
    {
      ...zsh,
      setUp: `mkdir -p functions; ${real} completion zsh > functions/_leadpipe; fpath=($PWD/functions $fpath); autoload -Uz compinit && compinit -u -D`,
      lines: lines.slice(0, 2),
    },
  ],
  [
    'fish',
    {
      program: 'fish',
      args: ['--no-config', '--init-command', "function fish_prompt; echo -n 'READY> '; end"],
      setUp: `${real} completion fish | source`,
      lines,
    },
  ],
];

describe.each(shells)('completion in %s', (_, { program, args, setUp, lines: its }) => {
  describe.skipIf(!needs('script', program))('in a terminal', () => {
    let terminal: Terminal;
    let count = 0;

    beforeAll(async () => {
      terminal = openTerminal([program, ...args], { env, cwd: folder, columns: 100, limitMs: 300_000 });
      await terminal.waitFor(/READY> /);
      await entered(setUp);
    });
    afterAll(() => terminal.signal('SIGKILL'));

    /** Types keys and a word that ends them, and waits for the line's command. */
    async function entered(keys: string): Promise<string> {
      const mark = `n${++count}`;
      terminal.type(`${keys}; leadpipe ${mark}\r`);
      const [, got = ''] = await terminal.waitFor(new RegExp(`((?:got:.*\\s+)?)got:\\[${mark}\\]`));
      return got.trim();
    }

    it.each(its)('%s', async (typed, ...words) => {
      const ids: Readonly<Record<string, string>> = { '<task>': taskId, '<operation>': operationId };
      const expected = words.map((word) => `[${ids[word] ?? word}]`);
      expect(await entered(`${typed}\t`)).toBe(`got:${expected.join('')}`);
    });

    it('lists what can follow', async () => {
      terminal.type('leadpipe task \t\t');
      for (const word of ['run', 'create', 'status', 'fetch', 'wait', 'list']) {
        await terminal.waitFor(new RegExp(`(?:\\b|\\x1b\\[J)${word}\\s[^;]*$`));
      }
      await entered('\x15true');
    });

    it('runs nothing of what is typed', async () => {
      await entered('leadpipe search company "$(touch ran)" `touch ran` --profile wo\t\x15true');
      expect(existsSync(join(folder, 'ran'))).toBe(false);
    });

    it('prints no error for files that it cannot read', async () => {
      const broken = { ...env, LEADPIPE_CONFIG_DIR: join(folder, 'broken') };
      mkdirSync(broken.LEADPIPE_CONFIG_DIR, { recursive: true });
      writeFileSync(join(broken.LEADPIPE_CONFIG_DIR, 'config.json'), '{');
      const other = openTerminal([program, ...args], { env: broken, cwd: folder });
      await other.waitFor(/READY> /);
      other.type(`${setUp}\r`);
      other.type('leadpipe balance --profile \t\r');
      await other.waitFor(/got:\[balance\]\[--profile\]/);
      expect(other.transcript()).not.toMatch(/not valid JSON|charged/);
      other.signal('SIGKILL');
    });
  });
});
