import { hash } from 'node:crypto';
import { access, cp, mkdtemp, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { dirname, join, relative, resolve } from 'node:path';
import { Option } from 'commander';
import { LocalIoError } from '../../errors.ts';
import { codeOf } from '../../files/error-code.ts';
import { makeFolder } from '../../files/private-folder.ts';
import { isObject } from '../../json/object.ts';
import { defineCommand } from '../command.ts';
import { createNotes } from '../messages/status-line.ts';
import { checkFileName } from '../options/inputs.ts';
import type { ReportOptions } from '../options/options.ts';
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
    new Option('--install <folder>', 'write it into the subfolder leadpipe of this folder instead').argParser(
      (directory) => checkFileName('--install', directory),
    ),
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
    try {
      await install(source, target);
    } catch (error) {
      if (error instanceof LocalIoError) throw error;
      const code = codeOf(error) ?? '';
      const isBelowFile = ['EEXIST', 'ENOTDIR'].includes(code);
      const none = code === 'ENOENT' ? 'no folder can be made there' : (error as Error).message;
      const why = isBelowFile ? 'a part of this path is not a folder' : none;
      throw new LocalIoError(`can't install the skill in ${target}: ${why}`, {
        ...(isBelowFile ? { hint: 'Name a folder.' } : {}),
        cause: error,
      });
    }
    createNotes(context, options).say(`The skill is in ${target}.`);
  },
});

/** The digests of the files as they were installed, beside them: one that has another was changed by somebody. */
const digestsFile = '.installed.json';

/** All of it where nothing is; else the skill's own files, and none that somebody has changed: what else is there stays. */
async function install(source: string, target: string): Promise<void> {
  const isThere = await exists(target);
  if (isThere && !(await isOurs(target))) {
    throw new LocalIoError(`${target} is already there, and is not this skill; leadpipe did not change it`, {
      hint: 'Move it, or name another folder.',
    });
  }
  await makeFolder(dirname(target));
  const temporary = await mkdtemp(join(dirname(target), `.${name}-`));
  try {
    const fresh = join(temporary, 'new');
    await cp(source, fresh, { recursive: true });
    const digests = await digestsIn(fresh);
    await writeFile(join(fresh, digestsFile), `${JSON.stringify(digests, undefined, 2)}\n`);
    if (!isThere) return await rename(fresh, target);
    await checkUnchanged(target, digests);
    for (const file of [...Object.keys(digests), digestsFile]) {
      await makeFolder(dirname(join(target, file)));
      await rename(join(fresh, file), join(target, file));
    }
  } finally {
    await rm(temporary, { recursive: true, force: true });
  }
}

/** Throws LocalIoError where a file that would be replaced is neither as it was installed nor as it will be. */
async function checkUnchanged(target: string, digests: Digests): Promise<void> {
  const text = await readFile(join(target, digestsFile), 'utf8').catch(() => '{}');
  const installed = toDigests(text);
  for (const [file, digest] of Object.entries(digests)) {
    const path = join(target, file);
    const there = (await exists(path)) ? await digestOf(path) : digest;
    if (there === digest || there === installed[file]) continue;
    throw new LocalIoError(`${path} was changed after it was installed; leadpipe did not change it`, {
      hint: 'To keep your version, move it to another place. Then run the same command again.',
    });
  }
}

type Digests = Readonly<Record<string, unknown>>;

async function digestsIn(folder: string): Promise<Digests> {
  const all = await readdir(folder, { recursive: true, withFileTypes: true });
  const paths = all
    .filter((one) => one.isFile() && one.name !== digestsFile)
    .map((one) => join(one.parentPath, one.name));
  const digests = paths.map(async (path) => [relative(folder, path), await digestOf(path)] as const);
  return Object.fromEntries(await Promise.all(digests));
}

async function digestOf(path: string): Promise<string> {
  return hash('sha256', await readFile(path));
}

/** Nothing, where somebody has made something else of it. */
function toDigests(text: string): Digests {
  try {
    const known: unknown = JSON.parse(text);
    return isObject(known) ? known : {};
  } catch {
    return {};
  }
}

async function isOurs(folder: string): Promise<boolean> {
  const text = await readFile(join(folder, mainFile), 'utf8').catch(() => '');
  return text.includes(`\nname: ${name}\n`);
}

async function exists(path: string): Promise<boolean> {
  return await access(path).then(
    () => true,
    () => false,
  );
}
