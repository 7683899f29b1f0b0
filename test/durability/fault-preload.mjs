/**
 * Loaded into the built command with `node --import`: counts every boundary at which something outlives the process
 * (a write, fsync, rename, new or removed name, request), and dies or fails at one of them, as FAULT says:
 * {"mode":"count"|"kill"|"EIO"|"ENOSPC","at":n,"report":path}.
 */
import fs from 'node:fs';
import fsp from 'node:fs/promises';
import { syncBuiltinESMExports } from 'node:module';

const { mode, at, report } = JSON.parse(process.env.FAULT ?? '{"mode":"count"}');
const { writeSync, writeFileSync } = fs;
let boundaries = 0;
let writes = 0;

/** Before, perhaps amid, and after: each is a place to die. */
function boundary() {
  boundaries++;
  if (mode === 'kill' && boundaries === at) process.kill(process.pid, 'SIGKILL');
  return boundaries;
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
      boundaries++;
      if (mode === 'kill' && boundaries === at) {
        writeSync(this.fd, half, 0, half.length, position);
        process.kill(process.pid, 'SIGKILL');
      }
      if (failing()) {
        writeSync(this.fd, half, 0, half.length, position);
        throw failure();
      }
    } else if (mode === 'EIO' && failing()) {
      throw failure();
    }
    const result = await original.apply(this, args);
    boundary();
    return result;
  };
}

// What is stored before it is printed is written without a way through the thread pool.
fs.writeSync = (fd, data, ...rest) => {
  boundary();
  const bytes = bytesOf(data);
  const half = bytes.subarray(0, bytes.length >> 1);
  boundaries++;
  if (mode === 'kill' && boundaries === at) {
    writeSync(fd, half);
    process.kill(process.pid, 'SIGKILL');
  }
  if (failing()) {
    writeSync(fd, half);
    throw failure();
  }
  const written = writeSync(fd, data, ...rest);
  boundary();
  return written;
};

for (const name of ['open', 'rename', 'link', 'mkdir', 'rm', 'rmdir', 'unlink', 'writeFile']) {
  const original = fsp[name];
  fsp[name] = async (...args) => {
    boundary();
    if ((name === 'rename' || name === 'mkdir') && failing()) throw failure();
    const result = await original(...args);
    boundary();
    return result;
  };
}

for (const name of ['renameSync', 'mkdirSync', 'rmSync', 'rmdirSync', 'unlinkSync', 'writeFileSync']) {
  const original = fs[name];
  fs[name] = (...args) => {
    boundary();
    if ((name === 'renameSync' || name === 'mkdirSync') && failing()) throw failure();
    const result = original(...args);
    boundary();
    return result;
  };
}
syncBuiltinESMExports();

const { fetch } = globalThis;
globalThis.fetch = async (...args) => {
  boundary();
  const answer = await fetch(...args);
  boundary();
  return answer;
};

if (report !== undefined) {
  process.on('exit', () => writeFileSync(report, JSON.stringify({ boundaries, writes })));
}
