import { mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { crc32 } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type FaultServer, startFaultServer, wholeAnswer } from './helpers/fault-server.ts';
import { bareEnvironment, pointedAt, run, temporaryFolder } from './helpers/run.ts';

/** What V8 compiles is kept for the next run: damaged, V8 would crash on it. */

const balance =
  '{"object":"credit_balance","available_credits":7,"updated_at":"2026-01-01T00:00:00Z","next_credit_refresh_at":null}';
const state = temporaryFolder();
const file = join(state, 'compiled', `${process.version}-${process.arch}`, 'balance');
let server: FaultServer;
let env: Record<string, string>;

beforeAll(async () => {
  server = await startFaultServer((socket) => {
    socket.write(wholeAnswer('200 OK', 'application/json', balance));
  });
  env = { ...bareEnvironment(), ...pointedAt(server.url), LEADPIPE_STATE_DIR: state };
});
afterAll(() => server.close());

async function ask(args: readonly string[] = ['balance']): Promise<void> {
  expect(await run(args, { env })).toMatchObject({ code: 0, stdout: `${balance}\n`, stderr: '' });
}

function checked(rest: Buffer): Buffer {
  return Buffer.concat([Buffer.from(crc32(rest).toString(16).padStart(8, '0')), rest]);
}

describe('compiled code', () => {
  it('is kept once, for this user alone', async () => {
    await ask();
    const { ino, mode } = statSync(file);
    expect(mode & 0o777).toBe(0o600);
    await ask();
    expect(statSync(file).ino).toBe(ino);
    expect(readdirSync(join(file, '..'))).toEqual(['balance']);
  });

  it('gets what another way through the command needs, and keeps the rest', async () => {
    const { size } = statSync(file);
    await ask(['balance', '--require', '1']);
    expect(statSync(file).size).toBe(size);
    const table = await run(['balance', '-f', 'table'], { env });
    expect({ code: table.code, grown: statSync(file).size > size }).toEqual({ code: 0, grown: true });
    const { ino } = statSync(file);
    await ask();
    expect(statSync(file).ino).toBe(ino);
  });

  it.each<[string, (bytes: Buffer) => Buffer]>([
    ['empty', () => Buffer.alloc(0)],
    ['no such file at all', () => Buffer.from('hello\n')],
    ['cut in the middle', (bytes) => bytes.subarray(0, bytes.length >> 1)],
    [
      'zeroed in the middle',
      (bytes) => Buffer.from(bytes).fill(0, bytes.length >> 1, bytes.length >> (1 + 4096)),
    ],
    [
      'of another build',
      (bytes) =>
        checked(
          Buffer.from(
            bytes
              .subarray(8)
              .toString('latin1')
              .replace(/\["\w{16}"/, '["0123456789abcdef"'),
            'latin1',
          ),
        ),
    ],
    [
      'of another V8',
      (bytes) => {
        const rest = Buffer.from(bytes.subarray(8));
        const first = rest.indexOf('\n') + 1;
        return checked(rest.fill(1, first, first + 16));
      },
    ],
  ])('that is %s is made anew', async (_, damage) => {
    const whole = readFileSync(file);
    writeFileSync(file, damage(whole));
    await ask();
    expect(readFileSync(file).length).toBeGreaterThan(100_000);
    const { ino } = statSync(file);
    await ask();
    expect(statSync(file).ino).toBe(ino);
  });

  it('that can not be kept is no reason to fail', async () => {
    rmSync(file);
    mkdirSync(file);
    await ask();
  });

  it('is not kept of a run that failed, nor where nothing was ever kept', async () => {
    rmSync(join(state, 'compiled'), { recursive: true });
    expect((await run(['balance', '--require', '8'], { env })).code).toBe(5);
    expect(readdirSync(state)).toEqual([]);
    const nowhere = join(state, 'nowhere');
    env = { ...env, LEADPIPE_STATE_DIR: nowhere };
    await ask();
    expect(readdirSync(state)).toEqual([]);
  });
});
