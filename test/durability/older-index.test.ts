import { cpSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { at, bodies, first, lines, rest, script } from '../helpers/cut-searches.ts';

it('a state whose index was copied before a search began: only the rest of it is bought', async () => {
  const [index, before] = [join(at.state, 'index'), join(at.state, 'before')];
  script.cuts = 0;
  await at.leadpipe('search person y -o others.jsonl');
  script.cuts = 1;
  cpSync(index, before, { recursive: true });
  expect(await at.leadpipe('search company x --limit 10 -o leads.jsonl')).toMatchObject({ code: 3 });
  rmSync(index, { recursive: true });
  cpSync(before, index, { recursive: true });
  expect(await at.leadpipe('search company x --limit 10 -o leads.jsonl')).toMatchObject({ code: 0 });
  expect(readFileSync(at.pathOf('leads.jsonl'), 'utf8')).toBe(lines(...first, ...rest));
  expect(bodies().slice(1)).toMatchObject([{ limit: 10 }, { limit: 8 }]);
});
