import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { pointedAt, resultOf, start, temporaryFolder } from '../helpers/run.ts';
import { someEntities, startTaskServer, type TaskServer } from '../helpers/task-server.ts';

let server: TaskServer | undefined;

const rows = someEntities
  .slice(0, 20)
  .map((entity) => `${entity}\n`)
  .join('');

describe('a run that is stopped', () => {
  const signals = [
    ['SIGINT', 130],
    ['SIGTERM', 143],
  ] as const;
  // Half a minute between two looks: the stop comes in the middle of it.
  it.each(signals)(
    '%s ends it within the pause, with %i, the position and the command',
    async (signal, exit) => {
      server = await startTaskServer({ steps: [['running', 20]] });
      const cwd = temporaryFolder();
      const args = ['task', 'run', 'company', 'x', '--poll-interval', '30', '-o', 'leads.jsonl'];
      const child = start(args, { cwd, env: pointedAt(server.url) });
      const ended = resultOf(child);
      const part = join(cwd, 'leads.jsonl.part');
      await expect.poll(() => existsSync(part) && readFileSync(part, 'utf8'), { timeout: 10_000 }).toBe(rows);
      child.kill(signal);
      const { code, stderr } = await ended;
      expect(code).toBe(exit);
      expect(readFileSync(part, 'utf8')).toBe(rows);
      expect(existsSync(join(cwd, 'leads.jsonl'))).toBe(false);
      expect(stderr).toMatch(
        /^Stopped following task ls_task; it keeps running at the service, and reading its leads is free\. /,
      );
      expect(stderr).toContain('20 leads were written, and are in leads.jsonl.part');
      expect(stderr).toContain('leadpipe task resume op_');
    },
  );

  it.each(signals)('%s while the task is created says that it may have been', async (signal, exit) => {
    server = await startTaskServer({ steps: [], fault: () => () => {} });
    const child = start('task run company x --json-errors', { env: pointedAt(server.url) });
    const ended = resultOf(child);
    await expect.poll(() => server?.requests.length, { timeout: 10_000 }).toBe(1);
    child.kill(signal);
    const { code, stdout, stderr } = await ended;
    expect({ code, stdout }).toEqual({ code: exit, stdout: '' });
    expect(JSON.parse(stderr).error).toMatchObject({
      charged: 'maybe',
      idempotency_key: expect.stringMatching(/^lp-/),
      operation_id: expect.stringMatching(/^op_/),
      hint: expect.stringContaining('To resume it, without buying it twice: leadpipe task resume op_'),
    });
  });

  it('a reader that goes away ends it silently with 141', async () => {
    const many = Array.from({ length: 2000 }, (_, index) => `{"name":"${'x'.repeat(1000)}${index}"}`);
    server = await startTaskServer({ steps: [['done', 2000]], entities: many });
    const child = start('task wait ls_task --num 100', { env: pointedAt(server.url) });
    let stderr = '';
    child.stderr.on('data', (text) => {
      stderr += text;
    });
    await once(child.stdout, 'data');
    child.stdout.destroy();
    const [code] = await once(child, 'close');
    expect({ code, stderr }).toEqual({ code: 141, stderr: '' });
  });

  it('rows are printed before the task has ended', async () => {
    server = await startTaskServer({ steps: [['running', 20]] });
    const child = start('task wait ls_task --poll-interval 30', { env: pointedAt(server.url) });
    let seen = '';
    child.stdout.setEncoding('utf8');
    while (seen.length < rows.length) seen += (await once(child.stdout, 'data'))[0];
    expect(seen).toBe(rows);
    child.kill('SIGTERM');
    await once(child, 'close');
  });
});
