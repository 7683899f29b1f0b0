import { randomUUID } from 'node:crypto';
import { existsSync, readFileSync, readlinkSync } from 'node:fs';
import { getPriority, hostname, platform } from 'node:os';
import { digestOf } from '../digest.ts';

/** The unique name of a process in a lock: its PID, its start, the place where the PID is valid, and a UUID. */
export function ownerOf(pid: number): string {
  return `${pid}.${startOf(pid) ?? ''}.${placeOfThis()}.${randomUUID()}`;
}

/** Pure: whether this is the name of a process in a lock. Any other file there belongs to the user and stays. */
export function isOwner(name: string): boolean {
  return /^\d+\.\w*\.[0-9a-f]{12}\.[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(name);
}

/** Whether the owner's PID is valid here: same machine, same namespace. */
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
 * The place where PIDs mean the same processes as here: this boot of this machine, and the namespace. If that is uncertain, the place is unique to
 * this process.
 */
function placeOfThis(): string {
  known ??= digestOf(platform() === 'linux' ? linuxPlace() : hostname(), 12);
  return known;
}

function linuxPlace(): string {
  try {
    // More than one NSpid means that the process is in a nested PID namespace.
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

/** The start time of a process (Linux only). A zombie counts as gone. */
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
