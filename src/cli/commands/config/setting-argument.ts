import type { Argument } from 'commander';
import { settingNames } from '../../../config/settings.ts';
import { argumentOf } from '../../options/options.ts';

export function settingArgument(): Argument {
  return argumentOf('<setting>', settingNames, 'such as base_url; `leadpipe config --help` lists them');
}
