import { endpoints } from '../contract/endpoints.ts';
import type { Action, KeyName, Request, Row, Step } from './row.ts';

/** What rows may be charged for, known before anything is sent. */

function isAction(step: Step): step is Action {
  return 'take' in step;
}

function stepsOf(row: Row): [step: Step, accepted: boolean][] {
  const before = (row.before ?? []).map((step): [Step, boolean] => [
    step,
    isAction(step) || (step.answered ?? [200]).includes(200),
  ]);
  return [...before, [row.request, row.expect.status.includes(200)]];
}

/** The requests of rows that a service which keeps the rules may charge to the main account; `taken` are shared ones, to which it adds. */
export function paidRequestsOf(rows: readonly Row[], taken = new Set<string>()): Request[] {
  const paidBy = ({ after, once, pays = [] }: Action): readonly Request[] => {
    if (once !== undefined && taken.has(once)) return [];
    if (once !== undefined) taken.add(once);
    return [...(after === undefined ? [] : paidBy(after)), ...pays];
  };
  return rows
    .flatMap(stepsOf)
    .flatMap(([step, accepted]) => (isAction(step) ? paidBy(step) : accepted ? [step] : []))
    .filter(isPaid);
}

function isPaid({ endpoint, apiKey = 'main' }: Request): boolean {
  return endpoints[endpoint].method === 'POST' && apiKey === 'main';
}

/** Pure: the keys that a row needs beside the main one. */
export function keysOf(row: Row): KeyName[] {
  const requests = stepsOf(row).flatMap(([step]) => (isAction(step) ? (step.pays ?? []) : [step]));
  const names = [...(row.needs ?? []), ...requests.map(({ apiKey }) => apiKey)];
  return names.filter((name) => name !== undefined && name !== 'none' && name !== 'unknown');
}
