import { execFileSync } from 'node:child_process';

/** The tests of behaviour run the built command, so it is built first, once. */
export default function setup(): void {
  execFileSync(process.execPath, ['scripts/build.js'], { stdio: 'inherit' });
}
