import { access, cp, mkdtemp, readFile, rename, rm } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { Command, Option } from 'commander';
import type { Context } from '../../context.ts';
import { LocalIoError } from '../../errors.ts';
import { codeOf } from '../../files/error-code.ts';
import { makeFolder } from '../../files/private-folder.ts';
import { addHelp, type CommandHelp } from '../help.ts';
import { createNotes } from '../messages/notes.ts';
import { checkFileName } from '../options/inputs.ts';
import { addReportOptions, type ReportOptions } from '../options/options.ts';

interface SkillOptions extends ReportOptions {
  readonly install?: string;
}

const name = 'leadpipe';
const mainFile = 'SKILL.md';

const help: CommandHelp = {
  examples: ['leadpipe skill', 'leadpipe skill --install .agents/skills'],
  output: ['the skill, in Markdown; with --install nothing (stderr says where it is)'],
  outcomes: ['complete', 'usage', 'local_io', 'reader_closed'],
};

export function createSkillCommand(context: Context): Command {
  const command = new Command('skill')
    .description('Prints the skill for agents: when to use which command, and what to do after an error.')
    .addOption(
      new Option(
        '--install <folder>',
        'write it into the subfolder leadpipe of this folder instead',
      ).argParser((directory) => checkFileName('--install', directory)),
    );
  return addHelp(addReportOptions(command), help).action((options: SkillOptions) =>
    runSkill(context, options),
  );
}

async function runSkill(context: Context, options: SkillOptions): Promise<void> {
  const source = await findSkill();
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
}

/** The folder in the package: how far below its root this file stands is the build's business. */
async function findSkill(): Promise<string> {
  for (let folder = import.meta.dirname; ; folder = dirname(folder)) {
    const skill = join(folder, 'skills', name);
    if (await exists(join(skill, mainFile))) return skill;
    if (folder === dirname(folder)) throw new Error('the skill is not in the package');
  }
}

/** All of it or nothing: what is there is moved aside for as long as it may be needed again. */
async function install(source: string, target: string): Promise<void> {
  const isThere = await exists(target);
  if (isThere && !(await isOurs(target))) {
    throw new LocalIoError(`${target} is already there, and is not this skill; leadpipe did not change it`, {
      hint: 'Move it, or name another folder.',
    });
  }
  await makeFolder(dirname(target));
  const aside = await mkdtemp(join(dirname(target), `.${name}-`));
  try {
    await cp(source, join(aside, 'new'), { recursive: true });
    if (isThere) await rename(target, join(aside, 'old'));
    try {
      await rename(join(aside, 'new'), target);
    } catch (error) {
      if (isThere) await rename(join(aside, 'old'), target);
      throw error;
    }
  } finally {
    await rm(aside, { recursive: true, force: true });
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
