import { existsSync } from 'node:fs';
import { expect, it } from 'vitest';
import { failing } from '../helpers/ending.ts';
import { createMachine } from '../helpers/machine.ts';

/** The whole command line is checked before anything is opened, stored or sent. */

it.each([
  ['contact email --input in.csv --shard 5/2', '--shard must be i/n or auto'],
  ['contact email --input in.csv --shard auto', 'JOB_COMPLETION_INDEX is not set'],
  ['task run company x --positions -f csv', '--positions works only with jsonl, not with csv'],
  ['task run company x --positions -o x.csv', '--positions works only with jsonl, not with csv'],
])('%s: nothing is opened', async (line, says) => {
  const { files, run, state, write } = createMachine('http://127.0.0.1:9');
  write('in.csv', 'objective\nAda\n');
  expect(await run(line)).toMatchObject(failing(2, says));
  expect(files()).toEqual(['in.csv']);
  expect(existsSync(state)).toBe(false);
});

const isStack = /^ +at /m;
it.each([
  ['short options in one word', 'research x -qv', isStack],
  ['a word behind --', 'research -- -v', /^error: no service is set up yet(?![\s\S]*\n +at )/],
  ['a word behind --', 'research -- --json-errors', /^error: no service is set up yet/],
  [
    'a word behind --, of an unknown command line',
    'research --nothing -- --json-errors',
    /^error: unknown option/,
  ],
] as const)('%s is read as what it is: %s', async (_, line, says) => {
  expect(await createMachine().run(line)).toMatchObject({
    code: line.includes('nothing') ? 2 : 78,
    stdout: '',
    stderr: expect.stringMatching(says),
  });
});
