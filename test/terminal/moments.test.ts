import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { type FaultServer, searchFrames, streamStart } from '../helpers/fault-server.ts';
import { machineWith } from '../helpers/machine.ts';
import { needs } from '../helpers/parts.ts';
import { inTerminal, openTerminal, type TerminalOptions } from '../helpers/pty.ts';
import { bareEnvironment, command, pointedAt, temporaryFolder } from '../helpers/run.ts';
import { screenOf } from '../helpers/screen.ts';
import { startFixedService } from './fixed-service.ts';
import { settled } from './settled.ts';

const redraw = /\x1b\[\?2026h\r(?:\x1b\[K)?[^\r\n]*?\x1b\[\?2026l|\r\x1b\[K/g;
/** Bold, faint and neither; green, yellow, cyan and none. */
const usual = ['1', '2', '22', '32', '33', '36', '39'].map((code) => `\x1b[${code}m`);
const style = /\x1b\[[0-9;]*m/g;

describe.skipIf(!needs('script', 'stty'))('a terminal', () => {
  let service: FaultServer;
  beforeAll(async () => {
    service = await startFixedService();
  });

  const run = (line: string, { env, ...options }: TerminalOptions = {}) =>
    inTerminal(line, { ...options, env: { ...pointedAt(service.url), ...env } });

  const ends = [
    { how: 'Ctrl-C', code: 130, stop: (terminal: ReturnType<typeof run>) => terminal.type('\x03') },
    { how: 'SIGTERM', code: 143, stop: (terminal: ReturnType<typeof run>) => terminal.signal('SIGTERM') },
  ];

  describe.each(ends)('at $how', ({ how, code, stop }) => {
    it('is left clean in the middle of a search', async () => {
      const terminal = run('search company slow');
      await terminal.waitFor(/2 of 100 leads · searching/);
      stop(terminal);
      const end = await terminal.ended;
      expect(end.code).toBe(code);
      const { text, ready } = await screenOf(settled(end.transcript), 80);
      expect(ready).toBe(true);
      await expect(text).toMatchFileSnapshot(join('golden', `stopped.${how}.txt`));
    });

    it.each([
      ['search company silent', /searching/],
      ['contact email never', /looking up/],
    ])('is left clean by `%s`, which nobody answers', async (line, waiting) => {
      const terminal = run(line);
      await terminal.waitFor(waiting);
      stop(terminal);
      const { transcript, code: ended } = await terminal.ended;
      expect(ended).toBe(code);
      const { text, ready } = await screenOf(transcript, 80);
      expect(ready).toBe(true);
      expect(text).not.toMatch(waiting);
      expect(transcript).not.toContain('\x1b[?25');
    });
  });

  it('says that a list waits for its first answer', async () => {
    const cwd = temporaryFolder();
    writeFileSync(join(cwd, 'rows.txt'), 'never\n');
    const terminal = run('contact email --input rows.txt', { cwd });
    await terminal.waitFor(/sent for row 1: never[\s\S]*waiting for the first answer/);
    terminal.signal('SIGKILL');
    await terminal.ended;
  });

  it.each([60, 80, 120])(
    'says at Ctrl-C how a list of the local service ended, which is not paid for: %i columns',
    async (columns) => {
      const cwd = temporaryFolder();
      const rows = Array.from({ length: 60 }, (_, at) => `person ${at} at Nordlicht Pay`);
      writeFileSync(join(cwd, 'rows.csv'), `objective\n${rows.join('\n')}\n`);
      const line = 'contact email --input rows.csv --local --concurrency 1';
      const terminal = inTerminal(line, { columns, cwd, env: bareEnvironment(cwd) });
      await terminal.waitFor(/sent for row 1/);
      terminal.type('\x03');
      const { code, transcript } = await terminal.ended;
      const { text, ready } = await screenOf(settled(transcript), columns);
      const said = text.replace(/\s+/g, ' ');
      expect({ code, ready, said }).toEqual({
        code: 130,
        ready: true,
        said: expect.stringMatching(
          /Stopped by Ctrl-C\. \d+ rows? (?:is|are) done\. To resume, run `leadpipe resume op_0+`\. Rows that are already bought are not bought again\. operation op_0+ $/,
        ),
      });
      expect(said).not.toContain('paid for');
    },
  );

  it.each([60, 80, 120])(
    'is told what a search has brought whose reader had enough of it: %i columns',
    async (columns) => {
      const [leads = ''] = searchFrames([['{"name":"A"}', '{"name":"B"}', '{"name":"C"}']]);
      const machine = await machineWith((socket, { method }) => {
        if (method === 'POST') socket.write(streamStart(leads));
      });
      // The stream never ends: nothing but the reader's end can end this run.
      const script = `"$0" "$1" search company x --limit 60 | head -2; exit "\${PIPESTATUS[0]}"`;
      const words = ['bash', '-c', script, process.execPath, command];
      const { code, transcript } = await openTerminal(words, { columns, cwd: machine.cwd, env: machine.env })
        .ended;
      const { text, ready } = await screenOf(settled(transcript), columns);
      expect({ code, ready, text: text.replace(/(?: ·)?\s+/g, ' ') }).toEqual({
        code: 141,
        ready: true,
        text: '{"name":"A"} {"name":"B"} 3 leads cost at most 60 credits. To print all of it, for free: leadpipe history show op_00000000000000 ',
      });
      expect(await machine.history()).toMatchObject([{ state: 'partial', leads: 3, credits_at_most: 60 }]);
      expect(await machine.leadpipe('resume --yes')).toMatchObject({
        code: 0,
        stderr: expect.stringContaining('There is nothing to resume.'),
      });
    },
  );

  it('may be resized while rows arrive', async () => {
    const terminal = run('search company slow', { columns: 120 });
    await terminal.waitFor(/2 of 100 leads · searching/);
    const before = terminal.transcript().length;
    terminal.resize(20);
    await expect.poll(() => terminal.transcript().slice(before)).toMatch(/ 2 of 100 leads…/);
    terminal.type('\x03');
    expect((await terminal.ended).code).toBe(130);
  });

  it.each([
    ['that is dumb', { TERM: 'dumb' }, ''],
    ['whose user wants no colours and no progress', {}, '--no-color -q'],
  ])('%s gets text, lines and nothing else', async (_, env, more) => {
    for (const line of ['search company fintech', 'contact email x', 'search company cut']) {
      const { transcript } = await run(`${line} ${more}`, { env }).ended;
      expect(transcript).toMatch(/^[^\x1b]+$/);
      expect(transcript.replaceAll('\r\n', '\n')).not.toContain('\r');
    }
  });

  it('has styles that read on light and dark, and no words in the faint one but IDs', async () => {
    let all = '';
    const lines = [
      'search company fintech',
      'contact email x',
      'research x',
      'extract x_followers x',
      'balance',
    ];
    for (const line of lines) {
      const { transcript } = await run(line).ended;
      const shown = settled(transcript).replace(redraw, '').replaceAll('\r\n', '\n');
      all += `$ leadpipe ${line}\n${shown.replaceAll('\x1b', '␛')}`;
      const styles = new Set(transcript.match(style));
      for (const known of usual) styles.delete(known);
      expect([...styles]).toEqual([]);
    }
    for (const [, words] of all.matchAll(/␛\[2m(.*?)␛\[22m/g))
      expect(words).toMatch(/^[─ ]+$|^\[\d+\]$|^(?:search|request|operation) /);
    await expect(all).toMatchFileSnapshot(join('golden', 'styles.txt'));
  });

  it.each([
    ['NO_COLOR', { NO_COLOR: '1' }, ''],
    ['--no-color', { FORCE_COLOR: '1' }, '--no-color'],
  ])('has none with %s', async (_, env, more) => {
    const { transcript } = await run(`search company fintech ${more}`, { env }).ended;
    expect(transcript).not.toMatch(style);
  });

  it('shows progress and the closing line alone while the rows go to a file', async () => {
    const cwd = temporaryFolder();
    const { transcript } = await run('search company "a few"', { cwd, redirect: '>leads.jsonl' }).ended;
    const rows = readFileSync(join(cwd, 'leads.jsonl'), 'utf8').trimEnd().split('\n');
    expect(rows.map((row) => JSON.parse(row).name)).toEqual([
      'Solaris Ledger GmbH',
      'Alster Konto',
      'Isar Giro',
    ]);
    expect((await screenOf(settled(transcript), 80)).text).toBe(
      '3 leads · limit reached · cost at most 3 credits\noperation op_00000000000000\n',
    );
  });

  it('shows the rows alone while the messages go to a file', async () => {
    const cwd = temporaryFolder();
    const { transcript } = await run('search company "a few"', { cwd, redirect: '2>messages.txt' }).ended;
    expect(transcript).toMatch(/^\x1b\[1mname[\s\S]+Solaris[\s\S]+Isar Giro[\s\S]*firms\.\r\n$/);
    expect(transcript).not.toContain('\x1b[K');
    expect(settled(readFileSync(join(cwd, 'messages.txt'), 'utf8'))).toBe(
      '3 leads · limit reached · cost at most 3 credits\n' +
        'search ls_test · request req_test · operation op_00000000000000\n',
    );
  });
});
