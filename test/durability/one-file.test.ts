import { spawn, spawnSync } from 'node:child_process';
import { linkSync, openSync, symlinkSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { beforeEach, expect, it } from 'vitest';
import { createMachine, type Machine } from '../helpers/machine.ts';
import { type RowService, startRowService } from '../helpers/row-service.ts';
import { command, type Result, resultOf } from '../helpers/run.ts';

/** Runs that meet at one file. */

let service: RowService;
let machine: Machine;
beforeEach(async () => {
  service = await startRowService({ latencyMs: 300 });
  machine = createMachine(service.url);
  machine.write('in.csv', `objective\n${[1, 2, 3, 4].map((at) => `who ${at}\n`).join('')}`);
});

const list = (...args: string[]) => [command, 'contact', 'email', ...args, '-q'];

function runIn(
  wrapper: readonly string[],
  args: readonly string[],
  stdio: ('pipe' | number)[] = ['pipe', 'pipe', 'pipe'],
) {
  const [file = '', ...rest] = [...wrapper, process.execPath, ...args];
  return spawn(file, rest, { cwd: machine.cwd, env: machine.env, stdio: stdio as unknown as 'pipe' });
}

it('four shards that add to one new file: one header, and each row once', async () => {
  const shards = [0, 1, 2, 3].map((at) =>
    list('--input', 'in.csv', '-o', 'out.csv', '--append', '--shard', `${at}/4`),
  );
  const ended = await Promise.all(shards.map((args) => resultOf(runIn([], args))));
  expect(ended.map(({ code }) => code)).toEqual([0, 0, 0, 0]);
  const [header, ...rows] = machine.read('out.csv').trimEnd().split('\r\n');
  expect(header).toBe('objective,email,email_reference,email_error');
  expect(rows.map((row) => row.split(',')[0]).sort()).toEqual(['who 1', 'who 2', 'who 3', 'who 4']);
  expect(service.charged.size).toBe(4);
  expect(machine.files()).toEqual(['in.csv', 'out.csv']);
});

const container = ['unshare', '-r', '--pid', '--fork', '--mount-proc'];
it.runIf(spawnSync('unshare', [...container.slice(1), 'true']).status === 0)(
  'two containers on one volume: the second stops at once, and buys nothing',
  async () => {
    const args = list('--input', 'in.csv', '-o', 'out.csv', '--concurrency', '1');
    const first = resultOf(runIn(container, args));
    while (service.requests() === 0) await pause(20);
    const second = await resultOf(runIn(container, args));
    expect((await first).code).toBe(0);
    expect(service.requests()).toBe(4);
    expect(second).toMatchObject({
      code: 75,
      stderr: expect.stringMatching(/another machine or container \([\w.-]+\) is working on this operation/),
    });
    expect(machine.files()).toEqual(['in.csv', 'out.csv']);
  },
);

it.each([
  ['a symbolic link', () => symlinkSync('in.csv', machine.pathOf('out.csv'))],
  ['a hard link', () => linkSync(machine.pathOf('in.csv'), machine.pathOf('out.csv'))],
])('an input that is also the output, by %s, is refused', async (_, make) => {
  make();
  const before = machine.read('in.csv');
  const results: Result[] = [];
  for (const more of [['--append'], []]) {
    results.push(await resultOf(runIn([], list('--input', 'in.csv', '-o', 'out.csv', ...more))));
  }
  expect(machine.read('in.csv')).toBe(before);
  for (const { code, stderr } of results) {
    expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringContaining('are the same file') });
  }
  expect(service.requests()).toBe(0);
});

it.skipIf(process.platform === 'win32')(
  'an input that a shell has opened, and that is also the output, is refused',
  async () => {
    const path = machine.pathOf('in.csv');
    const before = machine.read('in.csv');
    const [reading, adding] = [openSync(path, 'r'), openSync(path, 'a')];
    const ways = [
      [list('--input', '-', '-o', 'in.csv', '--append'), [reading, 'pipe', 'pipe']],
      [list('--input', 'in.csv', '-f', 'csv'), ['pipe', adding, 'pipe']],
      [list('--input', '-', '-f', 'csv'), [reading, adding, 'pipe']],
    ] as const;
    const results: object[] = [];
    for (const [args, stdio] of ways) {
      const child = runIn([], args, [...stdio]);
      let stderr = '';
      child.stderr.on('data', (text) => {
        stderr += text;
      });
      // One that reads what it writes would never end.
      const timer = setTimeout(() => child.kill(), 60_000);
      const code = await new Promise((resolve) => child.on('close', resolve));
      clearTimeout(timer);
      results.push({ code, stderr });
    }
    expect(machine.read('in.csv')).toBe(before);
    const refused = { code: 2, stderr: expect.stringContaining('are the same file') };
    expect(results).toEqual(ways.map(() => refused));
    expect(service.requests()).toBe(0);
  },
);
