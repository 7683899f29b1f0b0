import { once } from 'node:events';
import type { Socket } from 'node:net';
import { expect, it } from 'vitest';
import { chunk, lastChunk, notFound, searchFrames, streamHead } from '../helpers/fault-server.ts';
import { machineWith } from '../helpers/machine.ts';

/** Memory limit. Without limits for frames and warnings, these floods took 600 to 3300. */
const mostMiB = 400;
const peakReport = `process.on('exit',()=>process.stderr.write('PEAK '+process.resourceUsage().maxRSS/1024))`;

const MiB = 1024 * 1024;
/** 34 kB: a few of them fill the buffer of a connection. */
const leads = (index: number): string[] =>
  Array.from(
    { length: 100 },
    (_, nth) => `{"name":"Lead ${100 * index + nth}","about":"${'x'.repeat(300)}"}`,
  );

/** Of bodies that are no streams, and of what has no end, test/hostile has more. */
const floods: readonly [name: string, code: number, most: number, pieces: () => Iterable<string>][] = [
  // The parser holds all lines of a frame; the cap of a frame bounds what it takes for them.
  [
    'data lines without an end',
    8,
    700,
    () => Array(Math.ceil((100 * MiB) / 6000)).fill('data:\n'.repeat(1000)),
  ],
  [
    'a frame of nothing but brackets',
    8,
    mostMiB,
    () => [`data: ${'['.repeat(8 * MiB - 9)}`, ']'.repeat(8 * MiB - 9), '\n\n'],
  ],
  [
    'a batch with more spaces than a frame may have',
    8,
    mostMiB,
    () =>
      searchFrames([['{"name":"A"}']]).map((one) => one.replace('data: ', `data: ${' '.repeat(17 * MiB)}`)),
  ],
  ['odd batches', 8, mostMiB, () => Array(200_000).fill('data: {"object":"entity_search_batch"}\n\n')],
  // They are read as fast as they are printed.
  ['leads', 0, 200, () => searchFrames(Array.from({ length: 2000 }, (_, index) => leads(index)))],
];

it.each(floods)(
  '%s take little memory and few words',
  async (_, code, most, pieces) => {
    const at = await machineWith((socket, { method }) => {
      if (method === 'POST') return pour(socket, pieces());
      socket.end(notFound);
    });
    const NODE_OPTIONS = `--import data:text/javascript,${encodeURIComponent(peakReport)}`;
    const result = await at.run('search company anything --limit 10 -o leads.jsonl', { NODE_OPTIONS });
    const [, peak] = /PEAK (\d+)/.exec(result.stderr) ?? [];
    expect(result.code).toBe(code);
    expect(Number(peak)).toBeLessThan(most);
    expect(result.stderr.length).toBeLessThan(2000);
    if (code === 0) expect(at.read('leads.jsonl').split('\n')).toHaveLength(200_001);
  },
  120_000,
);

/** As fast as the reader takes it, and no further than it does. */
async function pour(socket: Socket, pieces: Iterable<string>): Promise<void> {
  const gone = once(socket, 'close').catch(() => undefined);
  socket.write(streamHead);
  for (const piece of pieces) {
    if (socket.destroyed) return;
    if (!socket.write(chunk(piece))) await Promise.race([once(socket, 'drain').catch(() => undefined), gone]);
  }
  socket.write(lastChunk);
}
