import { createHash, randomUUID } from 'node:crypto';
import { existsSync, readdirSync, renameSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { entityTypes } from '../contract/types.ts';
import { type Catalogue, openCatalogue } from './catalogue.ts';
import { fromText, readCatalogueFile } from './catalogue-file.ts';
import { typeWord, writeCatalogue } from './catalogue-index.ts';
import { buildDatabase, openFinished } from './database.ts';
import { demonstrationFile } from './demonstration.ts';
import type { CatalogueRecord } from './lead.ts';

/** Raised when the tables or what is written into them change: an index of an older form is not read. */
const form = 9;
/** Indexes of catalogues that were used lately are kept. */
const indexesKept = 4;

export interface OpenedCatalogue extends Catalogue {
  readonly fictional: boolean;
  close(): void;
}

/**
 * Opens the index of a catalogue, of the user's own file or of the demonstration, made when none of that content is
 * there yet. An index is written under another name and renamed when whole, and never changed after that, so any
 * number of processes may read it without a lock.
 */
export async function openCatalogueOf(stateDir: string, file: string | undefined): Promise<OpenedCatalogue> {
  if (file !== undefined) {
    const { content, records } = readCatalogueFile(file);
    return await open(stateDir, [file.toLowerCase().endsWith('.csv') ? 'csv' : 'jsonl', content], records);
  }
  const { content, text } = demonstrationFile();
  return await open(stateDir, ['demonstration', content], () => fromText('the demonstration', text()));
}

async function open(
  stateDir: string,
  [kind, content]: [kind: string, content: Buffer],
  records: () => Iterable<CatalogueRecord>,
): Promise<OpenedCatalogue> {
  const fictional = kind === 'demonstration';
  const hash = createHash('sha256').update(`${form}:${kind}:`).update(content).digest('hex').slice(0, 16);
  const path = join(stateDir, `catalogue-${hash}.db`);
  if (!existsSync(path)) {
    const part = join(stateDir, `catalogue-${hash}.${randomUUID()}.part`);
    try {
      await buildDatabase(part, (rows) => writeCatalogue(rows, records()));
      renameSync(part, path);
    } finally {
      rmSync(part, { force: true });
    }
    prune(stateDir, path);
  }
  const rows = openFinished(path);
  // WebAssembly is slow at first. In a large catalogue that must not hold up the first request, and all others with it.
  if (!fictional)
    rows.get(
      `SELECT bm25(words) FROM words WHERE words MATCH 'types : (${entityTypes.map(typeWord).join(' OR ')})' LIMIT 1`,
    );
  return { ...openCatalogue(rows), fictional, close: rows.close };
}

function prune(stateDir: string, current: string): void {
  const indexes = readdirSync(stateDir)
    .filter((name) => /^catalogue-[0-9a-f]{16}\./.test(name))
    .map((name) => join(stateDir, name))
    .filter((path) => path !== current)
    .map((path) => ({ path, time: statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0 }))
    .sort((a, b) => b.time - a.time);
  for (const { path } of indexes.slice(indexesKept - 1)) rmSync(path, { force: true });
}
