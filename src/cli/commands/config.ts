import { settingNames, settingTable } from '../../config/settings.ts';
import { defineGroup } from '../command.ts';
import { createConfigGet } from './config/get.ts';
import { createConfigList } from './config/list.ts';
import { createConfigPath } from './config/path.ts';
import { createConfigSet } from './config/set.ts';
import { createConfigUnset } from './config/unset.ts';

export const createCommand = defineGroup(
  {
    name: 'config',
    description: 'Shows and changes the settings of a profile.',
    examples: ['leadpipe config set price.contact.email=5 price.contact.phone=10', 'leadpipe config list'],
    lists: [{ heading: 'Settings', rows: settingNames.map((name) => [name, settingTable[name].meaning]) }],
    remarks: [
      'Options and environment variables are used before settings (leadpipe help environment). API keys are not settings: see `leadpipe auth`.',
    ],
  },
  [createConfigList, createConfigGet, createConfigSet, createConfigUnset, createConfigPath],
);
