/** One frame of a Server-Sent Events stream: its `event:` name, if any, and its `data:` lines joined. */
export interface Frame {
  readonly event: string | undefined;
  readonly data: string;
}

/** A frame that is larger than the cap. */
export class FrameTooLargeError extends Error {
  constructor(cap: number) {
    super(`a frame of the stream is larger than ${cap} bytes`);
    this.name = 'FrameTooLargeError';
  }
}

export interface FrameReader {
  /** The frames that this piece of the body completes. What follows a frame over the cap is not read. */
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
  let data: string[] = [];
  let event: string | undefined;
  /** Bytes of the lines in `data`. */
  let size = 0;
  let isFirstLine = true;
  let isAfterCr = false;
  let inFrame = false;

  /** The frame that this line completes: a blank one after data. */
  function takeLine(line: Buffer): Frame | undefined {
    if (line.length === 0) {
      const frame = data.length === 0 ? undefined : { event, data: data.join('\n') };
      data = [];
      event = undefined;
      size = 0;
      inFrame = false;
      return frame;
    }
    inFrame = true;
    const more = fieldOf(line, 'data');
    if (more !== undefined) {
      data.push(more);
      size += line.length + 1;
    } else {
      event = fieldOf(line, 'event') ?? event;
    }
    return undefined;
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
        const line = held.takeWith(bytes.subarray(at, end));
        const frame = takeLine(isFirstLine && line.indexOf(byteOrderMark) === 0 ? line.subarray(3) : line);
        if (frame !== undefined) frames.push(frame);
        isFirstLine = false;
        isAfterCr = end === cr;
        at = end + 1;
      }
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
const byteOrderMark = Buffer.from('\ufeff');

/** The value of a field; undefined when the line is of another one, or a comment. What is not UTF-8 is replaced. */
function fieldOf(line: Buffer, name: 'data' | 'event'): string | undefined {
  if (line.toString('latin1', 0, name.length) !== name) return undefined;
  if (line.length === name.length) return '';
  if (line[name.length] !== colon) return undefined;
  const from = name.length + 1;
  return line.toString('utf8', line[from] === space ? from + 1 : from);
}

/** The beginning of a line, in one block: thousands of small pieces would take many times their bytes. */
function createHeldBytes() {
  let block = Buffer.alloc(0);
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
    /** All of them and these; valid until the next ones are added. */
    takeWith(bytes: Buffer): Buffer {
      if (length === 0) return bytes;
      add(bytes);
      const all = block.subarray(0, length);
      length = 0;
      return all;
    },
  };
}
