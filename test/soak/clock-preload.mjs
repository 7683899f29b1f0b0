/** Loaded before the command: the wall clock of this machine is set ahead, or back, by CLOCK_AHEAD_MS. */
const ahead = Number(process.env.CLOCK_AHEAD_MS ?? 0);
const Real = Date;
globalThis.Date = class extends Real {
  constructor(...args) {
    super(...(args.length === 0 ? [Real.now() + ahead] : args));
  }
  static now() {
    return Real.now() + ahead;
  }
};
