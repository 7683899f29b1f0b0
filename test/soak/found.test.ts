import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { runInProcess } from '../helpers/fake-context.ts';
import { bareEnvironment, pointedAt, temporaryFolder } from '../helpers/run.ts';
import { startCountingService } from './counting-service.ts';

/** What random runs have found, as short as it can be told. */
it('rows that another operation of a named run has bought are added to a file once', async () => {
  const service = await startCountingService(false);
  const home = temporaryFolder();
  const env = { ...bareEnvironment(home), ...pointedAt(service.url) };
  const [list, days] = [join(home, 'list.jsonl'), join(home, 'days.jsonl')];
  // The second row can't be sent, so that the list is never complete.
  writeFileSync(list, '{"objective":"Ada"}\n{"objective":""}\n');
  const contacts = (...more: string[]) =>
    runInProcess(['contact', 'email', '--input', list, '--run', 'october', ...more], { env });
  expect((await contacts('-o', join(home, 'own.jsonl'))).code).toBe(3);
  expect((await contacts('-o', days, '--append')).code).toBe(3);
  const once = readFileSync(days, 'utf8');
  expect(once).toContain('Ada@example.com');
  await contacts('-o', days, '--append');
  await service.close();
  // Neither the row with its answer nor the one that can't be sent.
  expect(readFileSync(days, 'utf8')).toBe(once);
});
