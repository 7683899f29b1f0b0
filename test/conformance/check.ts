import { type RowResult, runRows } from './interpreter.ts';
import { rows } from './rows/index.ts';
import type { ServiceOptions } from './service.ts';

/** The results of rows against a service. */
export async function check(options: ServiceOptions, some = rows): Promise<RowResult[]> {
  const results: RowResult[] = [];
  for await (const result of runRows(some, options)) results.push(result);
  return results;
}
