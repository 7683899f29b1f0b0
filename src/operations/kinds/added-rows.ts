import { join } from 'node:path';
import type { HeldLock } from '../../files/folder-lock.ts';
import { readLog, toCheckedLine } from '../../files/line-log.ts';
import { writeWhole } from '../../files/whole-file.ts';
import { damaged } from '../journal/entries.ts';
import type { Operation, OutputTerms } from '../operation.ts';

export type AddedRows = Awaited<ReturnType<typeof readAddedRows>>;

/** How many are written in one line. */
const together = 1000;

/**
 * Which rows of a list, and of others of the same run, stand in the file that rows are added to: by what was sent for each, and
 * whether it has its answer there. Each is known as often as it stands there, since several rows may ask for the same. Rows of
 * another output, or of one that is written from the start, stand nowhere. Throws ConfigurationError for a damaged file, LocalIoError.
 */
export async function readAddedRows(
  own: Operation | undefined,
  others: readonly Operation[],
  { output, options }: OutputTerms,
) {
  const all = own === undefined ? others : [own, ...others];
  const there = new Map<string, number>();
  const written: string[] = [];
  for (const { folder, intent, progress } of options.append === true ? all : []) {
    if (intent.output !== output || intent.options.append !== true) continue;
    for (const name of progress.added) {
      const path = join(folder, name);
      for await (const { number, content } of readLog(path)) {
        if (content?.member !== 'added') throw damaged(number, path, 'this list');
        for (const row of JSON.parse(content.text) as string[]) there.set(row, (there.get(row) ?? 0) + 1);
      }
    }
  }
  return {
    /**
     * Whether such a row is in the file and has not been matched with another row of this run. If not, it is remembered, since it is
     * written now.
     */
    take(id: bigint, isAnswered: boolean): boolean {
      const row = `${isAnswered ? 'a' : 'f'}${id}`;
      const count = there.get(row) ?? 0;
      if (count > 0) there.set(row, count - 1);
      else if (options.append === true) written.push(row);
      return count > 0;
    },
    /** Stores what was remembered, before the rows are added. Returns the name of the file. Throws LocalIoError. */
    async keep(folder: string, lock: HeldLock): Promise<string> {
      const name = `added-${(own?.progress.additions ?? 0) + 1}.jsonl`;
      const lines: string[] = [];
      for (let at = 0; at < written.length; at += together) {
        lines.push(toCheckedLine('added', JSON.stringify(written.slice(at, at + together))));
      }
      await writeWhole(join(folder, name), lines.join(''), 'rows', lock);
      return name;
    },
  };
}
