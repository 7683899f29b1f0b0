import type { WriterOptions } from '../../src/output/form.ts';
import { createForm, type Format, writePieces } from '../../src/output/writer.ts';

/** Keeps every write apart, so that a test sees how often was written and when. */
export function gatheringSink() {
  const writes: string[] = [];
  return {
    writes,
    get text() {
      return writes.join('');
    },
    async write(text: string) {
      writes.push(text);
    },
  };
}

/** What a format makes of records, which come in batches. */
export async function written(format: Format, options: WriterOptions, ...batches: string[][]) {
  const sink = gatheringSink();
  const form = await createForm(format, options);
  for (const batch of batches) if (batch.length > 0) await writePieces(sink.write, form.lines(batch));
  const end = form.end?.();
  if (end) await sink.write(end);
  return sink;
}
