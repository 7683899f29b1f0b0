import { mkdirSync } from 'node:fs';
import { basename, join } from 'node:path';
import { build } from 'esbuild';

const folder = join(import.meta.dirname, '../../node_modules/.cache/leadpipe-tests');

/** Makes a program of a test's own, written in TypeScript, that any Node can run; returns its path. */
export async function bundle(source: string): Promise<string> {
  const outfile = join(folder, basename(source).replace(/\.ts$/, '.mjs'));
  mkdirSync(folder, { recursive: true });
  await build({
    entryPoints: [source],
    outfile,
    bundle: true,
    platform: 'node',
    format: 'esm',
    external: ['@sqlite.org/sqlite-wasm'],
    logLevel: 'error',
    banner: {
      js: "import{createRequire as _cr}from'node:module';const require=_cr(import.meta.url);",
    },
  });
  return outfile;
}
