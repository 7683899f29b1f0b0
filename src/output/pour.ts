import { createTurns } from '../turns.ts';
import type { Sink } from './sink.ts';

/** Characters after which a write is due. A page of a search is nearly always one write, and no more than this waits. */
const worthAWrite = 1 << 20;
/** The same when they were slow to make. */
const worthShowing = 1 << 12;

/**
 * Writes text that is made piece by piece while it is written. Throws what the sink throws, and, between two pieces,
 * what the signal says.
 */
export async function pour(
  sink: Sink,
  pieces: Iterable<string>,
  signal: AbortSignal | undefined,
): Promise<void> {
  const turns = createTurns(signal);
  let text = '';
  for (const piece of pieces) {
    text += piece;
    const isDue = turns.isDue();
    if (text.length >= (isDue ? worthShowing : worthAWrite)) {
      await sink.write(text);
      text = '';
    }
    if (isDue) await turns.take();
  }
  if (text !== '') await sink.write(text);
}
