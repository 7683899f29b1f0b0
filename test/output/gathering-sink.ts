import type { Sink } from '../../src/output/sink.ts';

/** Keeps every write apart, so that a test sees how often was written and when. */
export function gatheringSink(): Sink & { readonly writes: string[]; readonly text: string } {
  const writes: string[] = [];
  return {
    writes,
    get text() {
      return writes.join('');
    },
    async write(text) {
      writes.push(String(text));
    },
  };
}
