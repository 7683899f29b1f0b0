import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { ending } from '../helpers/ending.ts';
import { createMachine } from '../helpers/machine.ts';
import { type CountingService, startCountingService } from '../soak/counting-service.ts';
import { runWith } from './faulty-run.ts';

/** A run reads the whole journal of an operation that it resumes, once. */

const preload = join(import.meta.dirname, 'read-preload.mjs');
const search = ['search', 'company', 'shops', '--limit', '12', '-o', 'a.csv'];
const task = ['task', 'run', 'company', 'shops', '--limit', '12', '--num', '2', '--poll-interval', '0.01'];
const list = ['contact', 'email', '--input', 'people.txt', '--concurrency', '1'];
const kinds: readonly [name: string, stored: string, args: readonly string[]][] = [
  ['a search', 'received.jsonl', search],
  ['a search --append', 'received.jsonl', [...search, '--append']],
  ['a task', 'received.jsonl', [...task, '-o', 'a.csv']],
  ['a list', 'rows.jsonl', [...list, '-o', 'a.csv']],
];

let service: CountingService;
beforeAll(async () => {
  service = await startCountingService(true);
});

describe.each(kinds)('the journal of %s', (_, stored, args) => {
  it.each([
    ['resume', ['resume', '--poll-interval', '0.01']],
    ['the same command', args],
  ])('that was killed is read once by %s', async (_again, again) => {
    const machine = createMachine(service.url);
    machine.write('people.txt', 'Ada\nBo\nCy\nDi\nEd\n');
    // Something has arrived by then.
    expect((await runWith({ mode: 'kill', at: 3, on: stored }, machine, args)).code).toBeNull();
    const reads = join(machine.cwd, '../reads');
    const { code, stderr } = await machine.run(again, { NODE_OPTIONS: `--import ${preload}`, READS: reads });
    // The row whose answer was lost is not bought again.
    expect({ code, stderr }).toMatchObject(ending(stored === 'rows.jsonl' ? 3 : 0, 'Resuming op_'));
    expect(readFileSync(reads, 'utf8')).toBe('1');
  });
});
