import { expect, it } from 'vitest';
import { at, bodies, first, lines, rest, script } from '../helpers/cut-searches.ts';
import { ending } from '../helpers/ending.ts';
import { searchFrames, startSearchServer } from '../helpers/fault-server.ts';
import { createMachine } from '../helpers/machine.ts';

/** A search that was cut, and the same command again: only the rest is bought. */

const resume = 'history resume';
const search = (more = '') => at.leadpipe(`search company x --limit 9 -o leads.jsonl ${more}`);

it('a continuation that is refused changes nothing: the next one buys the same rest', async () => {
  expect((await search()).code).toBe(3);
  script.refusals = 2;
  for (const _ of [1, 2]) expect(await search()).toMatchObject(ending(5, 'charged: no'));
  const known = (await at.history()).map(({ state, charged }) => [state, charged]);
  expect(known).toEqual([['partial', 'yes'], ...Array(2).fill(['failed', 'no'])]);
  expect((await search()).code).toBe(0);
  expect(at.read('leads.jsonl')).toBe(lines(...first, ...rest));
  expect(at.files()).toEqual(['leads.jsonl']);
  const missing = { ...bodies()[0], limit: 7, dedup_service_leads: ['ls_test'] };
  expect(bodies().slice(1)).toEqual([missing, missing, missing]);
  // Now all of it is there, and the same command buys again.
  expect((await search()).code).toBe(0);
  expect(bodies()[4]).toEqual(bodies()[0]);
});

it('a continuation that is refused is none: the search can still be resumed, by its ID or as the latest', async () => {
  expect((await at.leadpipe('search company x --limit 9 -f jsonl')).code).toBe(3);
  const [{ operation_id } = {}] = await at.history();
  for (const line of [`${resume} ${operation_id}`, resume]) {
    script.refusals = 1;
    expect({ line, ...(await at.leadpipe(line)) }).toMatchObject({ line, ...ending(5, 'charged: no') });
  }
  const rested = await at.leadpipe(`${resume} ${operation_id}`);
  expect(rested).toMatchObject({ code: 0, stdout: lines(...rest) });
  expect(bodies().map(({ limit }) => limit)).toEqual([9, 7, 7, 7]);
  expect((await at.history())[0]).toMatchObject({ operation_id, state: 'complete' });
});

it('names what arrived where no ID of the search came', async () => {
  const leads = ['{"name":"A","id":1}', '{"id":2}', '{"name":"B, \\"C\\""}'];
  let nth = 0;
  const server = await startSearchServer(() => {
    const frames = nth++ === 0 ? searchFrames([leads]).slice(0, 1) : searchFrames([rest]);
    return frames.map((frame) => frame.replace(/"leads_search_id":"\w+",/, ''));
  });
  const there = createMachine(server.url);
  const line = 'search company x --limit 9 --dedup-custom-leads D -o leads.jsonl';
  expect((await there.leadpipe(line)).code).toBe(3);
  expect((await there.leadpipe(line)).code).toBe(0);
  const [whole, missing] = server.requests
    .filter(({ method }) => method === 'POST')
    .map(({ body }) => JSON.parse(body));
  expect(missing).toEqual({ ...whole, limit: 6, dedup_custom_leads: ['D', 'A', 'B, "C"'] });
  expect(there.read('leads.jsonl')).toBe(lines(...leads, ...rest));
});
