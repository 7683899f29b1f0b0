import { setFlagsFromString } from 'node:v8';

/** What --liftoff-only means; flags set at run time do not imply one another. */
const baselineOnly = ['--liftoff-only', '--no-wasm-tier-up', '--no-wasm-dynamic-tiering'];
const usual = ['--no-liftoff-only', '--wasm-tier-up', '--wasm-dynamic-tiering'];

/**
 * Has V8 leave WebAssembly (undici's parser, SQLite) as it is first compiled: optimising it is not worth it for one
 * command, and before the process ends Node waits for that. Has to come right before it is compiled: the parts of Node that
 * are loaded later take several times as long, since the code that Node keeps of them was made with other flags.
 */
export function keepBaselineWasm(): void {
  for (const flag of baselineOnly) setFlagsFromString(flag);
}

/** Sets the flags back: what V8 makes to be kept can be used with the same flags alone. */
export function setUsualFlags(): void {
  for (const flag of usual) setFlagsFromString(flag);
}
