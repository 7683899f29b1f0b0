import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
// @ts-expect-error A script, without types.
import { readMarks, readRules, toTable } from '../../scripts/interface-table.js';
import { rows } from '../conformance/rows/index.ts';

type Part = 'client' | 'service';
interface Rule {
  readonly id: string;
  readonly parts: readonly Part[];
  readonly rows: readonly string[];
  readonly rule: string;
}

const rules = readRules() as Rule[];
const marks = readMarks() as Record<Part, Map<string, string[]>>;
/** The parts whose places are marked: a rule without a place in one of them is held by nobody there. */
const marked: readonly Part[] = ['client', 'service'];

describe('every rule of the interface', () => {
  it('has one ID, and a row of the suite or a word on why there is none', () => {
    expect(new Set(rules.map(({ id }) => id)).size).toBe(rules.length);
    const without = rules.filter(({ rows: some, rule }) => some.length === 0 && !rule.endsWith(')'));
    expect(without.map(({ id }) => id)).toEqual([]);
    const gone = rules.flatMap((one) =>
      one.rows.filter((begins) => !rows.some(({ id }) => id.startsWith(begins))),
    );
    expect(gone).toEqual([]);
  });

  it('is what each row of the suite is about', () => {
    const begins = rules.flatMap((rule) => rule.rows);
    const loose = rows.filter(({ id }) => !begins.some((one) => id.startsWith(one))).map(({ id }) => id);
    expect(loose.filter((id) => !/^(common|authentication|errors|settlement)\//.test(id))).toEqual([]);
  });

  it.each(marked)('has a place in the %s', (part) => {
    const without = rules.filter(({ id, parts }) => parts.includes(part) && !marks[part].has(id));
    expect(without.map(({ id }) => id)).toEqual([]);
  });

  it('is known by the marks, and stands in docs/interface.md', () => {
    const ids = new Set(rules.map(({ id }) => id));
    expect([...marks.client.keys(), ...marks.service.keys()].filter((id) => !ids.has(id))).toEqual([]);
    const table = readFileSync(join(import.meta.dirname, '../../docs/interface.md'), 'utf8');
    expect(table).toBe(toTable(rules, marks));
  });
});
