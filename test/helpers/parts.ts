import { spawnSync } from 'node:child_process';

/**
 * Whether a program that a test needs is on this machine. With LEADPIPE_TEST_PARTS=required, as in CI, a missing program
 * is an error instead of a reason to skip the test.
 */
export function needs(...programs: readonly string[]): boolean {
  return isThere(programs, (program) => spawnSync('sh', ['-c', `command -v ${program}`]));
}

/** Debian's Python: another one has other modules. */
export const python = '/usr/bin/python3';

/** The same for modules of Python. */
export function needsModules(...modules: readonly string[]): boolean {
  return isThere(modules, (module) => spawnSync(python, ['-c', `import ${module}`]));
}

function isThere(
  parts: readonly string[],
  look: (part: string) => { readonly status: number | null },
): boolean {
  const missing = parts.filter((part) => look(part).status !== 0);
  if (missing.length > 0 && process.env.LEADPIPE_TEST_PARTS === 'required') {
    throw new Error(`not on this machine: ${missing.join(', ')}; \`npm run debian-parts\` installs them`);
  }
  return missing.length === 0;
}
