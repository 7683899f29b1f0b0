import { lockFolder } from '../../src/files/folder-lock.ts';

/** Holds the lock of a folder until it is killed. */
await lockFolder(process.argv[2] ?? '', process.pid, 'this');
console.log('held');
process.stdin.resume();
