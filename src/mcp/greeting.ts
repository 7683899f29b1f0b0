import type { Readable, Writable } from 'node:stream';
import { answerInitialize } from './early.ts';

/** Longer than any first message, and short enough to hold. */
const longestFirstLine = 1 << 20;

type RequestId = string | number;

/** Of inputs whose first line has been looked at: the request that was answered. */
const greeted = new WeakMap<Readable, { readonly answered: RequestId | undefined }>();

/**
 * Waits for the first line of a client, and answers it where it is `initialize`: so the client knows whom it talks to while the
 * rest is loaded. Returns the ID of what was answered, each time it is asked. The line stays in the input.
 */
export async function greet(
  input: Readable,
  output: Writable,
  version: string,
  signal?: AbortSignal,
): Promise<RequestId | undefined> {
  const known = greeted.get(input);
  if (known !== undefined) return known.answered;
  const answer = answerInitialize(await firstLine(input, signal), version);
  if (answer !== undefined) output.write(answer.text);
  greeted.set(input, { answered: answer?.id });
  return answer?.id;
}

/** The first line of the input, which stays in it: whoever reads on reads it again. Empty where the input ends or is too long. */
async function firstLine(input: Readable, signal: AbortSignal | undefined): Promise<string> {
  const pieces: Buffer[] = [];
  let size = 0;
  for (;;) {
    const piece = await nextPiece(input, signal);
    if (piece === undefined) break;
    pieces.push(piece);
    size += piece.length;
    if (piece.includes(0x0a) || size > longestFirstLine) break;
  }
  const read = Buffer.concat(pieces);
  if (size > 0) input.unshift(read);
  const end = read.indexOf(0x0a);
  return end === -1 ? '' : read.subarray(0, end).toString('utf8');
}

/** Undefined at the end of the input, and when the signal aborts. */
function nextPiece(input: Readable, signal: AbortSignal | undefined): Promise<Buffer | undefined> {
  return new Promise((resolve) => {
    const finish = (piece?: Buffer): void => {
      input.off('readable', look).off('end', end).off('close', end).off('error', end);
      signal?.removeEventListener('abort', end);
      resolve(piece);
    };
    const end = (): void => finish();
    const look = (): void => {
      const piece = input.read() as Buffer | string | null;
      if (piece !== null) finish(Buffer.from(piece));
    };
    input.on('readable', look).on('end', end).on('close', end).on('error', end);
    signal?.addEventListener('abort', end, { once: true });
    if (signal?.aborted || input.readableEnded) end();
  });
}
