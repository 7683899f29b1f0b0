import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { describe, expect, it } from 'vitest';
import { ending } from '../helpers/ending.ts';
import { command, resultOf } from '../helpers/run.ts';
import { rowsTo, startTaskServer } from '../helpers/task-server.ts';
import { toWords } from '../helpers/words.ts';

describe('a run that is stopped', () => {
  const signals = [
    ['SIGINT', 130],
    ['SIGTERM', 143],
  ] as const;
  // Half a minute between two looks: the stop comes in the middle of it.
  it.each(signals)(
    '%s ends it within the pause, with %i, the position and the command',
    async (signal, exit) => {
      const task = await startTaskServer({ steps: [['running', 20]] });
      const child = task.start('task run company x --poll-interval 30 -o leads.jsonl');
      const ended = resultOf(child);
      const part = () => task.files().includes('leads.jsonl.part') && task.read('leads.jsonl.part');
      await expect.poll(part).toBe(rowsTo(20));
      child.kill(signal);
      expect(await ended).toMatchObject(
        ending(
          exit,
          /^Stopped following task ls_task; it keeps running at the service, and reading its leads is free\. /,
          '20 leads were written, and are in leads.jsonl.part',
          'leadpipe resume op_',
        ),
      );
      expect(part()).toBe(rowsTo(20));
      expect(task.files()).toEqual(['leads.jsonl.part']);
    },
  );

  it.each(signals)('%s while the task is created says that it may have been', async (signal, exit) => {
    const task = await startTaskServer({ steps: [], fault: () => () => {} });
    const child = task.start('task run company x --json-errors');
    const ended = resultOf(child);
    await expect.poll(() => task.requests.length).toBe(1);
    child.kill(signal);
    const { code, stdout, stderr } = await ended;
    expect({ code, stdout }).toEqual({ code: exit, stdout: '' });
    expect(JSON.parse(stderr).error).toMatchObject({
      charged: 'maybe',
      idempotency_key: expect.stringMatching(/^lp-/),
      operation_id: expect.stringMatching(/^op_/),
      hint: expect.stringContaining('To resume it, without buying it twice: leadpipe resume op_'),
    });
  });

  it('a reader that goes away ends it silently with 141', async () => {
    const entities = Array.from({ length: 2000 }, (_, index) => `{"name":"${'x'.repeat(1000)}${index}"}`);
    const task = await startTaskServer({ steps: [['done', 2000]], entities });
    const child = task.start('task wait ls_task --num 100');
    const ended = resultOf(child);
    await once(child.stdout, 'data');
    child.stdout.destroy();
    expect(await ended).toMatchObject({ code: 141, stderr: '' });
  });

  it.runIf(process.platform === 'linux')(
    'a reader that goes away while there is nothing to write ends it with 141, and one of a file does not',
    async () => {
      const task = await startTaskServer({ steps: [['running', 2]] });
      const script = '"$0" "$@" | head -1; echo $PIPESTATUS';
      const inShell = (words: string) =>
        spawn('bash', ['-c', script, process.execPath, command, ...toWords(words)], task);
      expect(await resultOf(inShell('task wait ls_task --poll-interval 30'))).toEqual({
        stdout: `${rowsTo(1)}141\n`,
        stderr: '',
        code: 0,
      });
      // Nothing goes to its standard output.
      const toFile = inShell('task wait ls_task --poll-interval 30 -o leads.jsonl --wait-timeout 2 -q');
      expect((await resultOf(toFile)).stdout).toBe('75\n');
    },
  );

  it('rows are printed before the task has ended', async () => {
    const task = await startTaskServer({ steps: [['running', 20]] });
    const child = task.start('task wait ls_task --poll-interval 30');
    let seen = '';
    child.stdout.setEncoding('utf8');
    while (seen.length < rowsTo(20).length) seen += (await once(child.stdout, 'data'))[0];
    expect(seen).toBe(rowsTo(20));
    child.kill('SIGTERM');
    await once(child, 'close');
  });
});
