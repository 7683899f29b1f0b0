import { randomFillSync } from 'node:crypto';
import * as fs from 'node:fs';
import type { Sqlite3Static, WasmPointer } from '@sqlite.org/sqlite-wasm';

/**
 * Gives SQLite access to files, which its WebAssembly build lacks. Nothing is locked here: a writer holds leadpipe's own lock, and files that are
 * read do not change.
 */
export function installFiles({ capi, wasm, vfs }: Sqlite3Static): void {
  const descriptors = new Map<WasmPointer, number>();
  const readOnly = new Set<WasmPointer>();
  const descriptorOf = (file: WasmPointer): number => descriptors.get(file) ?? -1;
  const pathOf = (name: WasmPointer): string => wasm.cstrToJs(name) ?? '';
  const heap = (from: WasmPointer, length: number) => wasm.heap8u().subarray(from, from + length);

  /** A method that SQLite calls. It returns a code for the result of `work`, since nothing may be thrown through WebAssembly. */
  const coded =
    <Given extends unknown[]>(failure: number, work: (...given: Given) => unknown) =>
    (...given: Given): number => {
      try {
        const code = work(...given);
        return typeof code === 'number' ? code : capi.SQLITE_OK;
      } catch (error) {
        return (error as NodeJS.ErrnoException).code === 'ENOSPC' ? capi.SQLITE_FULL : failure;
      }
    };

  const open = (path: string, flags: number): number => {
    const { O_RDONLY, O_RDWR, O_CREAT } = fs.constants;
    if ((flags & capi.SQLITE_OPEN_READONLY) !== 0) return fs.openSync(path, O_RDONLY);
    const creates = (flags & capi.SQLITE_OPEN_CREATE) !== 0;
    return fs.openSync(path, O_RDWR | (creates ? O_CREAT : 0), 0o600);
  };

  const io = Object.assign(new capi.sqlite3_io_methods(), { $iVersion: 1 });
  vfs.installVfs({
    io: {
      struct: io,
      methods: {
        xClose: coded(capi.SQLITE_IOERR_CLOSE, (file) => {
          fs.closeSync(descriptorOf(file));
          descriptors.delete(file);
          readOnly.delete(file);
        }),
        xRead: coded(capi.SQLITE_IOERR_READ, (file, to, length, from) => {
          const count = fs.readSync(descriptorOf(file), heap(to, length), { position: Number(from) });
          heap(to + count, length - count).fill(0);
          // Marks the header as having no write-ahead log, which can't be read here. The caller has checked that there is none.
          if (Number(from) === 0 && length > 20 && readOnly.has(file)) heap(to, length).fill(1, 18, 20);
          return count < length ? capi.SQLITE_IOERR_SHORT_READ : capi.SQLITE_OK;
        }),
        xWrite: coded(capi.SQLITE_IOERR_WRITE, (file, from, length, to) => {
          const source = heap(from, length);
          for (let count = 0; count < length; )
            count += fs.writeSync(descriptorOf(file), source, count, length - count, Number(to) + count);
        }),
        xTruncate: coded(capi.SQLITE_IOERR_TRUNCATE, (file, size) =>
          fs.ftruncateSync(descriptorOf(file), Number(size)),
        ),
        xSync: coded(capi.SQLITE_IOERR_FSYNC, (file) => fs.fsyncSync(descriptorOf(file))),
        xFileSize: coded(capi.SQLITE_IOERR_FSTAT, (file, size) =>
          wasm.poke(size, fs.fstatSync(descriptorOf(file)).size, 'i64'),
        ),
        xLock: () => capi.SQLITE_OK,
        xUnlock: () => capi.SQLITE_OK,
        xCheckReservedLock: (_, isReserved) => {
          wasm.poke32(isReserved, 0);
          return capi.SQLITE_OK;
        },
        xFileControl: () => capi.SQLITE_NOTFOUND,
        xSectorSize: () => 4096,
        xDeviceCharacteristics: () => 0,
      },
    },
    vfs: {
      struct: Object.assign(new capi.sqlite3_vfs(), {
        $iVersion: 1,
        // A pointer to the methods. Our own data is in `descriptors`.
        $szOsFile: 8,
        $mxPathname: 4096,
      }),
      name: 'node',
      asDefault: true,
      methods: {
        xOpen: coded(capi.SQLITE_CANTOPEN, (_, name, file, flags, flagsOut) => {
          descriptors.set(file, open(pathOf(name), flags));
          if ((flags & capi.SQLITE_OPEN_READONLY) !== 0) readOnly.add(file);
          Object.assign(new capi.sqlite3_file(file), { $pMethods: io.pointer }).dispose();
          if (flagsOut !== 0) wasm.poke32(flagsOut, flags);
        }),
        xDelete: coded(capi.SQLITE_IOERR_DELETE, (_, name) => fs.rmSync(pathOf(name), { force: true })),
        // An empty journal counts as none.
        xAccess: coded(capi.SQLITE_IOERR_ACCESS, (_, name, __, isThere) => {
          const size = fs.statSync(pathOf(name), { throwIfNoEntry: false })?.size ?? 0;
          wasm.poke32(isThere, size > 0 ? 1 : 0);
        }),
        xFullPathname: (_, name, length, target) =>
          wasm.cstrncpy(target, name, length) < length ? capi.SQLITE_OK : capi.SQLITE_CANTOPEN,
        xRandomness: (_, length, target) => {
          randomFillSync(heap(target, length));
          return length;
        },
        xSleep: () => 0,
        // No statement asks for the time.
        xCurrentTime: () => capi.SQLITE_ERROR,
        xGetLastError: () => capi.SQLITE_OK,
      },
    },
  });
}
