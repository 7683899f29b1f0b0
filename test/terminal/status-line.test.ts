import { describe, expect, it } from 'vitest';
import {
  chunk,
  errorAnswer,
  type FaultServer,
  lastChunk,
  searchFrames,
  startFaultServer,
  streamHead,
} from '../helpers/fault-server.ts';
import { needs } from '../helpers/parts.ts';
import { inTerminal, openTerminal, type TerminalOptions } from '../helpers/pty.ts';
import { command, pointedAt } from '../helpers/run.ts';
import { screenOf } from '../helpers/screen.ts';
import { settled } from './settled.ts';

const frames = '[⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏]';
const lead = (name: string): string => `{"name":"${name}","id":12345678901234567890123}`;

/** The rows come one by one, with time for a line to be drawn between them. */
async function startSlowService() {
  // The line is there before the request is.
  let due = 0;
  let send = (): void => {};
  const pieces = searchFrames([[lead('Alster Konto')], [lead('Isar Giro')]]);
  const server = await startFaultServer((socket) => {
    socket.write(streamHead);
    send = () => {
      for (; due > 0; due--) {
        const piece = pieces.shift();
        if (piece !== undefined) socket.write(chunk(piece));
        if (pieces.length === 0) socket.end(lastChunk);
      }
    };
    send();
  });
  const next = (times = 1): void => {
    due += times;
    send();
  };
  return { ...server, next };
}

describe.skipIf(!needs('script', 'stty'))('the status line', () => {
  const run = (service: FaultServer, line: string, { env, ...options }: TerminalOptions = {}) =>
    inTerminal(line, { ...options, env: { ...pointedAt(service.url), ...env } });

  it.each([
    // What reads the pipe prints to the same terminal whenever it likes.
    ['a pipe', '-f jsonl', '| cat', /"name":"Alster Konto"[^\n]*\n/],
    ['an array of JSON', '-f json', '', /Alster Konto[\s\S]*?\}/],
  ])('is gone for good when rows go to %s', async (_, more, redirect, row) => {
    const service = await startSlowService();
    const terminal = run(service, `search company x ${more}`, { redirect });
    await terminal.waitFor(/searching/);
    service.next();
    const { index } = await terminal.waitFor(row);
    service.next();
    await terminal.waitFor(/Isar Giro/);
    service.next(2);
    const { transcript } = await terminal.ended;
    expect(transcript.slice(0, index)).toMatch(RegExp(`${frames}[\\s\\S]*\\r\\x1b\\[K`));
    expect(transcript.slice(index)).not.toMatch(RegExp(frames));
    const { text } = await screenOf(settled(transcript), 80);
    // The closing lines come after the last byte.
    if (redirect === '') expect(text).toMatch(/\n\]\n\n2 leads · limit reached · [^\n]+\n[^\n]+\noperation /);
  });

  it.skipIf(!needs('bash') || process.platform !== 'linux')(
    'is not drawn by a job in the background',
    async () => {
      const service = await startSlowService();
      const env = { ...pointedAt(service.url), PS1: '\\#$ ' };
      const shell = openTerminal(['bash', '--norc', '--noprofile', '-i'], { env });
      await shell.waitFor(/1\$ $/);
      shell.type(`${process.execPath} ${command} search company x &\r`);
      service.next();
      await shell.waitFor(/\nAlster Konto/);
      // The line would be there long before that.
      shell.type('sleep 1; fg\r');
      const { index } = await shell.waitFor(/fg\r\n[\s\S]*search company x/);
      expect(shell.transcript().slice(0, index)).not.toMatch(RegExp(frames));
      await shell.waitFor(RegExp(`search company x[\\s\\S]*${frames}\\S* 1 of 100 leads`));
      service.next(3);
      await shell.waitFor(/3\$ $/);
      shell.type('exit\r');
      await shell.ended;
    },
  );

  it('comes back under the rows of a table', async () => {
    const service = await startSlowService();
    const terminal = run(service, 'search company x');
    await terminal.waitFor(/searching/);
    service.next();
    await terminal.waitFor(/Alster Konto[\s\S]*1 of 100 leads · searching/);
    service.next(3);
    const { transcript } = await terminal.ended;
    expect((await screenOf(transcript, 80)).text).not.toMatch(RegExp(frames));
  });

  const silent = () => startFaultServer(() => {});
  const busy = () =>
    startFaultServer(
      (socket) => void socket.end(errorAnswer('429 X', 'concurrency_limit', 'busy', ['Retry-After: 5'])),
    );
  const closed = async () => {
    const service = await silent();
    await service.close();
    return service;
  };

  it.each<[name: string, start: () => Promise<FaultServer>, said: RegExp, urlOf?: (url: string) => string]>([
    ['how long a wait is, and why', busy, /waiting 5 s: (too many requests \(429\))…[\s\S]*waiting 4 s: \1…/],
    // It takes the connection, and then says nothing of TLS.
    [
      'that a host does not answer',
      silent,
      /connecting to 127\.0\.0\.1:\d+…/,
      (url) => url.replace('http:', 'https:'),
    ],
    [
      'why one that is not there is asked again',
      closed,
      /waiting \d s: nothing answers at \S+ \(ECONNREFUSED\)…/,
      // An address of this machine that is not one of its loopback addresses.
      (url) => url.replace('http://127.0.0.1', 'https://0.0.0.0'),
    ],
    [
      'the name of one that is wrong',
      closed,
      /waiting \d s: .*no-such-host\.invalid/,
      () => 'https://no-such-host.invalid',
    ],
  ])('says %s', async (_, start, said, urlOf = (url) => url) => {
    const service = await start();
    const terminal = run(service, 'balance', { env: { LEADPIPE_BASE_URL: urlOf(service.url) } });
    await terminal.waitFor(said);
    terminal.type('\x03');
    const { transcript, code } = await terminal.ended;
    expect(code).toBe(130);
    expect((await screenOf(transcript, 80)).text).toBe('Stopped by Ctrl-C.\ncharged: no\n');
  });
});
