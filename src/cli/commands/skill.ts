import { readdir, readFile, rename, writeFile } from 'node:fs/promises';
import { dirname, join, relative, resolve } from 'node:path';
import { digestOf } from '../../digest.ts';
import { LocalIoError } from '../../errors.ts';
import { codeOf } from '../../files/error-code.ts';
import { makeFolder } from '../../files/private-folder.ts';
import { reasonOf } from '../../files/write-failure.ts';
import { defineCommand } from '../command.ts';
import { createNotes } from '../messages/status-line.ts';
import { option, toFileName } from '../options/option-builders.ts';
import type { ReportOptions } from '../options/shared-options.ts';
import { findPackageFile } from '../package-file.ts';

interface SkillOptions extends ReportOptions {
  readonly install?: string;
}

const name = 'leadpipe';
const mainFile = 'SKILL.md';

export const createCommand = defineCommand({
  name: 'skill',
  description: 'Prints the skill for agents: when to use which command, and what to do after an error.',
  options: [
    option('--install <folder>', 'write it into the subfolder leadpipe of this folder instead', toFileName),
  ],
  takes: ['report'],
  examples: ['leadpipe skill', 'leadpipe skill --install .agents/skills'],
  output: ['the skill, in Markdown; with --install nothing (stderr says where it is)'],
  outcomes: ['complete', 'usage', 'local_io', 'reader_closed'],
  async run(context, options: SkillOptions) {
    const source = await findPackageFile('skills', name);
    if (options.install === undefined) {
      context.stdout.stream.write(await readFile(join(source, mainFile), 'utf8'));
      return;
    }
    const target = join(resolve(options.install), name);
    await install(source, target).catch((error: unknown) => {
      if (error instanceof LocalIoError) throw error;
      const why = codeOf(error) === 'ENOENT' ? "the folder can't be created" : reasonOf(error);
      throw new LocalIoError(`can't install the skill in ${target}: ${why}`, { cause: error });
    });
    createNotes(context, options).say(`The skill is in ${target}.`);
  },
});

/** Digests of the installed files: a file with another digest was changed by the user. */
const digestsFile = '.installed.json';

/** Installs the skill's files. If the user has changed one, installs none and throws LocalIoError. Other files stay. */
async function install(source: string, target: string): Promise<void> {
  const record = join(target, digestsFile);
  const installed = await readFile(record, 'utf8')
    .then(JSON.parse)
    .catch(() => ({}));
  const entries = await readdir(source, { recursive: true, withFileTypes: true });
  const paths = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
  const digests: Record<string, string> = {};
  for (const path of paths) {
    const file = relative(source, path);
    digests[file] = digestOf(await readFile(path), 64);
    const there = await readFile(join(target, file)).catch(() => undefined);
    if (there === undefined || [digests[file], installed?.[file]].includes(digestOf(there, 64))) continue;
    throw new LocalIoError(
      `${join(target, file)} was changed after it was installed, or is not this skill; leadpipe did not change it`,
      { hint: 'To keep it, move it to another place. Then run the same command again.' },
    );
  }
  for (const file of Object.keys(digests)) {
    const path = join(target, file);
    await makeFolder(dirname(path));
    await writeFile(`${path}.part`, await readFile(join(source, file)));
    await rename(`${path}.part`, path);
  }
  await writeFile(record, `${JSON.stringify(digests, undefined, 2)}\n`);
}
