import { once } from 'node:events';
import type { Socket } from 'node:net';
import { expect, it } from 'vitest';
import {
  chunk,
  type FaultServer,
  lastChunk,
  searchFrames,
  startFaultServer,
  streamHead,
} from '../helpers/fault-server.ts';
import { pointedAt, run } from '../helpers/run.ts';

let server: FaultServer | undefined;

/** Far below what these floods took when a frame, an answer or a list of warnings had no measure: 600 to 3300. */
const mostMiB = 400;
const peakReport = `process.on('exit',()=>process.stderr.write('PEAK '+process.resourceUsage().maxRSS/1024))`;

const MiB = 1024 * 1024;
const jsonHead = streamHead.replace('text/event-stream', 'application/json');
const search = ['search', 'company', 'anything', '--limit', '10', '-f', 'jsonl'];
const contact = ['contact', 'email', 'anyone'];
const leads = (index: number): string[] =>
  Array.from({ length: 100 }, (_, at) => `{"name":"Lead ${100 * index + at}"}`);

const floods: readonly [
  name: string,
  args: readonly string[],
  code: number,
  pieces: () => Iterable<string>,
][] = [
  [
    'data lines without an end',
    search,
    8,
    function* () {
      for (let n = 0; n < 100 * MiB; n += 6000) yield 'data:\n'.repeat(1000);
    },
  ],
  [
    'a frame of nothing but brackets',
    search,
    8,
    () => [`data: ${'['.repeat(8 * MiB - 9)}`, ']'.repeat(8 * MiB - 9), '\n\n'],
  ],
  [
    'an answer of nothing but brackets',
    contact,
    8,
    () => ['{"x":', '['.repeat(31 * MiB), ']'.repeat(31 * MiB), '}'],
  ],
  ['an answer of nothing but objects', contact, 8, () => ['{"x":[', '{},'.repeat(20 * MiB), '{}]}']],
  [
    'odd batches',
    search,
    8,
    () => Array.from({ length: 200_000 }, () => 'data: {"object":"entity_search_batch"}\n\n'),
  ],
  ['leads', search, 0, () => searchFrames(Array.from({ length: 3000 }, (_, index) => leads(index)))],
];

it.each(floods)(
  '%s take little memory and few words',
  async (name, args, code, pieces) => {
    server = await startFaultServer((socket, { method }) => {
      if (method === 'POST') return pour(socket, args === contact ? jsonHead : streamHead, pieces());
      socket.end('HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n');
    });
    const env = {
      ...pointedAt(server.url),
      NODE_OPTIONS: `--import data:text/javascript,${encodeURIComponent(peakReport)}`,
    };
    const result = await run(args, { env });
    const [, peak] = /PEAK (\d+)/.exec(result.stderr) ?? [];
    expect(result.code).toBe(code);
    // The parser holds all lines of a frame; the cap of a frame bounds what it takes for them.
    expect(Number(peak)).toBeLessThan(name.startsWith('data lines') ? 700 : mostMiB);
    expect(result.stderr.length).toBeLessThan(2000);
    if (code === 0) expect(result.stdout.split('\n')).toHaveLength(300_001);
  },
  120_000,
);

/** As fast as the reader takes it, and no further than it does. */
async function pour(socket: Socket, head: string, pieces: Iterable<string>): Promise<void> {
  const gone = once(socket, 'close').catch(() => undefined);
  socket.write(head);
  for (const piece of pieces) {
    if (socket.destroyed) return;
    if (!socket.write(chunk(piece))) await Promise.race([once(socket, 'drain').catch(() => undefined), gone]);
  }
  socket.write(lastChunk);
}
