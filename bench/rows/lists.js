import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { folder, leadpipe, serve, wall } from '../measured.js';

const lookups = 10_000;
const atOnce = 32;
const lookupMs = 50;

/** A list of lookups beside the time that the service takes for them at the least. */
export async function listRows(measure, isWanted, { binary, version: node }) {
  const name = `list: ${lookups} lookups of ${lookupMs} ms, ${atOnce} at once ÷ ideal`;
  if (!isWanted(name)) return;
  const input = join(folder, 'list.txt');
  writeFileSync(
    input,
    Array.from({ length: lookups }, (_, row) => `head of sales at firm ${row}\n`).join(''),
  );
  const service = await serve({ LOOKUP_MS: String(lookupMs) });
  await measure({
    name,
    node,
    aim: '≤ 1.05',
    async pairs() {
      const run = ['--input', input, '--concurrency', String(atOnce), '-o', join(folder, 'list.jsonl'), '-q'];
      const own = await wall(leadpipe(binary, 'contact', 'email', ...run, '--base-url', service.url));
      return [[own, (lookups / atOnce) * lookupMs]];
    },
  });
  service.stop();
}
