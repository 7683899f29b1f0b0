import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** The temporary files of runs beside an output, by name, with their content. */
export function partsOf({ cwd }: { readonly cwd: string }, output: string): Map<string, string> {
  const names = readdirSync(cwd).filter((name) => isPartOf(name, output));
  return new Map(names.sort().map((name) => [name, readFileSync(join(cwd, name), 'utf8')]));
}

/** Whether a file is named like a temporary file: the output's name, six random letters and `.part`. */
export function isPartOf(name: string, output: string): boolean {
  return name.startsWith(`${output}.`) && /^([a-z]{6}\.)?part$/i.test(name.slice(output.length + 1));
}

/** Pure: the name of a temporary file without what makes it unique. */
export function withoutLetters(name: string): string {
  return name.replace(/\.[a-z]{6}\.part(?=$|\W)/g, '.part');
}
