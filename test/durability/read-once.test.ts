import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import type { Entries } from '../../src/operations/journal/journal-file.ts';
import { fold, type Operation } from '../../src/operations/operation.ts';
import { createMachine } from '../helpers/machine.ts';
import { type CountingService, startCountingService } from '../soak/counting-service.ts';
import { entriesOf, killedAt, runWith } from './faulty-run.ts';

/** What a run reads of the journal of an operation that it resumes: all of it, and once. */

const preload = join(import.meta.dirname, 'read-preload.mjs');
const search = ['search', 'company', 'shops', '--limit', '12', '-o', 'a.csv'];
const task = ['task', 'run', 'company', 'shops', '--limit', '12', '--num', '2', '--poll-interval', '0.01'];
const kinds: readonly [name: string, args: readonly string[]][] = [
  ['a search', search],
  ['a search --append', [...search, '--append']],
  ['a task', [...task, '-o', 'a.csv']],
  ['a list', ['contact', 'email', '--input', 'people.txt', '--concurrency', '1', '-o', 'a.csv']],
];

let service: CountingService;
beforeAll(async () => {
  service = await startCountingService(true);
});

/** Whether something of it has arrived, or can. */
const toResumes = ({ resumes, phase }: Operation): boolean => resumes !== 'no' && phase !== 'new';

describe.each(kinds)('the journal of %s', (_, args) => {
  it.each([
    ['resume', ['resume', '--poll-interval', '0.01']],
    ['the same command', args],
  ])('that was killed is read once by %s', async (_again, again) => {
    let machine = createMachine(service.url);
    for (let at = 24, isUnfinished = false; !isUnfinished; at += 3) {
      machine = createMachine(service.url);
      machine.write('people.txt', 'Ada\nBo\nCy\nDi\nEd\n');
      expect((await runWith(killedAt(at), machine, args)).code).toBeNull();
      const [entries] = await entriesOf(machine);
      isUnfinished = entries !== undefined && toResumes(fold('', entries as Entries));
    }
    const reads = join(machine.cwd, '../reads');
    const { code, stderr } = await machine.run(again, { NODE_OPTIONS: `--import ${preload}`, READS: reads });
    expect({ code, stderr }).toEqual({ code: 0, stderr: expect.stringContaining('Resuming op_') });
    expect(readFileSync(reads, 'utf8')).toBe('1');
  });
});
