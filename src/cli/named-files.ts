import type { Context } from '../context.ts';
import { UsageError } from '../errors.ts';
import { isSameFile } from '../files/target.ts';
import type { Ran } from './messages/hints.ts';
import { fileOf } from './options/record-options.ts';

type Named = Pick<Ran, 'args' | 'options'>;

/**
 * Throws UsageError if the run would write a file that it also reads, or two outputs into one file. Then it writes no summary either. With --append,
 * the file of -o may be read first: new leads are added to those that it excludes.
 */
export async function checkNamedFiles(
  { run }: Pick<Context, 'run'>,
  { args, options }: Named,
): Promise<void> {
  const { append, errors, input, summary } = options;
  const output = fileOf(options);
  const written = [
    ['--summary', summary],
    ['--errors', errors],
    ['-o', output],
  ] as const;
  // On most systems, this path names redirected input.
  const all = [...written, ['--input', input === '-' ? '/dev/stdin' : input] as const];
  const read = readBy({ args, options });
  for (const [at, [name, path]] of written.entries()) {
    const others = name === '-o' && append ? [] : read;
    for (const [other, another] of [...all.slice(at + 1), ...others]) {
      if (path === undefined || another === undefined || !(await isSameFile(path, another))) continue;
      delete run.atExit;
      throw new UsageError(
        `${name} and ${other} are the same file, ${path}`,
        'Name another file for one of them.',
      );
    }
  }
}

/** Pure: the files that a command line names to be read, besides --input. */
function readBy({ args, options }: Named): (readonly [string, string | undefined])[] {
  const named = Object.values(options).flat();
  const files = [...args, ...named].filter((one) => typeof one === 'string' && one.startsWith('@'));
  return [['--schema', options.schema], ...files.map((one) => [String(one), String(one).slice(1)] as const)];
}
