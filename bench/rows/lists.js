import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { folder, leadpipe, peakOf, serve, wall } from '../measured.js';

const atOnce = 32;

/** A list of lookups beside the time that the service takes for them at the least, and the memory of a long one. */
export async function listRows(measure, isWanted, { binary, version: node }) {
  const run = (input, service) => {
    const args = ['--concurrency', String(atOnce), '-o', `${input}.jsonl`, '-q', '--base-url', service.url];
    return leadpipe(binary, 'contact', 'email', '--input', input, ...args);
  };
  const rows = [
    {
      name: `list: 10000 lookups of 50 ms, ${atOnce} at once ÷ ideal`,
      aim: '≤ 1.1',
      lookups: 10_000,
      lookupMs: 50,
      pair: async (list) => [await wall(list), (10_000 / atOnce) * 50],
    },
    {
      name: 'memory: 100000 lookups ÷ 200 MB',
      aim: '≤ 1',
      unit: 'MiB',
      lookups: 100_000,
      lookupMs: 5,
      pair: async (list) => [await peakOf(list), 200e6 / 2 ** 20],
    },
  ];
  for (const { lookups, lookupMs, pair, ...row } of rows) {
    if (!isWanted(row.name)) continue;
    const input = join(folder, `${lookups}.txt`);
    const objectives = Array.from({ length: lookups }, (_, index) => `head of sales at firm ${index}\n`);
    writeFileSync(input, objectives.join(''));
    const service = await serve({ LOOKUP_MS: String(lookupMs) });
    await measure({ ...row, node, pairs: async () => [await pair(run(input, service))] });
    service.stop();
  }
}
