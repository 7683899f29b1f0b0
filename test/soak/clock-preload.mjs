import { existsSync } from 'node:fs';

/**
 * Loaded before the command: the wall clock of this machine is set ahead, or back, by CLOCK_AHEAD_MS, and by CLOCK_JUMP_MS more
 * as soon as there is the file CLOCK_JUMP_AT.
 */
const { CLOCK_AHEAD_MS = 0, CLOCK_JUMP_MS = 0, CLOCK_JUMP_AT: mark } = process.env;
let ahead = Number(CLOCK_AHEAD_MS);
let isToJump = mark !== undefined;
const Real = Date;
function now() {
  if (isToJump && existsSync(mark)) {
    isToJump = false;
    ahead += Number(CLOCK_JUMP_MS);
  }
  return Real.now() + ahead;
}
globalThis.Date = class extends Real {
  constructor(...args) {
    super(...(args.length === 0 ? [now()] : args));
  }
  static now() {
    return now();
  }
};
