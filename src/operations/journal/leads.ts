import { constants, createReadStream, writeSync } from 'node:fs';
import { open, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { LocalIoError } from '../../errors.ts';
import type { JsonText, Records } from '../../json/text.ts';
import { fromCheckedLine, isTorn, toQuickLine } from './checked-lines.ts';

/** Where an operation's folder holds the leads that a stream brought, one per line, in the order of arrival. */
export const leadsFile = 'leads.jsonl';

const { O_RDWR, O_APPEND, O_CREAT } = constants;
/** A link in its place would lead the writing to another file. Windows has no such flag. */
const noFollow = constants.O_NOFOLLOW ?? 0;

/** Enough for a table to find its widths; few enough to hold in memory. */
const leadsAtOnce = 100;

export interface StoredLeads {
  /**
   * Returns when the leads are with the system: they survive this process. Those that are not new are kept as what was
   * dropped: they are paid for as well. Throws LocalIoError.
   */
  append(leads: Records, isNew?: readonly boolean[]): void;
  /** Resolves when they survive a power cut. Throws LocalIoError. */
  sync(): Promise<void>;
  close(): Promise<void>;
}

/** Behind what stands there already, where the operation was begun before. Throws LocalIoError. */
export async function createStoredLeads(folder: string): Promise<StoredLeads> {
  const path = join(folder, leadsFile);
  const fail = (error: unknown): never => {
    throw new LocalIoError(`can't store leads in ${path}: ${(error as Error).message}`, { cause: error });
  };
  const handle = await open(path, O_RDWR | O_APPEND | O_CREAT | noFollow, 0o600).catch(fail);
  await handle.chmod(0o600).catch(fail);
  // Behind a line that is torn, another one would be damage.
  const bytes = await handle.readFile().catch(fail);
  await handle.truncate(bytes.lastIndexOf('\n') + 1).catch(fail);
  return {
    append(leads, isNew) {
      const state = (index: number): State => ((isNew?.[index] ?? true) ? 'delivered' : 'dropped');
      const bytes = Buffer.from(leads.map((lead, index) => toStoredLine(lead, state(index))).join(''));
      // A way through the thread pool takes several times as long as the write itself.
      try {
        writeAll(handle.fd, bytes);
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
 * left out; so is a damaged one, whose number `damaged` is told, with the path, and one that was dropped, of which `dropped`
 * is told. Throws what `damaged` throws, LocalIoError.
 */
export async function* readStoredLeads(
  folder: string,
  damaged: (line: number, path: string) => void,
  dropped: () => void = () => {},
): AsyncGenerator<JsonText[]> {
  const path = join(folder, leadsFile);
  const leads: JsonText[] = [];
  let rest = '';
  let number = 0;
  // Not readline: it would also end a line at U+2028.
  for await (const piece of piecesOf(path)) {
    const lines = (rest + piece).split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) {
      number++;
      const lead = toLead(line);
      if (lead === undefined) damaged(number, path);
      else if (lead.isNew) leads.push(lead.text);
      else dropped();
    }
    while (leads.length >= leadsAtOnce) yield leads.splice(0, leadsAtOnce);
  }
  if (!isTorn(rest)) damaged(number + 1, path);
  if (leads.length > 0) yield leads;
}

/** How many there are that can be read. Throws LocalIoError. */
export async function countStoredLeads(folder: string): Promise<LeadCounts> {
  const count = { delivered: 0, excluded: 0 };
  if ((await sizeOfStoredLeads(folder)) === undefined) return count;
  const dropped = (): number => count.excluded++;
  for await (const leads of readStoredLeads(folder, () => {}, dropped)) count.delivered += leads.length;
  return count;
}

/** What a search has brought: what was delivered, and what was dropped here. */
export interface LeadCounts {
  readonly delivered: number;
  readonly excluded: number;
}

async function* piecesOf(path: string): AsyncGenerator<string> {
  try {
    yield* createReadStream(path, 'utf8');
  } catch (error) {
    throw new LocalIoError(`can't read ${path}: ${(error as Error).message}`, { cause: error });
  }
}

function writeAll(fd: number, bytes: Buffer): void {
  for (let done = 0; done < bytes.length; ) done += writeSync(fd, bytes, done);
}

/** A lead that the service wrote on several lines is kept as a JSON string of its text, so that no byte is lost. */
function toStoredLine(lead: JsonText, state: State): string {
  const [plain, escaped] = members[state];
  return /[\n\r]/.test(lead) ? toQuickLine(escaped, JSON.stringify(lead)) : toQuickLine(plain, lead);
}

/** Of a line: for a lead on one line, and for its text. */
const members = { delivered: ['lead', 'text'], dropped: ['dropped', 'droppedtext'] } as const;
type State = keyof typeof members;

/** Undefined for a damaged line. */
function toLead(line: string): { readonly text: JsonText; readonly isNew: boolean } | undefined {
  const { member = '', text = '' } = fromCheckedLine(line) ?? {};
  for (const [state, [plain, escaped]] of Object.entries(members)) {
    const isNew = state === 'delivered';
    if (member === plain) return { text, isNew };
    if (member === escaped) return { text: JSON.parse(text) as string, isNew };
  }
  return undefined;
}
