import { setFlagsFromString } from 'node:v8';

/** What --liftoff-only means; flags set at run time do not imply one another. */
const baselineOnly = ['--liftoff-only', '--no-wasm-tier-up', '--no-wasm-dynamic-tiering'];

/**
 * Has V8 leave WebAssembly as it is first compiled: optimising it is not worth it for one command, and before it ends
 * Node waits for that. This is about SQLite on every Node, and on those before 22 about the parser of undici, which
 * newer ones don't wait for. Has to come before either is loaded, Node's own fetch included.
 */
export function keepBaselineWasm(nodeVersion: string, withSqlite: boolean): void {
  if (!withSqlite && Number.parseInt(nodeVersion, 10) >= 22) return;
  for (const flag of baselineOnly) setFlagsFromString(flag);
}
