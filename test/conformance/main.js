/** `npm run conformance`: command.ts, as a program that any Node can run. */
import { join } from 'node:path';
import { build } from 'esbuild';

const { outputFiles } = await build({
  entryPoints: [join(import.meta.dirname, 'command.ts')],
  bundle: true,
  platform: 'node',
  format: 'esm',
  write: false,
});
const { run } = await import(
  `data:text/javascript;base64,${Buffer.from(outputFiles[0].contents).toString('base64')}`
);
process.exitCode = await run(process.argv.slice(2), console.log, console.error);
