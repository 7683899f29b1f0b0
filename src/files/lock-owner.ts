import { randomUUID } from 'node:crypto';
import { existsSync, readFileSync, readlinkSync } from 'node:fs';
import { getPriority, hostname, platform } from 'node:os';
import { digestOf } from '../digest.ts';

/** The name of a process in a lock, which never occurs twice: its number, its start, and the place where its number is valid. */
export function ownerOf(pid: number): string {
  return `${pid}.${startOf(pid) ?? ''}.${placeOfThis()}.${randomUUID()}`;
}

/** Pure: whether this is the name of a process in a lock. Anything else that stands there belongs to the user, and is left alone. */
export function isOwner(name: string): boolean {
  return /^\d+\.\w*\.[0-9a-f]{12}\.[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(name);
}

/** Whether this process and the owner share their process numbers. */
export function isFromHere(owner: string): boolean {
  return owner.split('.')[2] === placeOfThis();
}

/** Whether an owner from this place has ended. */
export function isGone(owner: string): boolean {
  if (!isFromHere(owner)) return false;
  const [pidText, start] = owner.split('.');
  const pid = Number(pidText);
  if (!Number.isSafeInteger(pid) || pid <= 0) return true;
  try {
    getPriority(pid);
  } catch (error) {
    if ((error as { info?: { code?: string } }).info?.code === 'ESRCH') return true;
  }
  const startNow = startOf(pid);
  return !(startNow === undefined || start === undefined || start === '' || start === startNow);
}

let known: string | undefined;

/**
 * Where a process number means the same process as here: this machine since its start, and a namespace in it. Where this can't be known for
 * certain, the place is unique, and no other process shares it.
 */
function placeOfThis(): string {
  known ??= digestOf(platform() === 'linux' ? linuxPlace() : hostname(), 12);
  return known;
}

function linuxPlace(): string {
  try {
    // With more than one number, /proc shows the numbers of another namespace.
    if (!/^NSpid:\s+\d+$/m.test(readFileSync('/proc/self/status', 'latin1'))) return randomUUID();
    const [time, boot] = ['/proc/self/ns/time', '/proc/sys/kernel/random/boot_id'];
    return [
      hostname(),
      readFileSync(boot, 'latin1'),
      readlinkSync('/proc/self/ns/pid'),
      existsSync(time) ? readlinkSync(time) : '',
    ].join(' ');
  } catch {
    return randomUUID();
  }
}

/** The start of a process, where the system tells it (Linux). A zombie counts as gone. */
function startOf(pid: number): string | undefined {
  try {
    // The second field is the name, in brackets, and may itself have spaces and brackets.
    const fields = readFileSync(`/proc/${pid}/stat`, 'latin1')
      .replace(/^.*\) /s, '')
      .split(' ');
    return fields[0] === 'Z' ? 'gone' : fields[19];
  } catch {
    return undefined;
  }
}
