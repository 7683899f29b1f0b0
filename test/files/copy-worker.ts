import { open } from 'node:fs/promises';
import { copyInto } from '../../src/files/own-file.ts';

/** Copies a file. */
const [, , source = '', copy = ''] = process.argv;

const [from, to] = [await open(source), await open(copy, 'ax+')];
await copyInto(from, to);
await from.close();
await to.close();
