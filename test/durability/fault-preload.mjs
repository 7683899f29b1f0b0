/**
 * Loaded into the built command with `node --import`: counts every boundary at which something else outlives the process
 * than at the one before (a write, whole or half, a rename, a new or removed name, a request), and dies or fails at one
 * of them, as FAULT says: {"mode":"count"|"kill"|"EIO"|"ENOSPC","at":n,"report":path}.
 */
import fs from 'node:fs';
import fsp from 'node:fs/promises';
import { syncBuiltinESMExports } from 'node:module';
import { Socket } from 'node:net';

const { mode, at, report } = JSON.parse(process.env.FAULT ?? '{"mode":"count"}');
const { writeSync, writeFileSync } = fs;
let boundaries = 0;
let writes = 0;
/** Whether a death now leaves something else than a death at the boundary before. */
let isNew = true;

/** Before and after whatever outlives the process: a place to die, unless nothing has happened since the last one. */
function boundary(hasChanged = false) {
  isNew ||= hasChanged;
  if (!isNew) return;
  isNew = false;
  boundaries++;
  if (mode === 'kill' && boundaries === at) process.kill(process.pid, 'SIGKILL');
}

/** Amid a write: half of it is there. */
function tear(writeHalf) {
  boundaries++;
  if (mode === 'kill' && boundaries === at) {
    writeHalf();
    process.kill(process.pid, 'SIGKILL');
  }
  if (failing()) {
    writeHalf();
    throw failure();
  }
}

function failing() {
  writes++;
  if (mode === 'EIO') return writes === at;
  // A full disk stays full.
  return mode === 'ENOSPC' && writes >= at;
}

function failure() {
  return Object.assign(new Error(`${mode}: injected`), { code: mode });
}

function bytesOf(data) {
  return typeof data === 'string' ? Buffer.from(data) : data;
}

function creates(flags = 'r') {
  return typeof flags === 'string'
    ? flags !== 'r'
    : (flags & (fs.constants.O_CREAT | fs.constants.O_TRUNC)) !== 0;
}

const probe = await fsp.open(process.execPath, 'r');
const handles = Object.getPrototypeOf(probe);
await probe.close();

for (const name of ['write', 'appendFile', 'sync', 'datasync', 'truncate']) {
  const original = handles[name];
  handles[name] = async function (...args) {
    const isWrite = name === 'write' || name === 'appendFile';
    boundary();
    if (isWrite) {
      const [data, offset = 0, length] = args;
      const bytes = bytesOf(data).subarray(offset, length === undefined ? undefined : offset + length);
      const half = bytes.subarray(0, bytes.length >> 1);
      const position = name === 'write' ? (args[3] ?? null) : null;
      tear(() => writeSync(this.fd, half, 0, half.length, position));
    } else if (mode === 'EIO' && failing()) {
      throw failure();
    }
    const result = await original.apply(this, args);
    boundary(isWrite || name === 'truncate');
    return result;
  };
}

// What is stored before it is printed is written without a way through the thread pool.
fs.writeSync = (fd, data, ...rest) => {
  boundary();
  const bytes = bytesOf(data);
  const half = bytes.subarray(0, bytes.length >> 1);
  tear(() => writeSync(fd, half));
  const written = writeSync(fd, data, ...rest);
  boundary(true);
  return written;
};

for (const name of ['open', 'rename', 'link', 'mkdir', 'rm', 'rmdir', 'unlink', 'writeFile']) {
  const original = fsp[name];
  fsp[name] = async (...args) => {
    boundary();
    if ((name === 'rename' || name === 'mkdir') && failing()) throw failure();
    const result = await original(...args);
    boundary(name !== 'open' || creates(args[1]));
    return result;
  };
}

for (const name of ['renameSync', 'mkdirSync', 'rmSync', 'rmdirSync', 'unlinkSync', 'writeFileSync']) {
  const original = fs[name];
  fs[name] = (...args) => {
    boundary();
    if ((name === 'renameSync' || name === 'mkdirSync') && failing()) throw failure();
    const result = original(...args);
    boundary(true);
    return result;
  };
}
syncBuiltinESMExports();

// What the service has done because of a request stays done.
const { write } = Socket.prototype;
Socket.prototype.write = function (...args) {
  if (this.remotePort === undefined) return write.apply(this, args);
  boundary();
  isNew = true;
  return write.apply(this, args);
};

if (report !== undefined) {
  process.on('exit', () => writeFileSync(report, JSON.stringify({ boundaries, writes })));
}
