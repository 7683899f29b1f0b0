import { join } from 'node:path';
import { Command } from 'commander';
import { settingsFile } from '../../../config/settings.ts';
import type { Context } from '../../../context.ts';
import { addHelp, type CommandHelp } from '../../help.ts';
import { addReportOptions } from '../../options/options.ts';

const help: CommandHelp = {
  examples: ['leadpipe config path', 'less "$(leadpipe config path)"'],
  output: ['the path of the settings file, on one line, even if there is no such file yet'],
  outcomes: ['complete', 'usage'],
};

export function createConfigPathCommand(context: Context): Command {
  const command = new Command('path')
    .summary('where the settings are stored')
    .description('Prints the path of the settings file.');
  return addHelp(addReportOptions(command), help).action(() => {
    context.stdout.stream.write(`${join(context.directories.config, settingsFile)}\n`);
  });
}
