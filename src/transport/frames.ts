import { createParser } from 'eventsource-parser';

/** One frame of a Server-Sent Events stream: its `event:` name, if any, and its `data:` lines joined. */
export interface Frame {
  readonly event: string | undefined;
  readonly data: string;
}

export class FrameTooLargeError extends Error {
  constructor(cap: number) {
    super(`a frame of the stream is larger than ${cap} characters`);
    this.name = 'FrameTooLargeError';
  }
}

export interface FrameReader {
  /** The frames that this piece of the body completes; one without data is nothing. After one over the cap nothing is read. */
  feed(piece: Uint8Array): Frame[];
  isOverCap(): boolean;
  /** To be asked at the end of the stream: whether that is inside a frame, which is then lost. */
  endsInFrame(): boolean;
}

/** `cap` is in characters. What is not UTF-8 is replaced. */
export function createFrameReader(cap: number): FrameReader {
  const decoder = new TextDecoder();
  let frames: Frame[] = [];
  let isOver = false;
  let endsWithCr = false;
  /** The last two characters, with LF for all line ends. */
  let end = '\n\n';
  const parser = createParser({
    maxBufferSize: cap,
    // rule: events.frames
    onEvent({ event, data }) {
      if (data.trim() !== '') frames.push({ event, data });
    },
    onError({ type }) {
      if (type === 'max-buffer-size-exceeded') isOver = true;
    },
  });
  return {
    feed(piece) {
      frames = [];
      const came = decoder.decode(piece, { stream: true });
      if (isOver || came === '') return frames;
      // The parser keeps a CR at the end of a piece, and the frame before it, until it knows whether an LF follows.
      const rest = endsWithCr && came.startsWith('\n') ? came.slice(1) : came;
      endsWithCr = came.endsWith('\r');
      const text = came.includes('\r') ? rest.replace(/\r\n?/g, '\n') : rest;
      end = (end + text.slice(-2)).slice(-2);
      parser.feed(text);
      return frames;
    },
    isOverCap: () => isOver,
    endsInFrame: () => end !== '\n\n' || decoder.decode() !== '',
  };
}
