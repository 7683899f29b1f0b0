import { createHash, randomUUID } from 'node:crypto';
import { existsSync, readdirSync, renameSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { EntityType } from '../contract/types.ts';
import { type CatalogueFile, leadsOf, readCatalogueFile } from './catalogue-file.ts';
import { writeCatalogue } from './catalogue-index.ts';
import { createFile, openFile } from './database.ts';
import { demonstrationFile } from './demonstration.ts';
import { type Lead, leadsFrom, ofType } from './lead.ts';
import { createSearch } from './search.ts';

/** Raised when the tables or what is written into them change: an index of an older form is not read. */
const form = 11;
/** Indexes of catalogues that were used lately are kept. */
const indexesKept = 4;

export type Catalogue = Awaited<ReturnType<typeof openCatalogueOf>>;

/** Opens the catalogue of the user's own file, or of the demonstration. */
export async function openCatalogueOf(stateDir: string, file: string | undefined) {
  const path = await indexOf(stateDir, file === undefined ? demonstrationFile() : readCatalogueFile(file));
  const rows = openFile(path, 'immutable');
  const search = createSearch(rows);
  // WebAssembly is slow at first. In a large catalogue that must not hold up the first request, and all others with it.
  if (file !== undefined) await search(undefined, 'a lead');
  return {
    fictional: file === undefined,
    close: rows.close,
    search,
    all: (type: EntityType): Lead[] => leadsFrom(rows, `leads WHERE ${ofType} ORDER BY id`, type),
    /** Leads with exactly one of these as their plain name, or as the bare address of a link; a few hundred at most. */
    called: (aliases: readonly string[]): Lead[] =>
      leadsFrom(
        rows,
        'aliases JOIN leads USING (id) WHERE alias IN (SELECT value FROM json_each(?)) LIMIT 300',
        JSON.stringify(aliases),
      ),
  };
}

/**
 * The index of a catalogue, made when there is none of that content yet. It is written under another name and renamed when
 * whole, and never changed after that, so any number of processes may read it without a lock.
 */
async function indexOf(stateDir: string, file: CatalogueFile): Promise<string> {
  const hash = createHash('sha256').update(`${form}:${file.kind}:`).update(file.content).digest('hex');
  const path = join(stateDir, `catalogue-${hash.slice(0, 16)}.db`);
  if (existsSync(path)) return path;
  const part = path.replace(/db$/, `${randomUUID()}.part`);
  createFile(part);
  try {
    const rows = openFile(part);
    try {
      rows.exec('PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; BEGIN');
      await writeCatalogue(rows, leadsOf(file));
      rows.exec('COMMIT');
    } finally {
      rows.close();
    }
    renameSync(part, path);
  } finally {
    rmSync(part, { force: true });
  }
  prune(stateDir, path);
  return path;
}

function prune(stateDir: string, current: string): void {
  const others = readdirSync(stateDir)
    .filter((name) => /^catalogue-[0-9a-f]{16}\./.test(name) && !current.endsWith(name))
    .map((name) => ({ name, time: statSync(join(stateDir, name), { throwIfNoEntry: false })?.mtimeMs ?? 0 }))
    .sort((a, b) => b.time - a.time);
  for (const { name } of others.slice(indexesKept - 1)) rmSync(join(stateDir, name), { force: true });
}
