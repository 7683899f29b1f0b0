import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** The files beside an output in which runs have their rows until they are complete, by name, with what is in them. */
export function partsOf({ cwd }: { readonly cwd: string }, output: string): Map<string, string> {
  const names = readdirSync(cwd).filter((name) => isPartOf(name, output));
  return new Map(names.sort().map((name) => [name, readFileSync(join(cwd, name), 'utf8')]));
}

/** Whether a file has the name of a part: that of the output, six letters that are made anew by each run, and `.part`. */
export function isPartOf(name: string, output: string): boolean {
  return name.startsWith(`${output}.`) && /^([a-z]{6}\.)?part$/i.test(name.slice(output.length + 1));
}
