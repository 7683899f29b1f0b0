import { appendFileSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { noLock } from '../../../src/files/folder-lock.ts';
import type { Records } from '../../../src/json/text.ts';
import { createStoredLeads, leadsFile, readStoredLeads } from '../../../src/operations/journal/leads.ts';
import { temporaryFolder } from '../../helpers/run.ts';

async function keep(folder: string, leads: Records, isNew?: readonly boolean[]): Promise<void> {
  const stored = await createStoredLeads(folder, noLock);
  stored.append(leads, isNew);
  await stored.close();
}

async function read(folder: string, damaged = noDamage): Promise<string[]> {
  const leads: string[] = [];
  for await (const some of readStoredLeads(folder, damaged)) leads.push(...some);
  return leads;
}

const noDamage = (line: number, path: string): void => {
  throw new Error(`line ${line} of ${path}`);
};

describe('stored leads', () => {
  it('come back to the byte, also when the service wrote one on several lines', async () => {
    const objects = ['{"a":12345678901234567890}', '{"a":\n1}', '{"a":\r\n 1.10}'];
    const leads = [...objects, '{"text":"\u2028 é 日 😀"}', '"\\u001b[31m"', '7'];
    const folder = temporaryFolder();
    await keep(folder, leads);
    expect(await read(folder)).toEqual(leads);
  });

  it('do so for any objects', async () => {
    const spaces = fc.constantFrom('', ' ', '\n', '\r\n\t');
    const lead = fc.tuple(fc.dictionary(fc.string(), fc.jsonValue()), spaces).map(([value, space]) => {
      const text = JSON.stringify(value, null, space.length);
      return `{${space}${text.slice(1)}`;
    });
    await fc.assert(
      fc.asyncProperty(fc.array(lead, { maxLength: 250 }), async (leads) => {
        const folder = temporaryFolder();
        await keep(folder, leads);
        expect(await read(folder)).toEqual(leads);
      }),
      { numRuns: 30 },
    );
  });

  it('that are not new are kept as well, and left out of what is read', async () => {
    const leads = ['{"a":12345678901234567890}', '{ "text" : "é 日 😀 “x”" }', '7', '{"a":"\\u001b[31m"}'];
    const folder = temporaryFolder();
    await keep(folder, leads, [true, false, true, true]);
    expect(await read(folder)).toEqual(leads.filter((_, index) => index !== 1));
    expect(readFileSync(join(folder, leadsFile), 'utf8').split('\n')).toHaveLength(leads.length + 1);
  });

  it('without the torn last one of a killed process', async () => {
    const folder = temporaryFolder();
    await keep(folder, ['{"a":1}']);
    appendFileSync(join(folder, leadsFile), '{"a":');
    expect(await read(folder)).toEqual(['{"a":1}']);
  });
});
