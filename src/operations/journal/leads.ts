import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { openLog, readLog, type Said, toQuickLine } from '../../files/line-log.ts';
import { isOnOneLine, type JsonText, type Records } from '../../json/text.ts';

/** Where an operation's folder holds the leads that a stream brought, one per line, in the order of arrival. */
export const leadsFile = 'leads.jsonl';

/** Enough for a table to find its widths; few enough to hold in memory. */
const leadsAtOnce = 100;

/** Of a line: for a lead on one line, and for one that the service wrote on several, as a JSON string of its text: no byte is lost. */
const members = { delivered: ['lead', 'text'], dropped: ['dropped', 'droppedtext'] } as const;

/** Behind what stands there already, where the operation was begun before. Throws LocalIoError. */
export async function createStoredLeads(folder: string) {
  const path = join(folder, leadsFile);
  const log = await openLog(path, 'any', 'leads');
  return {
    /**
     * Returns when the leads survive this process. Those that are not new are kept as what was dropped: they are paid for as
     * well. Throws LocalIoError.
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
  for await (const { number, said } of readLog(path)) {
    const lead = said && toLead(said);
    if (lead === undefined) damaged(number, path);
    else if (lead.isNew) leads.push(lead.text);
    else dropped();
    if (leads.length === leadsAtOnce) yield leads.splice(0);
  }
  if (leads.length > 0) yield leads;
}

function toLead({ member, text }: Said): { readonly text: JsonText; readonly isNew: boolean } | undefined {
  for (const [state, [plain, escaped]] of Object.entries(members)) {
    const isNew = state === 'delivered';
    if (member === plain) return { text, isNew };
    if (member === escaped) return { text: JSON.parse(text) as string, isNew };
  }
  return undefined;
}

/** How many that can be read were delivered, and how many were dropped here. Throws LocalIoError. */
export async function countStoredLeads(folder: string): Promise<{ delivered: number; excluded: number }> {
  const count = { delivered: 0, excluded: 0 };
  if ((await sizeOfStoredLeads(folder)) === undefined) return count;
  const dropped = (): number => count.excluded++;
  for await (const leads of readStoredLeads(folder, () => {}, dropped)) count.delivered += leads.length;
  return count;
}
