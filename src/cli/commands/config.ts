import { Command } from 'commander';
import { settingNames, settingTable } from '../../config/settings.ts';
import type { Context } from '../../context.ts';
import { addHelp, type CommandHelp } from '../help.ts';
import { createConfigGetCommand } from './config/get.ts';
import { createConfigListCommand } from './config/list.ts';
import { createConfigPathCommand } from './config/path.ts';
import { createConfigSetCommand } from './config/set.ts';
import { createConfigUnsetCommand } from './config/unset.ts';

const help: CommandHelp = {
  examples: ['leadpipe config set timeout.idle 60', 'leadpipe config list'],
  lists: [
    {
      heading: 'Settings',
      rows: settingNames.map((name) => [name, `${settingTable[name].meaning} (${settingTable[name].takes})`]),
    },
  ],
  remarks: [
    'Options and environment variables are used before settings (leadpipe help environment). API keys are not settings: see `leadpipe auth`.',
  ],
};

export function createConfigCommand(context: Context): Command {
  const group = new Command('config')
    .description('Shows and changes the settings of a profile.')
    .addCommand(createConfigListCommand(context))
    .addCommand(createConfigGetCommand(context))
    .addCommand(createConfigSetCommand(context))
    .addCommand(createConfigUnsetCommand(context))
    .addCommand(createConfigPathCommand(context));
  return addHelp(group, help);
}
