/**
 * Loaded into the built command with `node --import`: counts every change that outlives the process (a whole or half
 * write, a rename, a new or removed name, a request), and kills, stops or fails at one of these boundaries, as FAULT says:
 * {"mode":…,"at":n,"on":end of a path,"after":path,"within":path,"disks":[…],"report":path,"trace":path}. With `after`,
 * counting starts when that file exists; with `within`, only changes in that folder count.
 *
 * `kill` and `stop` (SIGSTOP) come at the nth boundary; with `on`, right before the nth write to such a file. `EIO`: the
 * nth write, copy, sync, rename or new folder fails, once. `ENOSPC`: it and all later ones that need room fail; `ENOSPC
 * once`: only that one. `EAGAIN`: the nth write comes half-way, and the next one not at all, as into a full pipe. `open`: no such file can be made. `sync`: the nth sync fails. `full`: each of the `disks`, {"of":folder,"after":path}, is full as
 * soon as the file exists, except for what is removed there. With `on`, only files whose path ends like this can fail.
 * `report` gets the counts. `trace` gets a line per call, in order, for disk-trace.ts. Calls that need something to be on
 * the disk before (a request, a rename, output) are noted when they begin, writes when they have ended, a sync at both.
 */
import fs from 'node:fs';
import fsp from 'node:fs/promises';
import { syncBuiltinESMExports } from 'node:module';
import { Socket } from 'node:net';
import { resolve } from 'node:path';

const fault = JSON.parse(process.env.FAULT ?? '{"mode":"count"}');
const { mode, at, on = '', after, within, disks = [], report, trace } = fault;
const { existsSync, fstatSync, openSync, statSync, writeSync, writeFileSync } = fs;
/** Whether the file `after` has been seen, from when on things are counted. */
let isOn = after === undefined;
function begins() {
  isOn ||= existsSync(after);
  return isOn;
}
let boundaries = 0;
let writes = 0;
let syncs = 0;
/** Whether a death now leaves something else than a death at the boundary before. */
let isNew = true;

/** Whether a path ends with `on`; a temporary file of a run, whose name has six letters more, is `<file>.part` there. */
const isMeant = (path = '') => path.replace(/\.[a-z]{6}\.part$/, '.part').endsWith(on);
const isWithin = (path) => within === undefined || path?.startsWith(`${within}/`);

/** The end of the process, for good or for a while. */
function end() {
  if (mode === 'kill') process.kill(process.pid, 'SIGKILL');
  if (mode === 'stop') process.kill(process.pid, 'SIGSTOP');
}

/** Before and after whatever outlives the process: a place to die, unless nothing has happened since the last one. */
function boundary(path, hasChanged = false) {
  isNew ||= hasChanged;
  if (!isNew || !isWithin(path) || !begins()) return;
  isNew = false;
  boundaries++;
  if (boundaries === at && on === '') end();
}

/**
 * Amid a write: half of it is there. As of a disk, where room ends amid a write that is told by the number of bytes that were
 * written, which is returned; what is written to that file next fails.
 */
function tear(path, half, writeHalf, length) {
  takesRoom(path, length);
  if (!begins()) return undefined;
  if (isWithin(path) && ++boundaries === at && mode === 'kill' && on === '') {
    writeHalf();
    process.kill(process.pid, 'SIGKILL');
  }
  const isOut = full.delete(path);
  if (!failing(path) && !isOut) return undefined;
  if (half.length === 0 || isOut || (mode === 'ENOSPC' && writes > at)) throw failure(mode.slice(0, 6));
  full.add(path);
  writeHalf();
  return half.length;
}
function fullDiskOf(path) {
  return disks.find((disk) => path?.startsWith(`${disk.of}/`) && existsSync(disk.after));
}
function takesRoom(path, length) {
  const disk = fullDiskOf(path);
  if (disk === undefined) return;
  // What was given back.
  disk.room ??= 0;
  if (length > disk.room) throw failure('ENOSPC');
  disk.room -= length;
}
/** Before a file is removed, emptied or replaced. */
function givesRoom(path, left = 0) {
  const disk = fullDiskOf(path);
  if (disk !== undefined) disk.room = (disk.room ?? 0) + Math.max(0, sizeOf(path) - left);
}
function sizeOf(path) {
  return statSync(path, { throwIfNoEntry: false })?.size ?? 0;
}
/** Files whose next write fails. */
const full = new Set();

function failing(path) {
  if (!isMeant(path)) return false;
  writes++;
  if (writes === at && on !== '') end();
  if (['EAGAIN', 'EIO', 'ENOSPC once'].includes(mode)) return writes === at;
  // A full disk stays full.
  return mode === 'ENOSPC' && writes >= at;
}

/** No file of this name can be made. */
function failsToOpen(path, flags) {
  if (mode === 'open' && creates(flags) && isMeant(path)) throw failure('EIO');
}

/** A full disk can still be synced. */
function failsToSync(path) {
  if (!isMeant(path)) return false;
  syncs++;
  if (mode === 'sync') return syncs === at;
  return mode === 'EIO' && failing(path);
}

function failure(code) {
  return Object.assign(new Error(`${code}: injected`), { code: code.trim() });
}

function bytesOf(data) {
  return typeof data === 'string' ? Buffer.from(data) : data;
}

/** Opening it so empties it. */
function empties(flags = 'r') {
  return typeof flags === 'string' ? flags.startsWith('w') : (flags & fs.constants.O_TRUNC) !== 0;
}
function creates(flags = 'r') {
  return typeof flags === 'string'
    ? flags !== 'r'
    : (flags & (fs.constants.O_CREAT | fs.constants.O_TRUNC)) !== 0;
}

const notes = trace === undefined ? undefined : openSync(trace, 'a');
let noted = 0;
/** Returns the number of the line. */
function note(call, members) {
  if (notes !== undefined) writeSync(notes, `${JSON.stringify({ call, ...members })}\n`);
  return noted++;
}
const textOf = (data) => Buffer.from(bytesOf(data)).toString('latin1');
/** The path behind each file descriptor, which a rename changes. */
const paths = new Map();
function moved(from, to) {
  for (const [fd, path] of paths) if (path === from) paths.set(fd, to);
}

const probe = await fsp.open(process.execPath, 'r');
const handles = Object.getPrototypeOf(probe);
await probe.close();

for (const name of ['write', 'appendFile', 'writeFile', 'sync', 'datasync', 'truncate']) {
  const original = handles[name];
  handles[name] = async function (...args) {
    const isSync = name.endsWith('sync');
    const path = paths.get(this.fd);
    let bytes;
    let position = null;
    boundary(path);
    if (isSync) {
      if (failsToSync(path)) throw failure('EIO');
    } else if (name === 'truncate') givesRoom(path, args[0]);
    else {
      const [data, offset, length] = args;
      // What a whole file is made of may be written as one.
      const [from, to] =
        name === 'write' ? [offset ?? 0, length === undefined ? undefined : offset + length] : [];
      bytes = bytesOf(data).subarray(from, to);
      position = name === 'write' ? (args[3] ?? null) : null;
      const half = bytes.subarray(0, bytes.length >> 1);
      const written = tear(
        path,
        half,
        () => writeSync(this.fd, half, 0, half.length, position),
        bytes.length,
      );
      // These write until all is written.
      if (written !== undefined && name !== 'write') throw failure(mode.slice(0, 6));
      if (written !== undefined) return { bytesWritten: written, buffer: args[0] };
    }
    const since = isSync ? note('sync', { path }) : undefined;
    const result = await original.apply(this, args);
    // What is not waited for comes late, as it can on a slow disk.
    if (name === 'datasync' && notes !== undefined) await new Promise((done) => setTimeout(done, 10));
    if (isSync) note('synced', { path, since });
    else if (name === 'truncate') note('truncate', { path, length: args[0] ?? 0 });
    else note('write', { path, position, text: textOf(bytes) });
    boundary(path, !isSync);
    return result;
  };
}

// What is stored before it is printed is written without a way through the thread pool.
fs.writeSync = (fd, data, ...rest) => {
  const path = paths.get(fd);
  boundary(path);
  const bytes = bytesOf(data);
  const half = bytes.subarray(0, bytes.length >> 1);
  const torn = tear(path, half, () => writeSync(fd, half), bytes.length);
  if (torn !== undefined) return torn;
  if (fd === 1) note('print', { text: textOf(bytes) });
  const written = writeSync(fd, data, ...rest);
  if (path !== undefined) note('write', { path, position: null, text: textOf(bytes) });
  boundary(path, true);
  return written;
};

fs.openSync = (path, flags, ...rest) => {
  const at = resolve(String(path));
  failsToOpen(at, flags);
  if (creates(flags)) boundary(at);
  if (empties(flags)) givesRoom(at);
  const fd = openSync(path, flags, ...rest);
  paths.set(fd, at);
  if (creates(flags)) note('open', { path: at });
  if (creates(flags)) boundary(at, true);
  return fd;
};
const { fsyncSync } = fs;
fs.fsyncSync = (fd) => {
  const path = paths.get(fd);
  const since = note('sync', { path });
  fsyncSync(fd);
  note('synced', { path, since });
};
const { ftruncateSync } = fs;
fs.ftruncateSync = (fd, length = 0) => {
  const path = paths.get(fd);
  boundary(path);
  if (path !== undefined && fstatSync(fd).size > length) givesRoom(path, length);
  ftruncateSync(fd, length);
  boundary(path, true);
};

/** What a change of names gives back, and what it takes. */
function roomFor(name, [path, to]) {
  const at = nameOf(path);
  if (name === 'rm' || name === 'unlink') givesRoom(at);
  if (name === 'rename') givesRoom(resolve(to));
  if (name === 'copyFile') takesRoom(nameOf(to), sizeOf(at));
  if (name === 'writeFile') {
    givesRoom(at);
    takesRoom(at, bytesOf(to).length);
  }
}
/** The path that a change of names is about: where a new name is made, that one. */
const changedBy = (name, [path, to]) =>
  name === 'rename' || name === 'link' || name === 'copyFile' ? nameOf(to) : nameOf(path);
/** The path of what is named by it, or by a number, or is open. */
function nameOf(path) {
  const [, fd] = /^\/proc\/self\/fd\/(\d+)$/.exec(path) ?? [];
  return fd !== undefined || typeof path === 'number' ? paths.get(Number(fd ?? path)) : resolve(path);
}

/** Whether a change of names, or a copy, fails. */
function needsRoom(name, args) {
  if (name === 'copyFile') return failing(nameOf(args[1]));
  return (name === 'rename' || name === 'mkdir') && failing(String(args[0]));
}

/** What is noted of a change of names: before it, if something has to be on the disk by then, and after it. */
function noteBefore(name, [path, to]) {
  if (name === 'rename' || name === 'link') note(name, { path: resolve(path), to: resolve(to) });
  if (name === 'rm' || name === 'unlink') note('remove', { path: resolve(path) });
}
function noteAfter(name, [path, data]) {
  const at = nameOf(path);
  if (name === 'rename') {
    moved(at, resolve(data));
    note('renamed', { path: at, to: resolve(data) });
  }
  if (name === 'mkdir') note('mkdir', { path: at });
  if (name === 'rm' || name === 'unlink' || name === 'rmdir') note('removed', { path: at });
  if (name === 'writeFile' || name === 'copyFile') {
    const [written, bytes] =
      name === 'copyFile' ? [nameOf(data), notes && fs.readFileSync(path)] : [at, data];
    note('open', { path: written, isEmpty: true });
    note('write', { path: written, position: 0, text: textOf(bytes ?? '') });
  }
}

for (const name of ['open', 'rename', 'link', 'mkdir', 'rm', 'rmdir', 'unlink', 'writeFile', 'copyFile']) {
  const original = fsp[name];
  fsp[name] = async (...args) => {
    const path = changedBy(name, args);
    boundary(path);
    if (name === 'open' && empties(args[1])) givesRoom(resolve(args[0]));
    roomFor(name, args);
    if (needsRoom(name, args)) throw failure(mode.slice(0, 6));
    noteBefore(name, args);
    if (name === 'open') failsToOpen(resolve(String(args[0])), args[1]);
    const result = await original(...args);
    if (name === 'open') {
      paths.set(result.fd, resolve(args[0]));
      if (creates(args[1])) note('open', { path: resolve(args[0]) });
    } else noteAfter(name, args);
    boundary(path, name !== 'open' || creates(args[1]));
    return result;
  };
}

for (const name of ['rename', 'link', 'mkdir', 'rm', 'rmdir', 'unlink', 'writeFile', 'copyFile']) {
  const original = fs[`${name}Sync`];
  fs[`${name}Sync`] = (...args) => {
    const path = changedBy(name, args);
    boundary(path);
    roomFor(name, args);
    if (needsRoom(name, args)) throw failure(mode.slice(0, 6));
    noteBefore(name, args);
    const result = original(...args);
    noteAfter(name, args);
    boundary(path, true);
    return result;
  };
}
syncBuiltinESMExports();

// What the service has done because of a request stays done.
const { write } = Socket.prototype;
const sockets = new Map();
Socket.prototype.write = function (data, ...rest) {
  if (this.fd === 1) note('print', { text: textOf(data) });
  if (this.remotePort === undefined) return write.call(this, data, ...rest);
  boundary();
  isNew = true;
  if (!sockets.has(this)) sockets.set(this, sockets.size);
  note('send', { socket: sockets.get(this), text: textOf(data) });
  return write.call(this, data, ...rest);
};

if (report !== undefined) {
  process.on('exit', () => writeFileSync(report, JSON.stringify({ boundaries, writes, syncs })));
}
