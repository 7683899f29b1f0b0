/** One frame of a Server-Sent Events stream: its `event:` name, if any, and its `data:` lines joined. */
export interface Frame {
  readonly event: string | undefined;
  /** As they came: not all of it need be UTF-8. */
  readonly data: Buffer;
}

/** A frame that is larger than the cap. */
export class FrameTooLargeError extends Error {
  constructor(cap: number) {
    super(`a frame of the stream is larger than ${cap} bytes`);
    this.name = 'FrameTooLargeError';
  }
}

export interface FrameReader {
  /**
   * The frames that this piece of the body completes, whose bytes stay what they are until the next piece is fed. What
   * follows a frame over the cap is not read.
   */
  feed(piece: Uint8Array): Frame[];
  /** Whether a frame has grown over the cap. */
  isOverCap(): boolean;
  /** Whether the stream, if it ends here, ends inside a frame, which is then lost. */
  isInFrame(): boolean;
}

/**
 * Cuts a byte stream into frames, wherever the network split it: inside a UTF-8 sequence, between CR and LF, in the
 * middle of a BOM. A frame without its closing blank line is never returned. `cap` is in bytes, of all the `data:`
 * lines of a frame together; what is kept of one takes a few times as much memory, however small lines and pieces are.
 */
export function createFrameReader(cap: number): FrameReader {
  const held = createHeldBytes();
  /** The only `data:` line so far, where it came with this piece. */
  let line: Buffer | undefined;
  /** What is in no frame yet: lines that came before this piece, and all of several. */
  const lines = createHeldBytes();
  let hasData = false;
  let event: string | undefined;
  /** Bytes of the frame's `data:` lines. */
  let size = 0;
  let isFirstLine = true;
  let isAfterCr = false;
  let inFrame = false;

  /** The frame that this line completes: a blank one after data. */
  function takeLine(text: Buffer): Frame | undefined {
    if (text.length === 0) {
      const frame = hasData ? { event, data: line ?? lines.take() } : undefined;
      line = undefined;
      hasData = false;
      event = undefined;
      size = 0;
      inFrame = false;
      return frame;
    }
    inFrame = true;
    const data = fieldOf(text, 'data');
    if (data === undefined) event = fieldOf(text, 'event')?.toString() ?? event;
    else takeData(data);
    if (data !== undefined) size += text.length + 1;
    return undefined;
  }

  function takeData(data: Buffer): void {
    if (hasData) {
      keepLine();
      lines.add(lineBreak);
      lines.add(data);
    } else {
      line = data;
    }
    hasData = true;
  }

  function keepLine(): void {
    if (line !== undefined) lines.add(line);
    line = undefined;
  }

  const isOverCap = (): boolean => size + held.length() > cap;

  return {
    feed(piece) {
      const bytes = Buffer.from(piece.buffer, piece.byteOffset, piece.byteLength);
      const frames: Frame[] = [];
      let lf = bytes.indexOf(newline);
      let cr = bytes.indexOf(carriageReturn);
      for (let at = 0; at < bytes.length && !isOverCap(); ) {
        if (isAfterCr) {
          isAfterCr = false;
          if (bytes[at] === newline) at++;
        }
        if (lf !== -1 && lf < at) lf = bytes.indexOf(newline, at);
        if (cr !== -1 && cr < at) cr = bytes.indexOf(carriageReturn, at);
        const end = lf === -1 || (cr !== -1 && cr < lf) ? cr : lf;
        if (end === -1) {
          held.add(bytes.subarray(at));
          break;
        }
        const text = held.takeWith(bytes.subarray(at, end));
        const isMarked = isFirstLine && text.indexOf(byteOrderMark) === 0;
        const frame = takeLine(isMarked ? text.subarray(byteOrderMark.length) : text);
        if (frame !== undefined) frames.push(frame);
        isFirstLine = false;
        isAfterCr = end === cr;
        at = end + 1;
      }
      // The piece is not ours to keep.
      keepLine();
      return frames;
    },
    isOverCap,
    isInFrame: () => inFrame || held.length() > 0,
  };
}

const newline = 0x0a;
const carriageReturn = 0x0d;
const space = 0x20;
const colon = 0x3a;
const lineBreak = Buffer.from('\n');
const byteOrderMark = Buffer.from('\ufeff');

/** The value of a field; undefined when the line is of another one, or a comment. */
function fieldOf(line: Buffer, name: 'data' | 'event'): Buffer | undefined {
  if (line.toString('latin1', 0, name.length) !== name) return undefined;
  if (line.length === name.length) return line.subarray(name.length);
  if (line[name.length] !== colon) return undefined;
  const from = name.length + 1;
  return line.subarray(line[from] === space ? from + 1 : from);
}

/** Bytes that come bit by bit, in one block: thousands of small pieces would take many times their bytes. */
function createHeldBytes() {
  let block = Buffer.alloc(0);
  /** What was lent last. */
  let lent = Buffer.alloc(0);
  let length = 0;

  function add(bytes: Buffer): void {
    if (length + bytes.length > block.length) {
      const larger = Buffer.allocUnsafe(2 * (length + bytes.length));
      block.copy(larger, 0, 0, length);
      block = larger;
    }
    bytes.copy(block, length);
    length += bytes.length;
  }

  return {
    add,
    length: () => length,
    /** All of them, which are the caller's from now on. */
    take(): Buffer {
      const all = block.subarray(0, length);
      block = Buffer.alloc(0);
      length = 0;
      return all;
    },
    /** All of them and these. What was held is lent until the next time: a stream is read in the memory of two pieces. */
    takeWith(bytes: Buffer): Buffer {
      if (length === 0) return bytes;
      add(bytes);
      const all = block.subarray(0, length);
      [block, lent] = [lent, block];
      length = 0;
      return all;
    },
  };
}
