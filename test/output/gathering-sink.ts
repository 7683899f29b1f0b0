import type { Sink } from '../../src/output/sink.ts';
import { createWriter, type Format, type WriterOptions } from '../../src/output/writer.ts';

/** Keeps every write apart, so that a test sees how often was written and when. */
export function gatheringSink(): Sink & { readonly writes: string[]; readonly text: string } {
  const writes: string[] = [];
  return {
    writes,
    get text() {
      return writes.join('');
    },
    async write(text) {
      writes.push(text);
    },
  };
}

/** What a writer of this format makes of records, which come in batches. */
export async function written(format: Format, options: WriterOptions, ...batches: string[][]) {
  const sink = gatheringSink();
  const writer = await createWriter(format, sink, options);
  for (const batch of batches) await writer.write(batch);
  await writer.end();
  return sink;
}
