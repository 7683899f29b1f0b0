import type { Command } from 'commander';
import { beforeAll, describe, expect, it } from 'vitest';
import { optionsBelow, takesValue, toCommandFirst } from '../../src/cli/options/leading.ts';
import { createProgram } from '../../src/cli/program.ts';
import type { Context } from '../../src/context.ts';
import { createMachine } from '../helpers/machine.ts';
import { toWords } from '../helpers/words.ts';

let program: Command;

beforeAll(async () => {
  program = await createProgram({ version: '', stdout: {} } as Context);
});

describe('options before the command', () => {
  /** What is typed, and the words in the order of the parser. */
  const rows: readonly [typed: string, words: string][] = [
    ['balance -q', 'balance -q'],
    ['-q balance', 'balance -q'],
    ['-qv balance', 'balance -qv'],
    ['--local search company x --limit 3', 'search --local company x --limit 3'],
    ['--profile x balance', 'balance --profile x'],
    // The name of a command can be a value.
    ['--profile balance search company x', 'search --profile balance company x'],
    ['--profile=x balance', 'balance --profile=x'],
    ['-fcsv balance', 'balance -fcsv'],
    ['-qf csv balance', 'balance -qf csv'],
    ['-q -f csv -o x.csv task --local run company x', 'task run -q -f csv -o x.csv --local company x'],
    ['task --local list', 'task list --local'],
    ['task -q help run', 'task help run -q'],
    ['-q help task run', 'help task run -q'],
    ['--help balance', 'balance --help'],
    ['--json history', 'history --json'],
    // This group has a command of its own.
    ['history --list company', 'history --list company'],
    ['history --list company lists', 'history lists --list company'],
    ['-q serch x', 'serch x -q'],
    // Without a command, or with an option that is not known, nothing is moved.
    ['-q', '-q'],
    ['--profile', '--profile'],
    ['--profile x', '--profile x'],
    ['-qz balance', '-qz balance'],
    ['--locl balance', '--locl balance'],
    ['-q -- balance', '-q -- balance'],
    ['--version balance', '--version balance'],
    ['- balance', '- balance'],
  ];
  it.each(rows)('%s', (typed, words) => {
    expect(toCommandFirst(program, toWords(typed))).toEqual(toWords(words));
  });

  it('take a value with every command or with none: otherwise the command could not be recognised', () => {
    const kinds = new Map<string, Set<boolean>>();
    for (const option of optionsBelow(program)) {
      for (const flag of [option.long, option.short].filter((one) => one !== undefined))
        kinds.set(flag, (kinds.get(flag) ?? new Set()).add(takesValue(option)));
    }
    expect(kinds.size).toBeGreaterThan(40);
    expect([...kinds].filter(([, some]) => some.size > 1)).toEqual([]);
  });

  it('are options of the command', async () => {
    const at = createMachine();
    expect(await at.run('-qf csv --local balance')).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^available_credits,.*\r\n100000,/),
      stderr: '',
    });
    expect((await at.run('-v')).stdout).toMatch(/^\d+\.\d+\.\d+\n$/);
    expect((await at.run('-v --local balance')).stderr).toContain('> GET http');
  });
});

it('--json is -f json, and nothing else beside it', async () => {
  const at = createMachine();
  const { stdout } = await at.leadpipe('--json balance --local', {
    stdoutIsTerminal: true,
    env: { NO_COLOR: '1' },
  });
  expect(JSON.parse(stdout)).toMatchObject({ object: 'credit_balance' });
  expect((await at.leadpipe('balance --local --json -f json')).code).toBe(0);
  expect(await at.leadpipe('-f csv balance --local --json')).toMatchObject({
    code: 2,
    stderr: expect.stringContaining("--json means -f json, so -f csv can't be used with it"),
  });
});
