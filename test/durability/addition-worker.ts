import { fsyncSync, openSync, writeFileSync } from 'node:fs';
import { type Addition, completeAddition } from '../../src/files/addition.ts';
import { noLock } from '../../src/files/folder-lock.ts';
import { createFileSink } from '../helpers/file-sink.ts';

/** Adds rows to a file, and writes down before what it adds; with an addition, completes that one instead. */
const [, , file = '', format = 'jsonl', rows = '', journal = '', addition] = process.argv;

if (addition !== undefined) {
  console.log(await completeAddition(file, JSON.parse(addition) as Addition, noLock));
} else {
  const sink = await createFileSink(file, { append: format === 'csv' ? { header: ['a', 'b'] } : {} });
  await sink.write(rows);
  await sink.commit(async (adding) => {
    const fd = openSync(journal, 'w');
    writeFileSync(fd, JSON.stringify(adding));
    fsyncSync(fd);
  });
}
