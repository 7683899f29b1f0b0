import { fstatSync, readFileSync, statSync } from 'node:fs';

/**
 * Whether standard output was closed when the process began. Node opens /dev/null in its place, for reading and writing; a
 * shell that is told to throw the output away opens it for writing alone. Only Linux can tell. Where another program started
 * us with a /dev/null of that kind, it looks the same.
 */
export function isStdoutClosed(): boolean {
  try {
    if (fstatSync(1).rdev !== statSync('/dev/null').rdev) return false;
    const flags = /^flags:\s*([0-7]+)/m.exec(readFileSync('/proc/self/fdinfo/1', 'utf8'))?.[1] ?? '0';
    return (Number.parseInt(flags, 8) & 3) === 2;
  } catch {
    return false;
  }
}

/** Whether a descriptor of this process leads to a regular file. */
export function isRegularFile(descriptor: number): boolean {
  try {
    return fstatSync(descriptor).isFile();
  } catch {
    return false;
  }
}

/** Whether a descriptor leads to a character device, as a terminal is one: quicker to tell than whether it is one. */
export function isDevice(descriptor: number): boolean {
  try {
    return fstatSync(descriptor).isCharacterDevice();
  } catch {
    return false;
  }
}
