import { createReadStream, writeSync } from 'node:fs';
import { open, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { LocalIoError } from '../../errors.ts';
import type { JsonText } from '../../json/text.ts';
import { fromCheckedLine, isTorn, toCheckedLine } from './checked-lines.ts';

/** Where an operation's folder holds the leads that a stream brought, one per line, in the order of arrival. */
export const leadsFile = 'leads.jsonl';

/** Enough for a table to find its widths; few enough to hold in memory. */
const leadsAtOnce = 100;

export interface StoredLeads {
  /** Returns when the leads are with the system: they survive this process. Throws LocalIoError. */
  append(leads: readonly JsonText[]): void;
  /** Resolves when they survive a power cut. Throws LocalIoError. */
  sync(): Promise<void>;
  close(): Promise<void>;
}

/** Throws LocalIoError. */
export async function createStoredLeads(folder: string): Promise<StoredLeads> {
  const path = join(folder, leadsFile);
  const fail = (error: unknown): never => {
    throw new LocalIoError(`cannot store leads in ${path}: ${(error as Error).message}`, { cause: error });
  };
  const handle = await open(path, 'ax', 0o600).catch(fail);
  await handle.chmod(0o600).catch(fail);
  return {
    append(leads) {
      // A way through the thread pool takes several times as long as the write itself.
      try {
        writeAll(handle.fd, Buffer.from(leads.map(toStoredLine).join('')));
      } catch (error) {
        fail(error);
      }
    },
    sync: () => handle.datasync().catch(fail),
    close: () => handle.close(),
  };
}

/** Bytes; undefined when there are none (any more). */
export async function sizeOfStoredLeads(folder: string): Promise<number | undefined> {
  return await stat(join(folder, leadsFile)).then(
    ({ size }) => size,
    () => undefined,
  );
}

/**
 * The leads as the service wrote them, some at a time. A last line that was never finished was never printed, and is
 * left out; so is a damaged one, whose number `damaged` is told, with the path. Throws what `damaged` throws, LocalIoError.
 */
export async function* readStoredLeads(
  folder: string,
  damaged: (line: number, path: string) => void,
): AsyncGenerator<JsonText[]> {
  const path = join(folder, leadsFile);
  const leads: JsonText[] = [];
  let rest = '';
  let number = 0;
  // Not readline: it takes U+2028 for the end of a line.
  for await (const piece of piecesOf(path)) {
    const lines = (rest + piece).split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) {
      number++;
      const lead = toLead(line);
      if (lead === undefined) damaged(number, path);
      else leads.push(lead);
    }
    while (leads.length >= leadsAtOnce) yield leads.splice(0, leadsAtOnce);
  }
  if (!isTorn(rest)) damaged(number + 1, path);
  if (leads.length > 0) yield leads;
}

/** How many there are that can be read. Throws LocalIoError. */
export async function countStoredLeads(folder: string): Promise<number> {
  let count = 0;
  if ((await sizeOfStoredLeads(folder)) === undefined) return count;
  for await (const leads of readStoredLeads(folder, () => {})) count += leads.length;
  return count;
}

async function* piecesOf(path: string): AsyncGenerator<string> {
  try {
    yield* createReadStream(path, 'utf8');
  } catch (error) {
    throw new LocalIoError(`cannot read ${path}: ${(error as Error).message}`, { cause: error });
  }
}

function writeAll(fd: number, bytes: Buffer): void {
  for (let done = 0; done < bytes.length; ) done += writeSync(fd, bytes, done);
}

/** A lead that the service wrote on several lines is kept as a JSON string of its text, so that no byte is lost. */
function toStoredLine(lead: JsonText): string {
  return /[\n\r]/.test(lead) ? toCheckedLine('text', JSON.stringify(lead)) : toCheckedLine('lead', lead);
}

/** Undefined for a damaged line. */
function toLead(line: string): JsonText | undefined {
  const found = fromCheckedLine(line);
  if (found?.member === 'lead') return found.text;
  return found?.member === 'text' ? (JSON.parse(found.text) as string) : undefined;
}
