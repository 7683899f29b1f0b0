import { spawn } from 'node:child_process';
import { beforeAll, describe, expect, it } from 'vitest';
import { answerKindRows } from '../helpers/answer-kinds.ts';
import { createMachine, type Machine } from '../helpers/machine.ts';
import { command, type Result, resultOf, run } from '../helpers/run.ts';
import { fixedTask, startFixedService } from '../terminal/fixed-service.ts';

/** Every command with something that it can do without standard input, and how that ends with and without a service. */
const commands: readonly (readonly [line: string, withService: number, without: number])[] = [
  ['search company fintech', 0, 78],
  ['task create company fintech', 0, 78],
  ['task run company fintech', 0, 78],
  ['task status ls_1', 0, 78],
  [`task fetch ${fixedTask}`, 0, 78],
  [`task wait ${fixedTask}`, 0, 78],
  ['task list', 0, 0],
  ...answerKindRows.map(({ line }) => [line, 0, 78] as const),
  ['contact phone nobody', 0, 78],
  ['balance', 0, 78],
  ['resume', 0, 0],
  ['history', 0, 0],
  ['history list', 0, 0],
  ['history show op_00000000000000', 6, 6],
  ['history drop op_1', 6, 6],
  ['history prune', 0, 0],
  ['serve --port x', 2, 2],
  ['auth list', 0, 0],
  ['auth status', 0, 78],
  ['auth switch nobody', 2, 2],
  ['auth logout', 0, 0],
  ['config list', 0, 0],
  ['config get base_url', 6, 6],
  ['config set retry.attempts 3', 0, 0],
  ['config unset base_url', 0, 0],
  ['config path', 0, 0],
  ['doctor', 0, 78],
  ['completion bash', 0, 0],
  ['man', 0, 0],
  // Without an error it waits for its client there.
  ['mcp --max-credits x', 2, 2],
  ['skill', 0, 0],
  ['help', 0, 0],
];

/** A shell without job control between us and the command: how else would a stream be closed? */
function inShell(line: string, { env, cwd }: Machine): Promise<Result> {
  const words = ['-c', `exec "$0" "$1" ${line}`, process.execPath, command];
  return resultOf(spawn('sh', words, { env, cwd, stdio: 'pipe' }));
}

describe('standard input that is open and silent', () => {
  let url: string;
  beforeAll(async () => {
    ({ url } = await startFixedService());
  });

  it('is tried with every command', async () => {
    const list = (await run('--help')).stdout.split('\nCommands:\n')[1]?.split('\n\n')[0] ?? '';
    const tried = new Set(commands.map(([line]) => line.split(' ')[0]));
    const listed = [...list.matchAll(/^ {2}(\w+)/gm)].map((row) => row[1]);
    expect(listed.filter((name) => !tried.has(name))).toEqual([]);
  });

  it.each(commands)('%s ends, and asks nothing', async (line, withService, without) => {
    const ends = new Map([[withService, url]]);
    // Where a service makes no difference, it is tried once.
    if (without !== withService) ends.set(without, '');
    for (const [code, service] of ends) {
      const result = await inShell(line, createMachine(service));
      expect(result.code, result.stderr).toBe(code);
      expect(`${result.stdout}${result.stderr}`).not.toMatch(/[?:] *$/);
    }
  });

  it.each(['<&-', '>&-', '2>&-', '<&- >&- 2>&-'])(
    'a stream that is closed, %s, is no bug',
    async (redirect) => {
      for (const line of ['search company fintech', 'balance', 'history', 'search compny x', '--help']) {
        const { code, stderr } = await inShell(`${line} ${redirect}`, createMachine(url));
        expect({ line, code }).toEqual({ line, code: line.includes('compny') ? 2 : 0 });
        expect(stderr).not.toMatch(/^ +at |a bug/m);
      }
    },
  );
});
