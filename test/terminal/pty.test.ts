import { describe, expect, it } from 'vitest';
import { needs } from '../helpers/parts.ts';
import { openTerminal } from '../helpers/pty.ts';

const node = (code: string): string[] => [process.execPath, '-e', code];

describe.skipIf(!needs('script', 'stty'))('a terminal of the tests', () => {
  it('is one, of the size and kind that was asked for, and passes on the exit code', async () => {
    const code =
      'const { stdin, stdout, stderr, env } = process; console.log([stdin.isTTY, stdout.isTTY, stderr.isTTY, stdout.columns, stdout.rows, env.TERM].join()); process.exit(78)';
    const terminal = openTerminal(node(code), { columns: 61, rows: 9, env: { TERM: 'dumb' } });
    expect(await terminal.ended).toEqual({ transcript: 'true,true,true,61,9,dumb\r\n', code: 78 });
  });

  it('takes keys, and Ctrl-C as a signal', async () => {
    const code = 'process.stdin.on("data", (text) => console.log("read", String(text).trim()));';
    const terminal = openTerminal(node(`${code} console.log("ready")`));
    await terminal.waitFor(/ready/);
    terminal.type('yes\r');
    await terminal.waitFor(/read yes/);
    terminal.type('\x03');
    expect((await terminal.ended).code).toBe(130);
  });

  it('can be resized, and signalled', async () => {
    const code =
      'process.stdout.on("resize", () => console.log("now " + process.stdout.columns)); setInterval(() => {}, 1000); console.log("ready")';
    const terminal = openTerminal(node(code));
    await terminal.waitFor(/ready/);
    terminal.resize(44);
    await terminal.waitFor(/now 44/);
    terminal.signal('SIGTERM');
    expect((await terminal.ended).code).toBe(143);
  });

  it('can be one of the streams alone', async () => {
    const code =
      'console.log("in the file"); console.error(process.stdout.isTTY + "," + process.stderr.isTTY)';
    const terminal = openTerminal(node(code), { redirect: '>/dev/null' });
    expect((await terminal.ended).transcript).toBe('undefined,true\r\n');
  });

  it('fails what waits for something that never comes', async () => {
    const terminal = openTerminal(node('console.log("bye")'));
    await expect(terminal.waitFor(/hello/)).rejects.toThrow('was not seen');
  });
});
