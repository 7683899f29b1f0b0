import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { describe, expect, it } from 'vitest';
import { closing } from '../helpers/closing.ts';
import { runInProcess } from '../helpers/fake-context.ts';
import {
  type Answer,
  chunk,
  type FaultServer,
  frame,
  startFaultServer,
  streamHead,
} from '../helpers/fault-server.ts';
import { pointedAt, resultOf, start } from '../helpers/run.ts';
import { toFailure, withSettings } from '../helpers/settings.ts';

let server: FaultServer | undefined;

const search = ['search', 'company', 'x', '-f', 'jsonl', '-q', '--json-errors'];
const lead = chunk(
  frame(
    '{"object":"entity_search_batch","leads_search_id":"ls","batch_index":1,"count":1,"cum_count":1,"entities":[{"name":"A"}]}',
  ),
);

/** Writes `bytes` every 20 ms for as long as the connection lasts, after the head and one lead. */
const beating =
  (bytes: Buffer): Answer =>
  (socket) => {
    socket.write(Buffer.concat([Buffer.from(streamHead), lead]));
    const beat = setInterval(() => socket.write(bytes), 20);
    socket.on('close', () => clearInterval(beat));
  };
const halfAnswer = 'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n{';
const batch = (index: number): Buffer =>
  chunk(frame(`{"object":"an_event_of_tomorrow","batch_index":${index}}`));

describe('each time limit', () => {
  it.each<[setting: string, answer: Answer, says: string]>([
    ['timeout.headers', () => {}, 'no answer for 0.3 s'],
    [
      'timeout.idle',
      (socket) => void socket.write(Buffer.concat([Buffer.from(streamHead), lead])),
      'no data for 0.3 s',
    ],
    ['timeout.event', beating(chunk(': comment\n\n')), 'no new leads for 0.3 s'],
    ['timeout.total', beating(batch(2)), 'the answer was not complete after 0.3 s'],
  ])('%s', async (setting, answer, says) => {
    server = await startFaultServer(answer);
    // The whole is at least as long as the silences in it. Each event ends such a silence.
    const silences = { 'timeout.headers': 0.15, 'timeout.idle': 0.15, 'timeout.event': 0.15 };
    const shorter = setting === 'timeout.total' ? silences : { 'timeout.total': 0.1 };
    const settings = withSettings({ 'retry.attempts': 0, ...shorter, [setting]: 0.3 });
    const { error } = toFailure(
      await runInProcess(search, { env: { ...settings, ...pointedAt(server.url) } }),
    );
    expect(error.message).toContain(says);
  });

  it.each<[name: string, answer: Answer, says: string, line?: string]>([
    ['the head', () => {}, 'no answer for 0.3 s'],
    ['a lead', beating(chunk(': comment\n\n')), 'no new leads for 0.3 s'],
    ['more of it', (socket) => void socket.write(halfAnswer), 'no data for 0.3 s', 'contact email x'],
  ])('--timeout is for %s, whatever the settings say', async (_, answer, says, line = 'search company x') => {
    server = await startFaultServer(answer);
    const longer = { 'timeout.headers': 600, 'timeout.idle': 600, 'timeout.event': 600 };
    const env = { ...withSettings({ 'retry.attempts': 0, ...longer }), ...pointedAt(server.url) };
    const { error } = toFailure(await runInProcess(`${line} --timeout 0.3 --json-errors`, { env }));
    expect(error.message).toContain(says);
  });

  it.each([['timeout.headers'], ['--timeout']])(
    '%s that runs out before there is a connection leaves a paid request unsent',
    async (limit) => {
      const silent = await startSilent();
      const env = {
        ...withSettings({ 'retry.attempts': 0, ...(limit === '--timeout' ? {} : { [limit]: 0.1 }) }),
        ...pointedAt(silent.url),
      };
      const args = limit === '--timeout' ? [...search, limit, '0.1'] : search;
      const { code, error } = toFailure(await runInProcess(args, { env }));
      expect(code).toBe(75);
      expect(error).toMatchObject({ type: 'unsent', charged: 'no', retryable: true });
      expect(error.message).toContain('no answer for 0.1 s');
    },
  );

  it.each<[name: string, toEnv: (silent: string) => Record<string, string>]>([
    ['the service', pointedAt],
    ['an http proxy', (silent) => ({ HTTPS_PROXY: silent.replace('https', 'http') })],
    ['an https proxy', (silent) => ({ HTTPS_PROXY: silent })],
  ])('a run ends with its error while a connection to %s is still being opened', async (_, toEnv) => {
    const silent = await startSilent();
    const env = {
      ...withSettings({ 'retry.attempts': 0, 'timeout.connect': 600 }),
      ...pointedAt('https://service.example'),
      ...toEnv(silent.url),
    };
    const { code, error } = toFailure(await resultOf(start([...search, '--timeout', '0.1'], { env })));
    expect([code, error.charged]).toEqual([75, 'no']);
  });

  it('Ctrl-C before there is a connection leaves a paid request unsent', async () => {
    const silent = await startSilent();
    const child = start(search, { env: pointedAt(silent.url) });
    const result = resultOf(child);
    await silent.connection;
    child.kill('SIGINT');
    const { code, error } = toFailure(await result);
    expect([code, error.charged]).toEqual([130, 'no']);
  });
});

/** Takes connections and never speaks TLS. */
async function startSilent(): Promise<{ url: string; connection: Promise<unknown>; close(): void }> {
  const server = createServer((socket) => socket.on('error', () => {}));
  const connection = once(server, 'connection');
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port } = server.address() as AddressInfo;
  return closing({ url: `https://127.0.0.1:${port}`, connection, close: () => void server.close() });
}
