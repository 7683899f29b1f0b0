import { createParser } from 'eventsource-parser';

/** One frame of a Server-Sent Events stream: its `event:` name, if any, and its `data:` lines joined. */
export interface Frame {
  readonly event: string | undefined;
  readonly data: string;
}

/**
 * The frames that each piece of a stream completes. Frames without data are left out; bytes that are not UTF-8 are replaced. Throws, after
 * the last complete frame, when the next one is larger than `cap` characters or when the stream ends inside it.
 */
export async function* framesOf(
  pieces: AsyncIterable<Uint8Array>,
  cap: number,
): AsyncGenerator<readonly Frame[]> {
  const decoder = new TextDecoder();
  let frames: Frame[] = [];
  let isOver = false;
  let endsWithCr = false;
  /** The last two characters, where each line end is LF. */
  let end = '\n\n';
  const parser = createParser({
    maxBufferSize: cap,
    onEvent({ event, data }) {
      if (data.trim() !== '') frames.push({ event, data });
    },
    onError({ type }) {
      if (type === 'max-buffer-size-exceeded') isOver = true;
    },
  });
  for await (const piece of pieces) {
    const decoded = decoder.decode(piece, { stream: true });
    if (decoded === '') continue;
    // After a CR, the parser holds the frame until it sees whether an LF follows, so CR is replaced with LF here.
    const rest = endsWithCr && decoded.startsWith('\n') ? decoded.slice(1) : decoded;
    endsWithCr = decoded.endsWith('\r');
    const text = decoded.includes('\r') ? rest.replace(/\r\n?/g, '\n') : rest;
    end = (end + text.slice(-2)).slice(-2);
    parser.feed(text);
    if (frames.length > 0) yield frames;
    frames = [];
    if (isOver) throw new Error(`a frame of the stream is larger than ${cap} characters`);
  }
  if (end !== '\n\n') throw new Error('the stream ended in the middle of a frame');
}
