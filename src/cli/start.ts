/** What every command but `--version` begins with, in one file: each file more that is loaded costs time. */
export { createClock, createZone } from '../clock.ts';
export { createKeychain } from '../config/keychain.ts';
export { setUsualFlags } from '../connection/baseline-wasm.ts';
export { isRegularFile, isStdoutClosed } from '../files/descriptors.ts';
export { writePrivate } from '../files/whole-file.ts';
export { exitCodeOf } from './exit-codes.ts';
export { reportThrown, runProgram } from './program.ts';
