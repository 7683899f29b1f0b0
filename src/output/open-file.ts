import { type FileHandle, lstat, open, rename, rm, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { LeadpipeError, LocalIoError, outputChanged } from '../errors.ts';
import { syncFolder } from '../files/private-folder.ts';
import { type AppendTo, checkAppend, readAt } from './append.ts';
import { writeBeside } from './aside.ts';
import type { Sink } from './sink.ts';
import { fail, writeFailure } from './write-failure.ts';

export interface FileSink extends Sink {
  /** Bytes of whole writes in the file so far: where a resumed run goes on. Undefined for what has no length. */
  readonly length: number | undefined;
  /** Whether the file held rows, and so the header, before this run. */
  readonly continued: boolean;
  /** How the lines of an existing CSV file end. */
  readonly lineEnd: '\r\n' | '\n';
  /** To be called when all rows of the earlier run have been written again: what else stands behind them is not ours. */
  settle(): Promise<void>;
  /** Resolves when everything written is on the disk. */
  sync(): Promise<void>;
  /** Everything is there: the file appears under its name, on the disk. */
  commit(): Promise<void>;
  /** The run was cut: closes, and returns the path of the file that holds its rows (undefined, and no file, without rows). */
  abandon(): Promise<string | undefined>;
  /** Closes and removes what is not worth keeping; rows that were appended stay. */
  discard(): Promise<void>;
}

/**
 * The file of an earlier run. What stands behind its counted rows stays when it is what this run writes next, or the
 * beginning of that: it is not written again. Anything else is not ours. A file that rows are added to is then left as
 * it is, and the run stops; from a .part it is moved to another file beside it.
 */
export interface Resumed {
  /** Where the counted rows end; undefined where the run may not have come to opening the file. */
  readonly at: number | undefined;
  /** In a file that rows are added to: what is not ours stays, and the run goes on behind it. */
  readonly orBehind?: true | undefined;
  /** Told what was moved, and where it is now. */
  readonly warn: (line: string) => void;
}

/** Makes the file out of its rows, which a format needs that can't be written row by row. */
export type Make = (part: string, write: (bytes: Uint8Array) => Promise<void>) => Promise<void>;

interface OpenFileOptions {
  readonly path: string;
  /** Where the rows are until the file is complete; absent when they go to the file itself. */
  readonly part?: {
    readonly at: string;
    readonly named: string;
    readonly target: string;
    readonly make?: Make | undefined;
  };
  readonly append?: AppendTo;
  /** Where rows go; undefined for what has no length. */
  readonly length?: number | undefined;
  /** Bytes that stand there. */
  readonly size?: number;
  readonly resumed?: Resumed | undefined;
  readonly closing?: string | undefined;
  readonly lineEnd?: '\r\n' | '\n';
  /** What has to come before the first row: the line end that the file lacks. */
  readonly before?: string;
}

export class OpenFile implements FileSink {
  readonly continued: boolean;
  readonly lineEnd: '\r\n' | '\n';
  readonly #handle: FileHandle;
  readonly #options: OpenFileOptions;
  readonly #start: number;
  #length: number;
  /** What stands between the length and here has not been written by this run. */
  #end: number;
  #before: string;
  #torn: Error | undefined;

  constructor(handle: FileHandle, options: OpenFileOptions) {
    this.#handle = handle;
    this.#options = options;
    this.#start = options.length ?? 0;
    this.#length = this.#start;
    this.#end = options.size ?? 0;
    this.#before = options.before ?? '';
    this.continued = this.#start > 0;
    this.lineEnd = options.lineEnd ?? '\r\n';
  }

  get length(): number | undefined {
    return this.#options.length === undefined ? undefined : this.#length;
  }

  async write(text: string | Buffer): Promise<void> {
    if (this.#torn !== undefined) throw this.#torn;
    if (text.length === 0) return;
    const bytes = toBytes(this.#before, text);
    const positioned = this.#options.part !== undefined;
    const standing = await this.#standing(bytes);
    let done = standing;
    try {
      while (done < bytes.length) {
        const position = positioned ? this.#length + done : null;
        const { bytesWritten } = await this.#handle.write(bytes, done, bytes.length - done, position);
        done += bytesWritten;
      }
    } catch (error) {
      const failure = writeFailure(this.#options.path, error);
      if (done > standing && !(await this.#cutBack(done))) this.#torn = failure;
      throw failure;
    }
    this.#before = '';
    this.#length += bytes.length;
  }

  async settle(): Promise<void> {
    if (this.#end <= this.#length) return;
    const { path, append } = this.#options;
    if (append === undefined) return void (await this.#makeWay(0));
    // Ours are all there, and others came after them.
    const { length, before } = await checkAppend(this.#handle, path, append);
    this.#length = length;
    this.#end = length;
    this.#before = before;
  }

  async sync(): Promise<void> {
    if (this.#options.length === undefined) return;
    await this.#handle.sync().catch((error) => fail(this.#options.path, error));
  }

  async commit(): Promise<void> {
    const { part, path } = this.#options;
    if (part !== undefined) await this.settle();
    await this.sync();
    const isOurs = await this.#isInPlace();
    await this.#close();
    if (part === undefined) {
      if (isOurs) return;
      throw changed(`${path} was removed or replaced while this run was adding rows to it`);
    }
    if (!isOurs) {
      throw changed(
        `${part.named} was moved or replaced while this run was writing it; ${path} was not changed`,
      );
    }
    const { at, make, named, target } = part;
    const whole = make === undefined ? at : `${at}.made`;
    try {
      if (make !== undefined) await makeFile(at, whole, make);
      await rename(whole, target);
    } catch (error) {
      if (make !== undefined) await rm(whole, { force: true }).catch(() => undefined);
      const hint = `The rows are in ${named}.`;
      if (error instanceof LeadpipeError) throw error.with({ hint });
      throw new LocalIoError(writeFailure(path, error).message, { hint, cause: error });
    }
    if (make !== undefined) await rm(at, { force: true });
    await syncFolder(dirname(target));
  }

  async abandon(): Promise<string | undefined> {
    const { part, path } = this.#options;
    if (part !== undefined && this.#length === 0 && this.#end === 0) {
      await this.discard();
      return undefined;
    }
    // A cut run is reported as such; a disk that also fails to sync must not hide that.
    await this.sync().catch(() => undefined);
    await this.#close();
    if (part !== undefined) return part.named;
    return this.#options.length !== undefined && this.#length > this.#start ? path : undefined;
  }

  async discard(): Promise<void> {
    const { part } = this.#options;
    const isOurs = part !== undefined && (await this.#isAt(part.at, lstat));
    await this.#close();
    if (isOurs) await rm(part.at, { force: true });
  }

  /** Whether what was opened is still what has the name: it may have been removed, or put aside by another run. */
  async #isInPlace(): Promise<boolean> {
    const { append, part, path } = this.#options;
    if (part !== undefined) return await this.#isAt(part.at, lstat);
    return append === undefined || (await this.#isAt(path, stat));
  }

  async #isAt(path: string, look: typeof lstat): Promise<boolean> {
    const [ours, there] = await Promise.all([this.#handle.stat(), look(path).catch(() => undefined)]);
    return ours.ino === there?.ino && ours.dev === there.dev;
  }

  async #close(): Promise<void> {
    await this.#handle.close().catch((error) => fail(this.#options.path, error));
  }

  /** How many of these bytes, which come next, an earlier run has written there already. */
  async #standing(bytes: Buffer): Promise<number> {
    const there = Math.min(bytes.length, this.#end - this.#length);
    if (there <= 0) return 0;
    const found = await readAt(this.#handle, this.#length, there);
    let same = 0;
    while (same < there && found[same] === bytes[same]) same++;
    // Where the last row is torn, the rest of it goes to the end of the file: nobody may have added to that.
    const isLast = there === bytes.length || (await this.#handle.stat()).size === this.#end;
    return isLast && same === there ? there : await this.#makeWay(same);
  }

  /**
   * Makes way for our rows, of which `same` bytes stand there, and then something else. Returns how many of them stay.
   * Throws LocalIoError where what stands there is not ours to move.
   */
  async #makeWay(same: number): Promise<number> {
    const { append, path, part, resumed, closing = '' } = this.#options;
    if (part === undefined) {
      const why = `${path} was changed after the earlier run: it has more rows now`;
      if (resumed?.orBehind !== true || append === undefined)
        throw changed(`${why}. leadpipe did not change it`);
      const { length, before } = await checkAppend(this.#handle, path, append);
      this.#length = length;
      this.#end = length;
      if (before !== '') await this.#handle.write(before);
      this.#length += before.length;
      resumed.warn(`${why}. The rest is added at its end; a few rows may be in the file twice`);
      return 0;
    }
    const rest = await readAt(this.#handle, this.#length, this.#end - this.#length);
    const isClosing = closing.startsWith(rest.subarray(same).toString());
    if (!isClosing) {
      const beside = await writeBeside(part.named, rest);
      resumed?.warn(
        `${part.named} had text that leadpipe did not write (${rest.length} ${rest.length === 1 ? 'byte' : 'bytes'}); it is now in ${beside}`,
      );
    }
    const stays = isClosing ? same : 0;
    this.#end = this.#length + stays;
    await this.#handle.truncate(this.#end).catch((error) => fail(part.named, error));
    return stays;
  }

  /** After a write that stopped half-way: back to the last whole one, unless another process has written since. */
  async #cutBack(done: number): Promise<boolean> {
    if (this.#options.length === undefined) return false;
    try {
      if ((await this.#handle.stat()).size !== this.#length + done) return false;
      await this.#handle.truncate(this.#length);
      this.#end = this.#length;
      return true;
    } catch {
      return false;
    }
  }
}

async function makeFile(part: string, path: string, make: Make): Promise<void> {
  const { mode } = await stat(part);
  await rm(path, { force: true });
  const handle = await open(path, 'wx', mode & 0o777);
  try {
    await make(part, async (bytes) => void (await handle.appendFile(bytes)));
    await handle.chmod(mode & 0o777).catch(() => undefined);
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/** The error of a file that is not as the earlier run left it. */
export function changed(message: string, cause?: unknown): LocalIoError {
  return new LocalIoError(message, { type: outputChanged, ...(cause === undefined ? {} : { cause }) });
}

function toBytes(before: string, text: string | Buffer): Buffer {
  if (typeof text === 'string') return Buffer.from(before + text);
  return before === '' ? text : Buffer.concat([Buffer.from(before), text]);
}
