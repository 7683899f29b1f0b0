import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { expect, it } from 'vitest';
import { ledgerKey, startLedgerService } from '../helpers/ledger.ts';
import { bareEnvironment, command, pointedAt, temporaryFolder } from '../helpers/run.ts';

it('search | enrich | contact: the first contact is out before the search is done', async () => {
  // The second lead of the search comes after a minute.
  const service = await startLedgerService({ batch_size: 1, batch_pause_ms: 60_000 });
  const options = {
    cwd: temporaryFolder(),
    env: { ...bareEnvironment(), ...pointedAt(service.url, ledgerKey) },
  };
  const leadpipe = (...args: string[]) =>
    spawn(process.execPath, [command, ...args, '-q', '-f', 'jsonl'], options);
  const search = leadpipe('search', 'company', 'fintech', '--limit', '5');
  const enrich = leadpipe('enrich', '--input', '-', '--field', 'city');
  const contact = leadpipe('contact', 'email', '--input', '-');
  for (const { stdin } of [enrich, contact]) stdin.on('error', () => {});
  search.stdout.pipe(enrich.stdin);
  enrich.stdout.pipe(contact.stdin);
  const [row] = await once(contact.stdout, 'data');
  expect(JSON.parse(String(row).split('\n', 1)[0] ?? '')).toMatchObject({
    name: expect.any(String),
    enrich: {},
    email: {},
  });
  expect(search.exitCode).toBeNull();
  const all = [search, enrich, contact];
  const ended = Promise.all(all.map((child) => once(child, 'close')));
  for (const child of all) child.kill('SIGKILL');
  await ended;
});
