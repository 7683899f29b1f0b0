import { readdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { StoreContext } from '../../context.ts';
import { digestOf } from '../../digest.ts';
import { ConfigurationError, LocalIoError } from '../../errors.ts';
import { type HeldLock, isLocked, withFolderLock } from '../../files/folder-lock.ts';
import { checkedLines, type LineLog, notStored, openLog, toCheckedLine } from '../../files/line-log.ts';
import { syncFolder } from '../../files/private-folder.ts';
import { writeAtomically } from '../../files/whole-file.ts';
import type { Buyer } from '../buyer.ts';
import { folderOf, readOrNothing } from '../journal/folders.ts';
import type { Identity } from './identity.ts';

/*
 * Each list has a folder, and each run has its own file there, which no other run writes to. So two runs at once can't lose each other's
 * leads, and no run waits for another. When there are many files, those of finished runs are merged into one. A list stays when the history
 * is pruned.
 */

const what = 'the delivered leads';
/** The file with the merged runs. */
const foldedFile = 'folded.jsonl';
const ending = '.jsonl';
/** With fewer files than this, nothing is merged. */
const maxRuns = 20;

export type Damaged = (what: string) => unknown;

/** The folder of a list. The fictional leads of the local service have their own lists, so that they don't exclude real ones. */
export function folderOfList(stateDir: string, list: string, origin: string): string {
  const place = origin === 'local' ? 'local' : 'remote';
  return join(stateDir, 'lists', digestOf(`${place}\n${list}`));
}

/** Everything that the runs of a list have delivered, oldest first. Throws LocalIoError. */
export async function readList(folder: string, damaged: Damaged): Promise<Delivered[]> {
  // The merged file is read last: runs that are merged meanwhile are then read twice, and not missed.
  const lines = await readLines(folder, [...(await runsIn(folder)), foldedFile], damaged);
  // Operation IDs sort chronologically.
  return lines.sort(
    (a, b) => Number(a.operation_id > b.operation_id) - Number(a.operation_id < b.operation_id),
  );
}

/** Opens the file of an operation, whose lock is `own`. Throws LocalIoError, and `temporary` as `withFolderLock`. */
export async function openRunFile(
  { context }: Buyer,
  folder: string,
  operationId: string,
  own: HeldLock,
): Promise<LineLog> {
  const path = join(folder, `${operationId}${ending}`);
  try {
    // Under this lock, no process merges the file of a run that is about to write to it.
    return await withFolderLock(folder, context, 'the list of these leads', async (lock) => {
      await foldOver(context.directories.state, folder, lock);
      return await openLog(path, 'any', what, own);
    });
  } catch (thrown) {
    const error = notStored(what, path, thrown);
    throw error instanceof LocalIoError ? error.with({ charged: 'no', facts: { is: 'no_journal' } }) : error;
  }
}

/**
 * Takes the leads of an operation, whose lock the caller has, out of a list. Throws ConfigurationError for a damaged list, LocalIoError, and
 * `temporary` as `withFolderLock`.
 */
export async function removeRun(context: StoreContext, folder: string, operationId: string): Promise<void> {
  const path = join(folder, `${operationId}${ending}`);
  await withFolderLock(folder, context, 'the list of these leads', async (lock) => {
    const lines = await readLines(folder, [foldedFile], (damage) => {
      throw new ConfigurationError(damage, 'leadpipe did not change it.');
    });
    const others = lines.filter((line) => line.operation_id !== operationId);
    if (others.length < lines.length) {
      await writeAtomically(join(folder, foldedFile), others.map(toDeliveredLine).join(''), what, lock);
    }
    await rm(path, { force: true }).catch((error: unknown) => {
      throw notStored(what, path, error);
    });
    await syncFolder(folder);
  });
}

/** Merges the files of finished runs when there are many. Changes nothing where one is damaged. `lock` is that of the folder. */
async function foldOver(stateDir: string, folder: string, lock: HeldLock): Promise<void> {
  const runs = await runsIn(folder);
  if (runs.length < maxRuns) return;
  const over = runs.filter((name) => !isLocked(folderOf(stateDir, name.slice(0, -ending.length)))).sort();
  const damages: string[] = [];
  const lines = await readLines(folder, [foldedFile, ...over], (what) => damages.push(what));
  if (damages.length > 0) return;
  await writeAtomically(join(folder, foldedFile), folded(lines).map(toDeliveredLine).join(''), what, lock);
  for (const name of over) await rm(join(folder, name), { force: true });
}

async function readLines(folder: string, names: readonly string[], damaged: Damaged): Promise<Delivered[]> {
  const lines: Delivered[] = [];
  for (const name of names) {
    const path = join(folder, name);
    const text = (await readOrNothing(() => readFile(path, 'utf8'), path)) ?? '';
    lines.push(...toDelivered(text, (line) => damaged(`line ${line} of ${path} is damaged`)));
  }
  return lines;
}

async function runsIn(folder: string): Promise<string[]> {
  return (await namesIn(folder)).filter((name) => name.endsWith(ending) && name !== foldedFile);
}

async function namesIn(folder: string): Promise<string[]> {
  return (await readOrNothing(() => readdir(folder), folder)) ?? [];
}

export interface Delivered {
  readonly list: string;
  readonly operation_id: string;
  readonly time: string;
  /** The address of the service that made the search. The service knows its ID only at this address, with the same key. */
  readonly origin: string;
  readonly key_fingerprint: string;
  readonly leads_search_id: string | null;
  /** Empty if all leads of the search had been delivered before. */
  readonly leads: readonly Identity[];
}

export function toDeliveredLine(delivered: Delivered): string {
  return toCheckedLine('delivered', JSON.stringify(delivered));
}

/**
 * Pure: the lines of a file. Leaves out an incomplete last line, whose leads were not delivered, and damaged lines, whose numbers `damaged`
 * gets.
 */
export function toDelivered(text: string, damaged: (line: number) => void): Delivered[] {
  return checkedLines(text).flatMap((content, index) => {
    if (content?.member === 'delivered') return [JSON.parse(content.text)];
    damaged(index + 1);
    return [];
  });
}

/** Maximum size of a list. A thousand new leads a day make 30 MB in a year. */
const kept = { leads: 500_000, searches: 1000 };

/**
 * Pure: the same list in fewer lines: one per search, each lead once, in the order of runs. Where the list is too long, the oldest leads
 * are removed.
 */
export function folded(lines: readonly Delivered[], max = kept): Delivered[] {
  const seen = new Set<string>();
  const searches = new Map<string, Delivered & { leads: Identity[] }>();
  for (const line of lines.toReversed()) {
    const name = `${line.operation_id} ${line.leads_search_id}`;
    const search = searches.get(name) ?? { ...line, leads: [] };
    searches.set(name, search);
    for (const lead of line.leads.toReversed()) {
      const identity = lead.slice(2).join(' ');
      if (seen.has(identity) || seen.size >= max.leads) continue;
      seen.add(identity);
      search.leads.push(lead);
    }
  }
  return [...searches.values()]
    .filter(({ leads }, index) => leads.length > 0 || index < max.searches)
    .map((search) => ({ ...search, leads: search.leads.reverse() }))
    .reverse();
}

export type ListRecord = Awaited<ReturnType<typeof readLists>>[number];
export type ListedLead = NonNullable<Awaited<ReturnType<typeof readListedLeads>>>[number];

/** All lists of this machine, by name. The fictional leads of the local service have their own lists. Throws LocalIoError. */
export async function readLists(stateDir: string, damaged: Damaged) {
  const lists = await readAll(stateDir, damaged);
  return lists
    .map((lines) => {
      const { list, time, origin } = lines.at(-1) as Delivered;
      const runs = new Set(lines.map(({ operation_id }) => operation_id)).size;
      return { list, leads: countLeads(lines), runs, last_run: time, origin };
    })
    .sort((a, b) => (a.list < b.list ? -1 : 1));
}

/** Pure: how many leads these lines have. */
export function countLeads(lines: readonly Delivered[]): number {
  return lines.reduce((sum, { leads }) => sum + leads.length, 0);
}

/** The leads of a list in the order of delivery; undefined where there is no such list. Throws LocalIoError. */
export async function readListedLeads(stateDir: string, list: string, damaged: Damaged) {
  const lines = (await readAll(stateDir, damaged)).flat().filter((line) => line.list === list);
  if (lines.length === 0) return undefined;
  return lines.flatMap(({ leads, time, operation_id, leads_search_id, origin }) =>
    leads.map(([name, link]) => ({ list, name, time, operation_id, leads_search_id, origin, link })),
  );
}

/** The lines of each list that has any, each lead once. */
async function readAll(stateDir: string, damaged: Damaged): Promise<(readonly Delivered[])[]> {
  const lists: (readonly Delivered[])[] = [];
  const root = join(stateDir, 'lists');
  for (const name of await namesIn(root)) lists.push(folded(await readList(join(root, name), damaged)));
  return lists.filter((lines) => lines.length > 0);
}
