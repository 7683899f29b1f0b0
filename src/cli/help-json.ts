import { readFile } from 'node:fs/promises';
import { UsageError } from '../errors.ts';
import { checkOneOf } from '../requests/within-limits.ts';
import { sharedOptions } from './options/shared-options.ts';
import { findPackageFile } from './package-file.ts';

/** The output of `help --json`, as scripts/reference.ts makes it in the build. */
interface Described {
  readonly command: string;
  readonly commands: readonly Described[];
}

/** The help as JSON: all commands, the one that these words name, or the JSON Schema. Throws UsageError. */
export async function readHelpForPrograms(words: readonly string[]): Promise<string> {
  const [options, names] = [words.filter(isOption), words.filter((word) => !isOption(word))];
  const asked = [
    '--json',
    '--json-schema',
    ...sharedOptions.report.flatMap(({ long, short }) => [long, short]),
  ];
  const unknown = options.find((one) => !asked.includes(one));
  if (unknown !== undefined)
    throw new UsageError(`unknown option "${unknown}"`, 'For example: leadpipe help --json search');
  if (options.includes('--json-schema'))
    return await readFile(await findPackageFile('dist', 'help.schema.json'), 'utf8');
  const whole: Described = JSON.parse(
    await readFile(await findPackageFile('dist', 'reference.json'), 'utf8'),
  );
  let described = whole;
  for (const name of names) {
    const below = new Map(described.commands.map((one) => [one.command.split(' ').at(-1) ?? '', one]));
    described = below.get(checkOneOf('command', name, [...below.keys()])) ?? described;
  }
  return `${JSON.stringify(described)}\n`;
}

function isOption(word: string): boolean {
  return word.startsWith('-');
}
