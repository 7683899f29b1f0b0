import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Script } from 'node:vm';
import { crc32 } from 'node:zlib';

/** Another build has other chunks: nothing of one is used for another. */
declare const LEADPIPE_BUILD: string;

/** Loads the parts of the program, and keeps what V8 has compiled of them for the next run. */
export interface ChunkLoader {
  /** What a chunk (`./name.cjs`) or a module of Node exports. The build has every chunk loaded by this. */
  load(name: string): unknown;
  /** Takes what an earlier run has kept; what is damaged, or of another build, is not used. */
  open(file: string): void;
  /** Whether anything has been compiled that an earlier run had not kept. */
  hasMore(): boolean;
  /** All that is to be kept now. V8's flags have to be as they were at the start. */
  toKeep(): Uint8Array;
}

type Wrapper = (
  module: { exports: unknown },
  exports: unknown,
  require: (name: string) => unknown,
  dirname: string,
  filename: string,
) => void;

/** Digits of the checksum, which stands before all else: V8 crashes on code that is damaged, and does not look. */
const digits = 8;

/**
 * Node's own compile cache, which there is from 22 on, holds functions as they are when a file is loaded; here they are kept
 * when they have run, so that the next run compiles none. `builtin` finds the modules of Node.
 */
export function createChunkLoader(folder: string, builtin: (name: string) => unknown): ChunkLoader {
  const loaded = new Map<string, { exports: unknown }>();
  const scripts = new Map<string, Script>();
  /** Undefined before `open`: what is loaded by then is compiled each time. */
  let kept: Map<string, Buffer> | undefined;
  let more = false;

  function load(name: string): unknown {
    if (!name.startsWith('./')) return builtin(name);
    const known = loaded.get(name);
    if (known !== undefined) return known.exports;
    const filename = join(folder, name);
    const code = `(function(module,exports,require,__dirname,__filename){${readFileSync(filename, 'utf8')}\n})`;
    const cachedData = kept?.get(name);
    const script = new Script(code, { filename, ...(cachedData === undefined ? {} : { cachedData }) });
    if (kept !== undefined) {
      scripts.set(name, script);
      if (script.cachedDataRejected !== false) {
        kept.delete(name);
        more = true;
      }
    }
    const module = { exports: {} };
    loaded.set(name, module);
    (script.runInThisContext() as Wrapper)(module, module.exports, load, folder, filename);
    return module.exports;
  }

  return {
    load,
    open(file) {
      kept = new Map();
      try {
        kept = toParts(readFileSync(file));
      } catch {
        // Nothing is there, or nothing can be read: it takes a little longer.
      }
    },
    hasMore: () => more,
    toKeep() {
      const all = new Map(kept);
      for (const [name, script] of scripts) if (!all.has(name)) all.set(name, script.createCachedData());
      return toBytes(all);
    },
  };
}

/** A checksum of the rest; a line with the build, and the name and length of each part; the parts. */
function toBytes(parts: ReadonlyMap<string, Buffer>): Uint8Array {
  const sizes = [...parts].map(([name, { length }]) => [name, length]);
  const rest = Buffer.concat([
    Buffer.from(`${JSON.stringify([LEADPIPE_BUILD, sizes])}\n`),
    ...parts.values(),
  ]);
  return Buffer.concat([Buffer.from(toChecksum(rest)), rest]);
}

/** Throws for what `toBytes` can't have made. */
function toParts(bytes: Buffer): Map<string, Buffer> {
  const rest = bytes.subarray(digits);
  const parts = new Map<string, Buffer>();
  if (bytes.toString('latin1', 0, digits) !== toChecksum(rest)) return parts;
  let at = rest.indexOf('\n') + 1;
  const [build, sizes] = JSON.parse(rest.toString('utf8', 0, at)) as [string, [string, number][]];
  if (build !== LEADPIPE_BUILD) return parts;
  for (const [name, size] of sizes) {
    parts.set(name, rest.subarray(at, at + size));
    at += size;
  }
  return parts;
}

function toChecksum(bytes: Uint8Array): string {
  return crc32(bytes).toString(16).padStart(digits, '0');
}
