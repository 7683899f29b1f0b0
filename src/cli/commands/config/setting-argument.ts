import { Argument } from 'commander';
import { settingNames } from '../../../config/settings.ts';
import { checkOneOf } from '../../../requests/within-limits.ts';

export const settingArgument = new Argument(
  '<setting>',
  'such as base_url; `leadpipe config --help` lists them',
)
  .choices(settingNames)
  .argParser((value) => checkOneOf('setting', value, settingNames));
