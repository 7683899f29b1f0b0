import { type Damaged, type Delivered, folded, listFolders, readList } from './list-files.ts';

/** A line of `history lists`. */
export interface ListRecord {
  readonly list: string;
  /** Different ones that count as delivered. */
  readonly leads: number;
  /** Runs that delivered something. */
  readonly runs: number;
  /** When the last of them began. */
  readonly last_run: string;
  /** Where that one was sent; the fictional leads of the local service have lists apart. */
  readonly origin: string;
}

/** A lead of a list: what is left out where only new leads are wanted. */
export interface ListedLead {
  readonly list: string;
  readonly name: string;
  /** When the run began that delivered it. */
  readonly time: string;
  readonly operation_id: string;
  readonly leads_search_id: string | null;
  readonly origin: string;
}

/** Every list of this machine, by name. Throws LocalIoError. */
export async function readLists(stateDir: string, damaged: Damaged): Promise<ListRecord[]> {
  const lists = await readAll(stateDir, damaged);
  return lists
    .map((lines) => {
      const { list, time, origin } = lines.at(-1) as Delivered;
      const leads = lines.reduce((sum, line) => sum + line.leads.length, 0);
      const runs = new Set(lines.map(({ operation_id }) => operation_id)).size;
      return { list, leads, runs, last_run: time, origin };
    })
    .sort((a, b) => (a.list < b.list ? -1 : 1));
}

/** The leads of a list, in the order in which they were delivered; undefined where there is no such list. Throws LocalIoError. */
export async function readListedLeads(
  stateDir: string,
  list: string,
  damaged: Damaged,
): Promise<ListedLead[] | undefined> {
  const lines = (await readAll(stateDir, damaged)).flat().filter((line) => line.list === list);
  if (lines.length === 0) return undefined;
  return lines.flatMap(({ leads, time, operation_id, leads_search_id, origin }) =>
    leads.map(([name]) => ({ list, name, time, operation_id, leads_search_id, origin })),
  );
}

/** The lines of each list that has any, each lead once. */
async function readAll(stateDir: string, damaged: Damaged): Promise<(readonly Delivered[])[]> {
  const lists: (readonly Delivered[])[] = [];
  for (const folder of await listFolders(stateDir)) lists.push(folded(await readList(folder, damaged)));
  return lists.filter((lines) => lines.length > 0);
}
