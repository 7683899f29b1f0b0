import { createParser } from 'eventsource-parser';

/** One frame of a Server-Sent Events stream: its `event:` name, if any, and its `data:` lines joined. */
export interface Frame {
  readonly event: string | undefined;
  readonly data: string;
}

/** A frame that is larger than the cap. */
export class FrameTooLargeError extends Error {
  constructor(cap: number) {
    super(`a frame of the stream is larger than ${cap} characters`);
    this.name = 'FrameTooLargeError';
  }
}

const blankLineAtEnd = /(?:\r\n|\n|\r(?!\n))(?:\r\n|\n|\r)$/;

export interface FrameReader {
  /** The frames that this piece of the body completes. */
  feed(bytes: Uint8Array): Frame[];
  /** The frames that the end completes, and whether the stream ended inside one, which is then lost. */
  end(): { frames: Frame[]; torn: boolean };
}

/**
 * Cuts a byte stream into frames, wherever the network split it: inside a UTF-8 sequence, between CR and LF, in the
 * middle of a BOM. A frame without its closing blank line is never returned.
 */
export function createFrameReader(cap: number): FrameReader {
  // Not fatal: the framing rules of event streams replace what is not UTF-8. It also drops a leading BOM.
  const decoder = new TextDecoder('utf-8');
  let frames: Frame[] = [];
  let tooLarge = false;
  let lastCharacters = '';
  const parser = createParser({
    maxBufferSize: cap,
    onEvent: (event) => frames.push({ event: event.event, data: event.data }),
    onError: (error) => {
      // Unknown fields and bad `retry:` values are ignored, as the framing rules ask.
      if (error.type === 'max-buffer-size-exceeded') tooLarge = true;
    },
  });

  function feedText(text: string): Frame[] {
    if (text === '') return [];
    lastCharacters = (lastCharacters + text.slice(-4)).slice(-4);
    frames = [];
    parser.feed(text);
    if (tooLarge) throw new FrameTooLargeError(cap);
    return frames;
  }

  return {
    feed: (bytes) => feedText(decoder.decode(bytes, { stream: true })),
    end() {
      const completed = feedText(decoder.decode());
      // The parser holds back a last CR, which may be half of a CRLF. Nothing follows now, so it ends its line.
      if (lastCharacters.endsWith('\r')) completed.push(...feedText('\n'));
      const torn = lastCharacters !== '' && !blankLineAtEnd.test(lastCharacters);
      return { frames: completed, torn };
    },
  };
}
