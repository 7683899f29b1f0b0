import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { HeldLock } from '../../files/folder-lock.ts';
import { isOnOneLine, type LineContent, openLog, readLog, toQuickLine } from '../../files/line-log.ts';
import type { JsonText, Records } from '../../json/text.ts';

/** The file in an operation's folder with the leads of a stream, one per line, in the order of arrival. */
export const leadsFile = 'leads.jsonl';

/** Enough for a table to find its widths, and few enough to hold in memory. */
const leadsAtOnce = 100;

/**
 * The members of a line: for a lead on one line, and for one that the service wrote on several, kept as a JSON string so that no byte is
 * lost.
 */
const members = { delivered: ['lead', 'text'], dropped: ['dropped', 'droppedtext'] } as const;

/** Adds behind the leads that are stored already, if there are any; `lock` is that of the operation. Throws LocalIoError, LockLostError. */
export async function createStoredLeads(folder: string, lock: HeldLock) {
  const path = join(folder, leadsFile);
  const log = await openLog(path, 'any', 'leads', lock);
  return {
    /**
     * When it returns, the leads survive this process. Leads that are not new are stored as dropped, since they are paid for, too. Throws
     * LocalIoError.
     */
    append(leads: Records, isNew?: readonly boolean[]): void {
      const lines = leads.map((lead, index) => {
        const [plain, escaped] = members[isNew?.[index] === false ? 'dropped' : 'delivered'];
        return isOnOneLine(lead) ? toQuickLine(plain, lead) : toQuickLine(escaped, JSON.stringify(lead));
      });
      log.append(lines.join(''));
    },
    sync: log.sync,
    close: log.close,
  };
}

/** Bytes; undefined when there are none, or no longer any. */
export async function sizeOfStoredLeads(folder: string): Promise<number | undefined> {
  return await stat(join(folder, leadsFile)).then(
    ({ size }) => size,
    () => undefined,
  );
}

/**
 * The leads as the service wrote them, some at a time; none where there are none, or no longer any. Leaves out an incomplete last line,
 * which was never printed; a damaged line, of which `damaged` gets the number and the path; and dropped leads, which `dropped` gets. Throws
 * what `damaged` throws, LocalIoError.
 */
export async function* readStoredLeads(
  folder: string,
  damaged: (line: number, path: string) => void,
  dropped: () => void = () => {},
): AsyncGenerator<JsonText[]> {
  if ((await sizeOfStoredLeads(folder)) === undefined) return;
  const path = join(folder, leadsFile);
  const leads: JsonText[] = [];
  for await (const { number, content } of readLog(path)) {
    const lead = content && toLead(content);
    if (lead === undefined) damaged(number, path);
    else if (lead.isNew) leads.push(lead.text);
    else dropped();
    if (leads.length === leadsAtOnce) yield leads.splice(0);
  }
  if (leads.length > 0) yield leads;
}

function toLead({
  member,
  text,
}: LineContent): { readonly text: JsonText; readonly isNew: boolean } | undefined {
  for (const [state, [plain, escaped]] of Object.entries(members)) {
    const isNew = state === 'delivered';
    if (member === plain) return { text, isNew };
    if (member === escaped) return { text: JSON.parse(text) as string, isNew };
  }
  return undefined;
}

/** How many readable leads were delivered, and how many were dropped on this machine. Throws LocalIoError. */
export async function countStoredLeads(folder: string): Promise<{ delivered: number; excluded: number }> {
  const count = { delivered: 0, excluded: 0 };
  const dropped = (): number => count.excluded++;
  for await (const leads of readStoredLeads(folder, () => {}, dropped)) count.delivered += leads.length;
  return count;
}
