import { hash, randomUUID } from 'node:crypto';
import { existsSync, readFileSync, readlinkSync } from 'node:fs';
import { getPriority, hostname, platform } from 'node:os';

/** What names a process in a lock, and is never repeated: its number, when it began, where its number means that. */
export function ownerOf(pid: number): string {
  return `${pid}.${startOf(pid) ?? ''}.${placeOfThis()}.${randomUUID()}`;
}

/** Whether the numbers of processes mean the same to the owner and to this process. The last release named no place. */
export function isFromHere(owner: string): boolean {
  const [, , place, id] = owner.split('.');
  return id === undefined || place === placeOfThis();
}

/** Whether an owner is of this place, and its process is not there any more. */
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
 * Where the numbers of processes mean what they mean here: a machine since its start, and a namespace in it. Where that can't be
 * known for sure, nobody else is there.
 */
function placeOfThis(): string {
  known ??= hash('sha256', platform() === 'linux' ? linuxPlace() : hostname()).slice(0, 12);
  return known;
}

function linuxPlace(): string {
  try {
    // More than one number: what stands in /proc are the numbers of another namespace.
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

/** When a process began, where the system tells it (Linux); a zombie is as good as gone. */
function startOf(pid: number): string | undefined {
  try {
    // The second field is the name, in brackets, and may hold spaces and brackets.
    const fields = readFileSync(`/proc/${pid}/stat`, 'latin1')
      .replace(/^.*\) /s, '')
      .split(' ');
    return fields[0] === 'Z' ? 'gone' : fields[19];
  } catch {
    return undefined;
  }
}
