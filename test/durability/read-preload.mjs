/**
 * Loaded into the built command with `node --import`: counts how often a journal is read, and writes the number into the file READS when the
 * process ends.
 */
import fs from 'node:fs';
import fsp from 'node:fs/promises';
import { syncBuiltinESMExports } from 'node:module';

let reads = 0;
const { createReadStream, openSync, readFileSync, writeFileSync } = fs;
const { readFile } = fsp;
/** The files that are open. */
const paths = new Map();

function note(path) {
  if (String(path).endsWith('journal.jsonl')) reads++;
}

fs.createReadStream = (path, ...rest) => {
  note(path);
  return createReadStream(path, ...rest);
};
fsp.readFile = (path, ...rest) => {
  note(path);
  return readFile(path, ...rest);
};
fs.openSync = (path, ...rest) => {
  const file = openSync(path, ...rest);
  paths.set(file, path);
  return file;
};
fs.readFileSync = (path, ...rest) => {
  note(paths.get(path) ?? path);
  return readFileSync(path, ...rest);
};
syncBuiltinESMExports();

process.on('exit', () => writeFileSync(String(process.env.READS), String(reads)));
